"""A Run that is over: sealed, freed, removed; and never a write when there is nothing to do."""

from typing import Any

import pytest
from guildhall_operator.actions import Deletion, EndPod
from guildhall_operator.plan import plan
from guildhall_operator.records import ClaimRecord
from guildhall_operator.run_view import RunView
from unit.operator import kit

JOURNAL = f"fix-{kit.UID}-journal"
WORKSPACE = f"fix-{kit.UID}-workspace"


def over(spec: dict[str, Any] | None = None, pod: Any = None, **status: Any) -> RunView:
    view = kit.started(spec)
    world = kit.world(pods=(pod or kit.finished_pod(),), jobs=kit.job_of(view))
    ended = kit.after(view, plan(view, world, kit.at(30)))
    assert ended.finished
    raw = {**kit.raw_run(spec), "status": {**ended.status, **status}}
    return kit.slimmed(kit.run_view(raw))


def claims() -> dict[str, ClaimRecord]:
    return {name: ClaimRecord(name, kit.NAMESPACE, run=kit.UID) for name in (JOURNAL, WORKSPACE)}


def test_nothing_is_deleted_before_the_last_event_is_stored() -> None:
    view = over(archive={"storedSeq": 6})
    world = kit.world(pods=(kit.finished_pod(),), jobs=kit.job_of(view), claims=claims())
    done = plan(view, world, kit.at(40))
    assert done.deletions == ()
    assert done.status is None
    assert done.requeue_seconds == pytest.approx(60 - 12)


def test_a_stored_run_is_sealed_and_freed() -> None:
    view = over(archive={"storedSeq": 7})
    world = kit.world(pods=(kit.finished_pod(),), jobs=kit.job_of(view), claims=claims())
    done = plan(view, world, kit.at(40))
    assert kit.condition(done, "Sealed")["status"] == "True"
    assert set(done.deletions) == {
        Deletion("Job", kit.NAMESPACE, f"fix-{kit.UID}-a1", "job-1"),
        Deletion("PersistentVolumeClaim", kit.NAMESPACE, JOURNAL),
        Deletion("PersistentVolumeClaim", kit.NAMESPACE, WORKSPACE),
    }


def test_a_workspace_that_is_to_be_kept_is_kept() -> None:
    view = over({"workspace": {"storage": {"ephemeral": False}}}, archive={"storedSeq": 7})
    world = kit.world(pods=(kit.finished_pod(),), jobs=kit.job_of(view), claims=claims())
    assert WORKSPACE not in {item.name for item in plan(view, world, kit.at(40)).deletions}


def test_a_claim_of_the_same_name_that_is_not_the_runs_is_kept() -> None:
    view = over(archive={"storedSeq": 7})
    foreign = {JOURNAL: ClaimRecord(JOURNAL, kit.NAMESPACE, run="another")}
    done = plan(view, kit.world(pods=(kit.finished_pod(),), claims=foreign), kit.at(40))
    assert done.deletions == ()


def test_sealing_is_given_up_after_a_bounded_wait_and_mended_later() -> None:
    view = over(archive={"storedSeq": 2})
    world = kit.world(pods=(kit.finished_pod(),), jobs=kit.job_of(view), claims=claims())
    late = plan(view, world, kit.at(90))
    assert kit.condition(late, "Sealed")["reason"] == "SealTimeout"
    assert late.deletions == ()
    waiting = kit.after(view, late)
    assert plan(waiting, world, kit.at(200)).status is None
    stored = kit.run_view({**kit.raw_run(), "status": {**waiting.status, "archive": {"storedSeq": 7}}})
    assert kit.condition(plan(stored, world, kit.at(300)), "Sealed")["status"] == "True"


@pytest.mark.parametrize(("ttl", "kept"), [(None, 10_000_000), (100, 127)])
def test_what_is_said_of_an_unsealed_run_is_what_is_done(ttl: int | None, kept: float) -> None:
    """Pod and journal stay until the Run goes; that is its time to live where it has one."""
    view = over({} if ttl is None else {"ttlSecondsAfterFinished": ttl}, archive={"storedSeq": 2})
    world = kit.world(pods=(kit.finished_pod(),), jobs=kit.job_of(view), claims=claims())
    late = plan(view, world, kit.at(90))
    said = kit.condition(late, "Sealed")["message"]
    assert ("kept until the Run is deleted" in said, "time to live" in said) == (True, ttl is not None)
    given_up = kit.after(view, late)
    assert plan(given_up, world, kit.at(kept)).deletions == ()
    gone = plan(given_up, world, kit.at(kept + 1)).deletions
    assert [item.kind for item in gone] == ([] if ttl is None else ["Run"])


def test_a_run_whose_executor_never_began_has_nothing_to_seal() -> None:
    view = kit.started()
    cancelled = kit.run_view({**kit.raw_run({"cancel": True}), "status": dict(view.status)})
    world = kit.world(pods=(kit.starting(),), jobs=kit.job_of(view), claims=claims())
    first = plan(cancelled, world, kit.at(5))
    assert kit.condition(first, "Sealed")["status"] == "True", "with the end itself"
    assert first.deletions == (), "a status is written before anything is deleted"
    done = plan(kit.after(cancelled, first), world, kit.at(6))
    assert "Job" in {item.kind for item in done.deletions}


def test_a_pod_that_goes_on_after_the_end_is_stopped_again() -> None:
    view = kit.started()
    opened = plan(view, kit.world(pods=(kit.pod(),), jobs=kit.job_of(view), policies=()), kit.at(10))
    ended = kit.after(view, opened)
    world = kit.world(pods=(kit.pod(),), jobs=kit.job_of(view))
    assert plan(ended, world, kit.at(11)).end_pods == (EndPod(kit.NAMESPACE, "fix-pod"),)


def test_the_first_reason_stays_the_reason() -> None:
    view = kit.started()
    opened = plan(view, kit.world(pods=(kit.pod(),), jobs=kit.job_of(view), policies=()), kit.at(10))
    ended = kit.after(view, opened)
    done = plan(ended, kit.world(pods=(kit.finished_pod(),), jobs=kit.job_of(view)), kit.at(30))
    assert (done.status or ended.status)["reason"] == "IsolationNotEnforced"


TTL = [
    ({"ttlSecondsAfterFinished": 100}, None, 127, False),
    ({"ttlSecondsAfterFinished": 100}, None, 128, True),
    ({}, None, 10_000_000, False),
    ({}, 50, 78, True),
    ({"ttlSecondsAfterFinished": 0}, 500, 29, True),
    ({"private": True, "deliver": "none", "retainSeconds": 60}, 5_000, 88, True),
]


@pytest.mark.parametrize(("spec", "default", "seconds", "gone"), TTL)
def test_a_run_is_removed_when_its_time_has_come(
    spec: dict[str, Any], default: int | None, seconds: float, gone: bool
) -> None:
    view = over(spec, archive={"storedSeq": 7})
    config = kit.config(ttlSecondsAfterFinished=default)
    world = kit.world(config=config, pods=(kit.finished_pod(),), jobs=kit.job_of(view))
    sealed = kit.after(view, plan(view, world, kit.at(29)))
    done = plan(sealed, kit.world(config=config), kit.at(seconds))
    assert (Deletion("Run", kit.NAMESPACE, "fix", kit.UID) in done.deletions) is gone


def test_an_unsealed_run_is_not_removed() -> None:
    view = over({"ttlSecondsAfterFinished": 0}, archive={"storedSeq": 2})
    assert plan(view, kit.world(pods=(kit.finished_pod(),)), kit.at(40)).deletions == ()


def test_a_finished_run_costs_no_write() -> None:
    view = over(archive={"storedSeq": 7})
    world = kit.world(pods=(kit.finished_pod(),), jobs=kit.job_of(view), claims=claims())
    sealed = kit.after(view, plan(view, world, kit.at(40)))
    for seconds in (41, 100, 10_000, 10_000_000):
        assert plan(sealed, kit.world(), kit.at(seconds)) == plan(sealed, kit.world(), kit.at(seconds + 1))
        quiet = plan(sealed, kit.world(), kit.at(seconds))
        assert (quiet.status, quiet.deletions, quiet.create, quiet.end_pods, quiet.notes) == (None, (), (), (), ())


@pytest.mark.parametrize(("stored", "is_sealed"), [(7, True), (6, False), (None, False)])
def test_what_is_stored_by_the_end_is_sealed_with_it(stored: int | None, is_sealed: bool) -> None:
    """One write and not two, where the executor went only when the api had its last event."""
    view = kit.started()
    archive = {} if stored is None else {"archive": {"storedSeq": stored}}
    view = kit.run_view({**kit.raw_run(), "status": {**view.status, **archive}})
    world = kit.world(pods=(kit.finished_pod(),), jobs=kit.job_of(view), claims=claims())
    done = plan(view, world, kit.at(30))
    assert kit.verdict(done) == ("True", "Completed")
    assert (kit.condition(done, "Sealed").get("status") == "True") is is_sealed
    assert done.deletions == ()
    assert bool(plan(kit.after(view, done), world, kit.at(31)).deletions) is is_sealed
