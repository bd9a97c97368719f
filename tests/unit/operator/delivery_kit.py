"""Runs that deliver a branch, and publishers that say something, for the tests of what becomes of them."""

import json
from typing import Any

from guildhall_contracts.publish import branch_of
from guildhall_operator.actions import Plan
from guildhall_operator.plan import plan
from guildhall_operator.records import ClaimRecord, JobRecord, PodRecord
from guildhall_operator.run_view import RunView
from guildhall_operator.status import stamp
from unit.operator import kit

HASH = "c" * 64
BRANCH = branch_of("fix", kit.UID)
JOURNAL = f"fix-{kit.UID}-journal"
SPEC: dict[str, Any] = {**kit.GIT, "deliver": "branch", "task": "\n# Mend the build\n\nIt is broken."}
WORD: dict[str, Any] = {"sha256": HASH, "omitted": 0, "willRun": 0}
SOURCE = {"commit": "a" * 40, "ref": "refs/heads/main"}


def over(outcome: str = "succeeded", word: dict[str, Any] | None = None, spec: dict[str, Any] | None = None) -> RunView:
    """A finished Run, as the operator keeps it in memory."""
    asked = {**SPEC, **(spec or {})}
    ended = {"type": "Succeeded", "status": "True" if outcome == "succeeded" else "False", "reason": "Completed",
             "lastTransitionTime": stamp(kit.at(28))}  # fmt: skip
    if outcome != "succeeded":
        ended["reason"] = "Cancelled" if outcome == "cancelled" else "ExecutorFailed"
    status = {
        "conditions": [ended], "source": SOURCE, "startTime": stamp(kit.at(8)), "completionTime": stamp(kit.at(28)),
        "attempts": [{"number": 1, "job": f"fix-{kit.UID}-a1", "podUid": kit.POD_UID, "endTime": stamp(kit.at(28))}],
        "archive": {"storedSeq": 7},
    }  # fmt: skip
    return kit.slimmed(kit.run(asked, status))


def run_pod(word: dict[str, Any] | None = WORD, outcome: str = "succeeded") -> PodRecord:
    said = kit.executor_says(outcome, **({"patch": word} if word is not None else {}))
    return kit.finished_pod(said, phase="Succeeded")


def says(outcome: str = "published", message: str = "", **fields: Any) -> str:
    found: dict[str, Any] = {"v": 1, "outcome": outcome, "message": message, **fields}
    if outcome == "published":
        found["commit"] = "d" * 40
    return json.dumps(found)


def publish_pod(said: str | None = None, *, exit_code: int = 0, number: int = 1, **changes: Any) -> PodRecord:
    container = kit.running(30) if said is None else kit.ended(said, exit_code, began=30, seconds=3)
    base: dict[str, Any] = {
        "name": f"publish-pod-{number}", "uid": f"77777777-2222-4333-8444-55555555555{number}", "attempt": 0,
        "phase": "Running" if said is None else "Succeeded" if exit_code == 0 else "Failed", "mounted": True,
        "containers": {"publish": container}, "created": stamp(kit.at(29)),
        "labels": {"guildhall.dev/fetch": kit.UID, "guildhall.dev/publish": str(number)},
    }  # fmt: skip
    return kit.pod(**{**base, **changes})


def publish_job_of(number: int = 1, **changes: Any) -> dict[str, JobRecord]:
    name = f"fix-{kit.UID}-p{number}"
    fields = {"name": name, "namespace": kit.NAMESPACE, "uid": f"publish-{number}", "run": kit.UID, **changes}
    return {name: JobRecord(**fields)}


def look(view: RunView, *pods: PodRecord, at: float = 30, **changes: Any) -> Plan:
    claims = {JOURNAL: ClaimRecord(JOURNAL, kit.NAMESPACE, run=kit.UID)}
    jobs = {**kit.job_of(view), **changes.pop("jobs", {})}
    return plan(view, kit.fetch_world(**{"pods": pods, "jobs": jobs, "claims": claims, **changes}), kit.at(at))


def delivering() -> RunView:
    """A Run right after its publish Job was made."""
    view = over()
    done = look(view, run_pod())
    assert done.create, done
    return kit.slimmed(kit.after(view, done))


def settled(done: Plan) -> tuple[str, str, str]:
    found = kit.condition(done, "Delivered")
    return found["status"], found["reason"], found["message"]
