"""Raw objects of any shape become small records, or nothing; never an exception."""

from collections.abc import Callable
from typing import Any

import pytest
from guildhall_operator.records import (
    claim_record,
    claims_in_use,
    event_record,
    job_record,
    pod_record,
)
from guildhall_operator.run_view import run_view, slimmed
from hypothesis import given
from unit.operator import kit
from unit.operator.test_isolation import JSON

RUN = {"guildhall.dev/run": kit.UID, "guildhall.dev/attempt": "2"}
POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "team-a", "uid": "u", "labels": RUN, "managedFields": ["x" * 10_000]},
    "spec": {
        "nodeName": "node1",
        "activeDeadlineSeconds": 60,
        "volumes": [{"name": "w", "persistentVolumeClaim": {"claimName": "repo"}}, {"name": "t", "emptyDir": {}}],
    },
    "status": {
        "phase": "Running",
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"},
        ],
        "initContainerStatuses": [
            {"name": "prepare", "state": {"terminated": {"exitCode": 0, "message": "proof", "startedAt": "s"}}},
            {
                "name": "workshop",
                "restartCount": 2,
                "state": {"terminated": {"message": "words of the workload", "exitCode": 1}},
                "lastState": {"terminated": {"reason": "OOMKilled"}},
            },
        ],
        "containerStatuses": [{"name": "executor", "state": {"running": {"startedAt": "t"}}}],
    },
}


def test_a_pod_keeps_what_decides_and_no_more() -> None:
    found = pod_record(POD)
    assert found is not None
    assert (found.attempt, found.phase, found.node, found.deadline_seconds) == (2, "Running", "node1", 60)
    assert found.disruption == "EvictionByEvictionAPI"
    assert found.container("prepare").message == "proof"
    assert found.container("executor").state == "running"
    assert len(repr(found)) < 2_000


def test_no_word_of_the_workshop_is_read() -> None:
    found = pod_record(POD)
    assert found is not None
    assert found.container("workshop").message == ""
    assert found.container("workshop").oom_killed_before
    assert found.container("workshop").restarts == 2


def test_a_pod_that_is_no_runs_is_only_a_user_of_claims() -> None:
    stranger = {**POD, "metadata": {"name": "x", "labels": {}}}
    assert pod_record(stranger) is None
    assert claims_in_use(stranger) == {"repo"}
    assert claims_in_use({**stranger, "status": {"phase": "Succeeded"}}) == set()


@pytest.mark.parametrize("label", ["", "x", "-1", "99999", "²"])
def test_an_odd_attempt_label_is_no_attempt(label: str) -> None:
    pod = {"metadata": {"labels": {"guildhall.dev/run": "u", "guildhall.dev/attempt": label}}}
    found = pod_record(pod)
    assert found is not None
    assert found.attempt == 0


def test_only_warnings_that_explain_are_kept() -> None:
    base = {"type": "Warning", "reason": "FailedMount", "message": "m", "involvedObject": {"kind": "Pod", "uid": "u"}}
    assert event_record(base) is not None
    for change in ({"type": "Normal"}, {"reason": "BackOff"}, {"involvedObject": {"kind": "Node", "uid": "u"}}):
        assert event_record({**base, **change}) is None
    assert event_record({**base, "reason": "FailedCreatePodSandBox"}) is not None
    about = {"kind": "PersistentVolumeClaim", "uid": "c", "name": "fix-workspace"}
    said = event_record({**base, "reason": "ProvisioningFailed", "involvedObject": about})
    assert said is not None
    assert (said.about, said.name) == ("c", "fix-workspace")
    others: list[dict[str, Any]] = [
        {"reason": "ProvisioningFailed"}, {"involvedObject": about}, {"involvedObject": {"kind": {}}},
    ]  # fmt: skip
    assert [event_record({**base, **other}) for other in others] == [None, None, None]


def test_a_claim_is_as_large_as_its_volume() -> None:
    spec = {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}
    asked = claim_record({"metadata": {"name": "repo"}, "spec": spec, "status": {"phase": "Pending"}})
    assert (asked.size, asked.storage_class, asked.bound) == ("1Gi", "fast", False)
    made = claim_record({"spec": spec, "status": {"phase": "Bound", "capacity": {"storage": "4Gi"}}})
    assert (made.size, made.bound) == ("4Gi", True)


DECODERS: list[Callable[[Any], Any]] = [pod_record, job_record, event_record, claim_record, claims_in_use, run_view]


@given(meta=JSON, spec=JSON, status=JSON)
def test_any_shape_is_borne(meta: Any, spec: Any, status: Any) -> None:
    labels = {"guildhall.dev/run": "u"}
    for raw in (
        {"metadata": meta, "spec": spec, "status": status},
        {"metadata": {"labels": labels}, "spec": spec, "status": status},
    ):
        for decode in DECODERS:
            decode(raw)
        view = run_view(raw)
        assert isinstance(view.finished, bool)
        assert isinstance(view.attempts, list)
        assert isinstance(view.claim, str)
        slimmed(view)


def test_a_started_run_forgets_its_task_and_a_finished_one_nearly_all() -> None:
    whole = kit.raw_run({"task": "t" * 60_000, "guild": {"x": "y" * 60_000}, "env": {"A": "b" * 4_000}})
    assert slimmed(run_view(whole)).spec["task"]
    started = slimmed(run_view({**whole, "status": {"attempts": [{"number": 1, "job": "j"}]}}))
    assert "task" not in started.spec
    assert "guild" not in started.spec
    assert "env" in started.spec
    done = {"type": "Succeeded", "status": "True", "reason": "Completed"}
    finished = slimmed(
        run_view(
            {**whole, "status": {"conditions": [done], "result": {"summary": "s" * 4_000}, "archive": {"storedSeq": 3}}}
        )
    )
    assert len(repr(finished)) < 2_000
    assert finished.status["archive"] == {"storedSeq": 3}
