"""O5: a Run reaches nothing its creator may not read himself, and its trust cannot be borrowed by hand."""

from typing import Any

import pytest
from support.fence import RULE_CREATE_RUNS, Fence, denied, run

pytestmark = pytest.mark.cluster

NAMED: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "secret": (
        {"workspace": {"git": {"url": "https://git.example/x.git", "secretRef": {"name": "theirs"}}}},
        "", "secrets", "theirs",
    ),
    "publishing secret": (
        {"deliver": "branch", "publish": {"secretRef": {"name": "theirs"}},
         "workspace": {"git": {"url": "https://git.example/x.git"}}},
        "", "secrets", "theirs",
    ),
    "claim": ({"workspace": {"claim": {"name": "theirs"}}}, "", "persistentvolumeclaims", "theirs"),
    "template": ({"workspace": {"template": {"claim": "theirs"}}}, "", "persistentvolumeclaims", "theirs"),
    "configmap": ({"workspace": {"archive": {"configMap": "theirs"}}}, "", "configmaps", "theirs"),
    "guild": ({"guildRef": {"name": "theirs"}}, "guildhall.dev", "guilds", "theirs"),
}  # fmt: skip


@pytest.mark.parametrize("what", NAMED)
def test_naming_an_object_needs_the_right_to_read_it(rules: Fence, what: str) -> None:
    spec, group, resource, name = NAMED[what]
    nobody = rules.user(RULE_CREATE_RUNS)
    assert rules.create(run(), user=nobody).returncode == 0, "control: this user may create a plain Run"
    assert denied(rules.create(run("stolen", **spec), user=nobody), "you may not get", name)
    assert rules.attempt("get", "run", "stolen").returncode != 0, "nothing was stored"

    other = rules.user(
        RULE_CREATE_RUNS,
        {"apiGroups": [group], "resources": [resource], "resourceNames": ["another"], "verbs": ["get"]},
    )
    assert denied(rules.create(run(**spec), user=other), "you may not get", name)

    owner = rules.user(
        RULE_CREATE_RUNS, {"apiGroups": [group], "resources": [resource], "resourceNames": [name], "verbs": ["get"]}
    )
    done = rules.create(run(**spec), user=owner)
    assert done.returncode == 0, done.stderr


def test_the_api_may_because_it_asks_for_its_caller(rules: Fence) -> None:
    done = rules.create(run(guildRef={"name": "theirs"}), user=rules.account("api"))
    assert done.returncode == 0, done.stderr


def test_a_source_cannot_be_added_later(rules: Fence) -> None:
    nobody = rules.user(RULE_CREATE_RUNS)
    name = rules.run(user=nobody)["metadata"]["name"]
    assert rules.patch("run", name, {"spec": {"cancel": True}}, user=nobody).returncode == 0, "control"
    late = rules.patch("run", name, {"spec": {"workspace": {"claim": {"name": "theirs"}}}}, user=nobody)
    assert denied(late, "cannot be changed")


def test_runtime_class_and_priority_come_from_the_allow_lists(rules: Fence) -> None:
    assert denied(rules.create(run(runtimeClassName="privileged-vm")), "runtimeClassName")
    assert denied(rules.create(run(priority="system-node-critical")), "priority")
    assert rules.create(run(), dry=True).returncode == 0


def test_a_user_with_only_create_runs_reads_no_logs_and_no_pods(rules: Fence) -> None:
    nobody = rules.user(RULE_CREATE_RUNS)
    may = rules.attempt("auth", "can-i", "create", "runs.guildhall.dev", user=nobody)
    assert may.stdout.strip() == "yes", "control: the question is answered"
    for verb, resource in [("get", "pods/log"), ("create", "pods/exec"), ("create", "pods"), ("get", "secrets"),
                           ("create", "serviceaccounts/token"), ("patch", "runs/status")]:  # fmt: skip
        asked = resource.split("/")
        sub = [f"--subresource={asked[1]}"] if len(asked) > 1 else []
        answer = rules.attempt("auth", "can-i", verb, asked[0], *sub, user=nobody)
        assert answer.stdout.strip() == "no", (verb, resource)


def test_tokens_of_the_run_account_are_minted_by_kubelets_only(rules: Fence) -> None:
    minter = rules.user({"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]})
    rules.attempt("create", "serviceaccount", "plain")
    assert rules.attempt("create", "token", "plain", user=minter).returncode == 0, "control: the right is there"
    refused = rules.attempt("create", "token", "guildhall-run", "--audience=guildhall-gateway", user=minter)
    assert denied(refused, "kubelet")
    assert denied(rules.attempt("create", "token", "guildhall-run", "--audience=guildhall-gateway"), "kubelet"), (
        "admins too"
    )


def test_two_releases_do_not_share_rules(rules: Fence) -> None:
    """The api's exemption is for the account of this release, not for any account of that name."""
    stranger = "system:serviceaccount:somewhere-else:guildhall-api"
    rules.grant(stranger, RULE_CREATE_RUNS)
    assert rules.create(run(), user=stranger).returncode == 0
    assert denied(rules.create(run(guildRef={"name": "theirs"}), user=stranger), "you may not get")
