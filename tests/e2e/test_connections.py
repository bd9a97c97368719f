"""A role calls a tool of a real MCP server in the cluster: approved by `kubectl`, made once, gone when removed."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.cluster import eventually
from support.installation import Installation, condition, one_role_guild, run_manifest
from support.mcp_pod import SECRET, TOKEN, calls, connected, connection, mcp_pod

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def server(installation: Installation) -> Iterator[Installation]:
    """The server, and two Connections to it."""
    with mcp_pod(installation):
        names = ("notes", "gone")
        installation.apply(*(connection(name, installation.namespace) for name in names))
        try:
            for name in names:
                connected(installation, name)
            yield installation
        finally:
            for name in names:
                installation.delete("connection", name)


def _requested(here: Installation, run: str) -> dict[str, Any]:
    """The open approval, as its event shows it."""
    here.wait_run(run, lambda found: found.get("status", {}).get("awaiting", {}).get("approvals") == 1)
    found: list[dict[str, Any]] = []
    eventually(lambda: found.extend(e for e in here.events_of(run) if e["type"] == "approval.requested") or found, 30)
    return found[0]


def _approve(here: Installation, run: str, asked: dict[str, Any], name: str) -> None:
    """A person's yes, by `kubectl apply`."""
    who = here.kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
    approval = {"approvalId": asked["approvalId"], "argumentsHash": asked["argumentsHash"], "decision": "approve"}
    reference = {"name": run, "uid": here.get("run", run)["metadata"]["uid"]}
    here.apply({
        "apiVersion": "guildhall.dev/v1alpha1", "kind": "Intervention", "metadata": {"name": name},
        "spec": {"author": who, "runRef": reference, "approval": approval},
    })  # fmt: skip


def _start(here: Installation, name: str, *tools: str) -> None:
    here.delete("run", name)
    here.kubectl("-n", here.namespace, "delete", "intervention", f"{name}-yes", "--ignore-not-found")
    here.apply(run_manifest(name, guild=one_role_guild(name, *tools)))


def test_approved_calls_are_made_once_and_removed_connections_at_no_time(server: Installation) -> None:
    """Two Runs side by side: one is approved and done; the other's Connection goes while it waits."""
    _start(server, "external", "notes__read_note", "notes__publish")
    _start(server, "external-gone", "gone__read_note", "gone__publish")
    asked, doomed = _requested(server, "external"), _requested(server, "external-gone")
    assert not any("publish" in line for line in calls(server)), "nothing leaves before a person says yes"
    server.delete("connection", "gone")
    _approve(server, "external", asked, "external-yes")
    _approve(server, "external-gone", doomed, "external-gone-yes")
    for name in ("external", "external-gone"):
        run = server.wait_done(name)
        assert condition(run, "Succeeded")["status"] == "True", server.story(name)
    assert calls(server) == ['["read_note", 3]', '["publish", "hello"]']
    finished = [event for event in server.events_of("external") if event["type"] == "tool.finished"]
    assert [event["outcome"] for event in finished] == ["success", "success"]
    refused = [event for event in server.events_of("external-gone") if event["type"] == "tool.finished"]
    assert {event["errorCode"] for event in refused} == {"unknown_tool"}


def test_its_public_face_is_all_there_is_to_see(server: Installation) -> None:
    found = connected(server, "notes")
    assert found["status"]["face"] == "Connected as tester@example.test"
    tools = {tool["name"]: (tool["effect"], tool["state"]) for tool in found["status"]["tools"]}
    assert tools == {"notes__read_note": ("read", "offered"), "notes__publish": ("consequential", "offered")}
    places = [
        json.dumps(found),
        server.logs("gateway"),
        server.logs("api"),
        server.logs("operator"),
        json.dumps(server.items("run")),
        json.dumps(server.events_of("external")),
        json.dumps(server.api(f"/api/runs/{server.namespace}.external/flow").body),
    ]
    secret = server.get("secret", SECRET)["data"]
    assert TOKEN not in "".join(places)
    assert secret["token"] not in "".join(places), "nor as Base64"


def test_who_may_not_read_the_secret_may_not_lend_it(server: Installation) -> None:
    name, account = "lender", f"system:serviceaccount:{server.namespace}:lender"
    rules = [{"apiGroups": ["guildhall.dev"], "resources": ["connections"], "verbs": ["create", "patch", "get"]}]
    subject = {"kind": "ServiceAccount", "name": name, "namespace": server.namespace}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name}, "rules": rules}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}, "subjects": [subject],
    }  # fmt: skip
    server.apply(role, binding)
    wanted = json.dumps(connection("lent", server.namespace))
    create = ("-n", server.namespace, "create", "-f", "-")
    said = server.kubectl(*create, "--as", account, stdin=wanted, check=False)
    assert "you may not get Secret notes-token" in said
    without = connection("lent", server.namespace)
    del without["spec"]["auth"]
    server.kubectl(*create, "--as", account, stdin=json.dumps(without))  # positive control: one that lends nothing
    more = [*rules, {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [SECRET], "verbs": ["get"]}]
    server.delete("connection", "lent")
    server.apply({**role, "rules": more})
    server.kubectl(*create, "--as", account, stdin=wanted)
    server.delete("connection", "lent")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"url": "http://other.test/mcp"}, "cannot be changed"),
        ({"auth": None}, "cannot be changed"),
        ({"kind": "other"}, "Unsupported value"),
    ],
    ids=str,
)
def test_another_server_is_another_connection(server: Installation, change: dict[str, Any], said: str) -> None:
    patch = ("-n", server.namespace, "patch", "connection", "notes", "--type=merge", "-p")
    assert said in server.kubectl(*patch, json.dumps({"spec": change}), check=False)
    server.kubectl(*patch, json.dumps({"spec": {"displayName": "tester@example.test"}}))


@pytest.mark.parametrize("name", ["has-dash", "a" * 25, "1st", "a.b"])
def test_a_connection_is_named_so_that_its_tools_can_be(server: Installation, name: str) -> None:
    wanted = json.dumps(connection(name, server.namespace))
    said = server.kubectl("-n", server.namespace, "create", "--dry-run=server", "-f", "-", stdin=wanted, check=False)
    assert "a Connection is named by at most 24 lower-case letters and digits" in said
