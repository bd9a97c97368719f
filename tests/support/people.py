"""A Run that asks a person and wants an approval, and what a test sees and does of both."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from support.cluster import eventually
from support.installation import Installation, one_role_guild, run_manifest

GUILD = {
    **one_role_guild("asks", "ask_human", "run_shell"),
    "tools": {"run_shell": {"effect": "write", "approval": True}},
}


def start(here: Installation, *names: str) -> None:
    for name in names:
        here.delete("run", name)
        here.apply(run_manifest(name, guild=GUILD))


def waits(here: Installation, kind: str, name: str) -> dict[str, Any]:
    """The one question or approval of a Run that is open, as the api tells it."""
    found: list[dict[str, Any]] = []

    def looked() -> bool:
        answer = here.api(f"/api/{kind}?run={here.namespace}.{name}")
        found[:] = answer.body[kind] if answer.status == 200 else []
        return len(found) == 1

    eventually(looked, 90)
    return found[0]


def answer(here: Installation, name: str, text: str = "Yes, tabs") -> Any:
    identity = waits(here, "questions", name)["question"]["id"]
    body = {"run": f"{here.namespace}.{name}", "questionId": identity, "text": text}
    return here.api("/api/answer", method="POST", body=body)


def decision(here: Installation, name: str, word: str = "approve") -> dict[str, Any]:
    wanted = waits(here, "approvals", name)["approval"]
    kept = {key: wanted[key] for key in ("approvalId", "argumentsHash")}
    return {"run": f"{here.namespace}.{name}", "decision": word, **kept}


def intervention(here: Installation, name: str, run: str, author: str, **act: Any) -> dict[str, Any]:
    reference = {"name": run, "uid": here.get("run", run)["metadata"]["uid"]}
    return {
        "apiVersion": "guildhall.dev/v1alpha1", "kind": "Intervention", "metadata": {"name": name},
        "spec": {"author": author, "runRef": reference, **act},
    }  # fmt: skip


def states(here: Installation, run: str) -> Counter[str]:
    uid = here.get("run", run)["metadata"]["uid"]
    items = here.items("interventions")
    return Counter(item.get("status", {}).get("state", "-") for item in items if item["spec"]["runRef"]["uid"] == uid)


def told(here: Installation, run: str, kind: str) -> list[dict[str, Any]]:
    return [event for event in here.events_of(run) if event["type"] == kind]


def effect_of(here: Installation, run: str) -> list[str]:
    """What the approved call printed: a line for each time it really ran."""
    tools = [event for event in told(here, run, "tool.finished") if "done" in event["output"]]
    return [line for event in tools for line in event["output"].splitlines() if line.strip() == "done"]


@contextlib.contextmanager
def may_approve(here: Installation) -> Iterator[None]:
    """The viewer of the tests gets the chart's role for those who may approve."""
    group = "rbac.authorization.k8s.io"
    here.apply({
        "apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": {"name": "people-approver"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "guildhall-approver"},
        "subjects": [{"kind": "ServiceAccount", "name": "demo-viewer"}],
    })  # fmt: skip
    try:
        yield
    finally:
        here.delete("rolebinding", "people-approver")
