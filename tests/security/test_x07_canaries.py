"""Promise: a secret of the platform appears in no stream, status, event, log, store or answer of the api.

Every kind of secret an installation can have is there and is *used*: the provider's key by a provider that says it
back, a Connection's token by a tool call, git's logins by a fetch and a push, the databases' by gateway and api.
"""

import json
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import canaries
from support.git_pod import GitPod, git_pod
from support.hunt import hunt
from support.inpod import RunningPod, waiting_run
from support.installation import ROOT, Installation, condition, one_role_guild, run_manifest
from support.mcp_pod import NAME as MCP
from support.mcp_pod import TOKEN, calls, connected, connection, mcp_pod
from support.people import waits
from support.reflector import asked_with, reflector
from support.repositories import ordinary

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

KEY, UNUSED = "canary-provider-key-90210", "canary-of-nobody-1187"
READS, WRITES = "canary-git-reads-5512", "canary-git-writes-8841"
GATEWAY_DB, API_DB = "canary-gateway-database-3309", "canary-api-database-7720"
MARK = "visible-mark-6604"  # in a task: what is searched does show what is there
SPACE = f"x07-{uuid.uuid4().hex[:6]}"
MAY_LACK = {"patch", "output"}  # of a Run that changed nothing, of a step whose output was told whole
KINDS = (
    "runs", "guilds", "connections", "interventions", "runschedules", "configmaps", "events", "pods", "jobs",
    "persistentvolumeclaims", "networkpolicies", "leases", "services", "serviceaccounts", "deployments",
)  # fmt: skip


@dataclass(frozen=True)
class Scene:
    """An installation in which every secret has been used, and a Run that waits."""

    here: Installation
    pod: RunningPod
    needles: dict[str, str]
    git_logs: dict[str, str]  # of the pods that fetched and published, which are gone by now


def _secret(name: str, **values: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values}


def _repository(root: Path, namespace: str) -> None:
    assert namespace
    ordinary(root, "private/mine.git")
    (root / "private" / ".login").write_text(f"robot:{READS}\n")
    (root / "private" / ".push").write_text(f"robot:{WRITES}\n")


def _give_secrets(here: Installation, git: GitPod, provider: str) -> None:
    """The Secrets, and a release that is told of them."""
    control = (
        _secret("guildhall-providers", reflect=KEY, openai=UNUSED),
        _secret("databases", gateway=GATEWAY_DB, api=API_DB),
    )
    here.apply(*control, namespace=here.control)
    login = {"host": git.host, "username": "robot", "ca.crt": git.ca.decode()}
    here.apply(_secret("reads", **login, password=READS), _secret("writes", **login, password=WRITES))
    here.apply(_secret("somebody-elses", value=UNUSED))
    changes = {
        "gateway.models": ["scripted:*", "reflect:*"],
        "gateway.baseUrls": {"reflect": provider},
        "gateway.database.passwordSecret": {"name": "databases", "key": "gateway"},
        "api.database.passwordSecret": {"name": "databases", "key": "api"},
    }
    told = [f"--set-json={name}={json.dumps(value)}" for name, value in changes.items()]
    chart = (str(ROOT / "charts" / "guildhall"), "-n", here.control, "--reuse-values", "--wait", "--timeout", "180s")
    here.tool("helm", "upgrade", "guildhall", *chart, *told)


def _runs(git: GitPod) -> dict[str, dict[str, Any]]:
    tools = ("notes__read_note", "notes__publish")
    careless = one_role_guild("patient") | {"models": {"m": "reflect:anything"}}
    return {
        "x07-provider": {"guild": careless, "task": MARK},
        "x07-tool": {"guild": one_role_guild("external", *tools), "task": MARK},
        "x07-git": {
            "guild": one_role_guild("mends-a-file", "run_shell"), "task": MARK, "deliver": "branch",
            "workspace": {"git": {"url": git.https("private/mine.git"), "secretRef": {"name": "reads"}}},
            "publish": {"secretRef": {"name": "writes"}},
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def scene(own_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    here = own_installation
    with ExitStack() as stack:
        provider = stack.enter_context(reflector(here, SPACE))
        git = stack.enter_context(git_pod(here, tmp_path_factory.mktemp("git"), _repository))
        _give_secrets(here, git, provider)
        stack.enter_context(mcp_pod(here))
        here.apply(connection("notes", here.namespace))
        connected(here, "notes")
        pod = stack.enter_context(waiting_run(here, "x07"))
        here.apply(*(run_manifest(name, **spec) for name, spec in _runs(git).items()))
        git_logs: dict[str, str] = {}

        def delivered(run: dict[str, Any]) -> bool:
            for place, text in canaries.logged(here, here.namespace, "guildhall.dev/fetch"):
                git_logs[place] = max(git_logs.get(place, ""), text, key=len)
            return condition(run, "Delivered").get("status") in {"True", "False"}

        here.wait_run("x07-git", delivered, 180)
        waits(here, "approvals", "x07-tool")
        here.wait_done("x07-provider", 120)
        token = pod.inside("executor", "cat", "/guildhall/token/token").stdout.strip()
        yield Scene(here, pod, canaries.needles(here) | {"token of the executor": token[-40:]}, git_logs)


def test_every_secret_is_there_and_was_used(scene: Scene) -> None:
    """Positive control for all that follows."""
    here, texts = scene.here, set(scene.needles.values())
    assert texts >= {KEY, UNUSED, READS, WRITES, GATEWAY_DB, API_DB, TOKEN}
    kinds = {name.split("#")[0].removeprefix(f"{here.control}/") for name in scene.needles}
    assert kinds >= {"guildhall-ca/tls.key", "guildhall-gateway-tls/tls.key", "token of operator", "token of api"}
    assert f"Bearer {KEY}" in asked_with(here, SPACE), "the provider was asked with the key"
    assert condition(here.get("run", "x07-provider"), "Succeeded")["reason"] == "ProviderFailed"
    assert calls(here) == ['["read_note", 3]'], "the server, which insists on its token, was called"
    delivered = condition(here.get("run", "x07-git"), "Delivered")
    assert delivered["status"] == "True", delivered
    for component, password in (("gateway", GATEWAY_DB), ("api", API_DB)):
        seen = here.control_kubectl("exec", f"deployment/guildhall-{component}", "--", "sh", "-c", "echo $PGPASSWORD")
        assert seen.strip() == password


def test_a_run_finds_none(scene: Scene) -> None:
    """Environment, memory, descriptors and every file a process of the workshop can read."""
    assert hunt(scene.pod, "workshop", scene.needles) == []


def test_the_executor_holds_none_but_its_own_token(scene: Scene) -> None:
    found = {name for name, _ in hunt(scene.pod, "executor", scene.needles)}
    assert found == {"token of the executor"}, "positive control: that one it has, and the hunt finds it"


@pytest.mark.parametrize("run", ["x07", "x07-provider", "x07-tool", "x07-git"])
def test_no_answer_of_the_api_has_one(scene: Scene, run: str) -> None:
    here, marked, over = scene.here, [], run in {"x07-provider", "x07-git"}
    if over:
        here.wait_run(run, lambda found: condition(found, "Sealed").get("status") == "True", 90)
    for path, answer in canaries.said_by_the_api(here, f"{here.namespace}.{run}", sealed=over):
        assert answer.status == 200 or (answer.status == 404 and path.rpartition("/")[2] in MAY_LACK), (path, answer)
        assert canaries.found_in([answer.body, answer.headers], scene.needles) == [], path
        assert run != "x07-git" or not path.endswith("/patch") or "mended" in answer.body, "control: there is a patch"
        marked += [path] if canaries.found_in(answer.body, {"mark": MARK}) else []
    if run != "x07":
        ends = {path.rpartition("/")[2] for path in marked}
        assert {"events", "report", "runs", *(["stream"] if over else [])} <= ends, (
            f"positive control: a task is seen where it is shown: {ends}"
        )


def test_no_log_has_one(scene: Scene) -> None:
    here, logs = scene.here, scene.git_logs
    for namespace in (here.control, here.namespace):
        logs |= dict(canaries.logged(here, namespace, f"app!={MCP}"))
    assert [(place, found) for place, text in logs.items() if (found := canaries.found_in(text, scene.needles))] == []
    read = {place.rpartition("/")[2] for place in logs}
    assert read >= {"operator", "gateway", "api", "prepare", "workshop", "executor", "fetch", "publish"}
    assert any(MARK in text for text in logs.values()), "positive control: what is there is found"


def test_no_object_has_one(scene: Scene) -> None:
    objects = dict(canaries.kept(scene.here, KINDS, f"app!={MCP}"))
    assert [
        (place, found) for place, text in objects.items() if (found := canaries.found_in(text, scene.needles))
    ] == []
    marked = {place.split()[0] for place, text in objects.items() if MARK in text}
    assert marked >= {"runs", "configmaps"}, "positive control"
    secrets = scene.here.kubectl("-n", scene.here.namespace, "get", "secrets", "-o", "json")
    assert len(canaries.found_in(secrets, scene.needles)) >= 3, "positive control: in a Secret, as Base64, it is found"


@pytest.mark.parametrize("component", ["gateway", "api"])
def test_no_database_and_no_blob_has_one(scene: Scene, component: str) -> None:
    """Positive controls: a Run's uid as it stands, and what a patch says, which the api keeps packed."""
    controls = {"control": scene.pod.run["metadata"]["uid"]}
    if component == "api":
        scene.here.wait_run("x07-git", lambda run: condition(run, "Sealed").get("status") == "True", 90)
        controls["packed"] = "+mended"
    files, found = canaries.stored(scene.here, component, scene.needles | controls)
    assert files > 0
    assert {name for name, _ in found} == set(controls), found
