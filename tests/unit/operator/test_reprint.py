"""A Run whose executor is gone and whose record has holes: the journal is printed again, a few times, and no more."""

import json
from dataclasses import replace
from typing import Any

from guildhall_contracts.limits import REPRINT_ROUNDS_MAX_COUNT
from guildhall_operator.actions import Deletion, Plan
from guildhall_operator.plan import plan
from guildhall_operator.records import ClaimRecord, JobRecord, PodRecord
from guildhall_operator.run_view import RunView
from unit.operator import kit
from unit.operator.test_finish import JOURNAL, claims, over

ATTEMPT_POD = kit.finished_pod()


def name(round_number: int) -> str:
    return f"fix-{kit.UID}-r{round_number}"


def jobs(view: RunView, rounds: int, failed: str = "") -> dict[str, JobRecord]:
    made = {name(n): JobRecord(name(n), kit.NAMESPACE, f"again-{n}", view.uid, failed=failed) for n in _to(rounds)}
    return {**kit.job_of(view), **made}


def _to(rounds: int) -> range:
    return range(1, rounds + 1)


def printer(round_number: int, phase: str = "Succeeded") -> PodRecord:
    containers = {"executor": kit.ended() if phase == "Succeeded" else kit.running()}
    labels = {"guildhall.dev/resend": str(round_number), "guildhall.dev/run": kit.UID}
    return kit.pod(name=name(round_number), uid=f"p{round_number}", phase=phase, containers=containers, labels=labels)


def look(archive: dict[str, Any], rounds: int = 0, printers: tuple[PodRecord, ...] = (), **world: Any) -> Plan:
    """The plan for a finished Run with this `archive`, everything having been waited for."""
    view = over(archive=archive)
    base: dict[str, Any] = {
        "pods": (ATTEMPT_POD, *printers),
        "jobs": jobs(view, rounds),
        "claims": claims(),
        "waits": {f"reprint/{n}": 60.0 for n in range(1, 9)},
    }
    return plan(view, kit.world(**{**base, **world}), kit.at(40))


def made(done: Plan) -> list[str]:
    return [item["metadata"]["name"] for item in done.create]


def test_what_the_api_misses_is_printed_again_from_there() -> None:
    (job,) = look({"storedSeq": 2, "resendFrom": 3}).create
    assert job["metadata"]["name"] == name(1)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"][-4:] == ["--run", kit.UID, "--from", "3"]
    assert look({"storedSeq": 2}).create == (), "control: nobody asked"


def test_a_hole_the_log_itself_fills_costs_no_job() -> None:
    done = look({"storedSeq": 2, "resendFrom": 3}, waits={})
    assert done.create == ()
    assert done.requeue_seconds is not None
    assert done.requeue_seconds <= 1


def test_an_executor_that_lives_prints_again_itself() -> None:
    alive = {"storedSeq": 2, "resendFrom": 3}
    assert look(alive, pods=(kit.pod(),)).create == ()
    assert made(look(alive, pods=(kit.pod(phase="Failed"),))) == [name(1)]
    assert made(look(alive, pods=())) == [name(1)], "an evicted pod is gone with its log"


def test_no_journal_no_job() -> None:
    asked = {"storedSeq": 2, "resendFrom": 3}
    assert look(asked, claims={}).create == ()
    foreign = {JOURNAL: ClaimRecord(JOURNAL, kit.NAMESPACE, run="another")}
    assert look(asked, claims=foreign).create == ()
    going = {JOURNAL: ClaimRecord(JOURNAL, kit.NAMESPACE, run=kit.UID, deleting=True)}
    assert look(asked, claims=going).create == ()


def test_rounds_follow_each_other_and_end() -> None:
    asked = {"storedSeq": 2, "resendFrom": 3}
    assert look(asked, 1).create == (), "its pod is not there yet"
    assert look(asked, 1, (printer(1, "Running"),)).create == ()
    assert made(look(asked, 1, (printer(1),))) == [name(2)]
    soon = look(asked, 1, (printer(1),), waits={"reprint/2": 3.0})
    assert (soon.create, soon.requeue_seconds) == ((), 7.0)
    assert made(look(asked, 2, (printer(1), printer(2, "Failed")))) == [name(3)]
    view = over(archive=asked)
    assert made(look(asked, 1, jobs=jobs(view, 1, failed="no pod"))) == [name(2)], "its pod is gone"
    last = REPRINT_ROUNDS_MAX_COUNT
    assert look(asked, last, tuple(printer(n) for n in _to(last))).create == ()


def test_a_refused_job_is_tried_again_later() -> None:
    done = look({"storedSeq": 2, "resendFrom": 3}, create_problem="exceeded quota")
    assert done.create == ()
    assert done.requeue_seconds is not None
    assert done.requeue_seconds >= 1


def test_a_run_that_was_given_up_is_still_repaired() -> None:
    view = over(archive={"storedSeq": 2})
    late = kit.after(view, plan(view, kit.world(pods=(ATTEMPT_POD,), claims=claims()), kit.at(90)))
    asked = kit.run_view({**kit.raw_run(), "status": {**late.status, "archive": {"storedSeq": 2, "resendFrom": 3}}})
    world = kit.world(pods=(ATTEMPT_POD,), claims=claims(), waits={"reprint/1": 5.0})
    assert made(plan(asked, world, kit.at(500))) == [name(1)]


def test_printers_go_when_the_run_is_sealed_and_are_never_its_own_pod() -> None:
    done = look({"storedSeq": 7}, 1, (printer(1),))
    assert kit.condition(done, "Sealed")["status"] == "True"
    assert Deletion("Job", kit.NAMESPACE, name(1), "again-1") in done.deletions
    view = kit.started()
    orphan = plan(view, kit.world(pods=(printer(1),), jobs=kit.job_of(view)), kit.at(30))
    assert "podUid" not in (orphan.status or view.status)["attempts"][-1]


def silent() -> PodRecord:
    """The pod of an executor that died without its last word."""
    return kit.pod(phase="Failed", containers={"prepare": kit.PREPARED, "executor": kit.ended("", 137, "OOMKilled")})


def told(round_number: int, last: int, run: str = kit.UID) -> PodRecord:
    said = json.dumps({"v": 1, "run": run, "lastSeq": last})
    return replace(printer(round_number), containers={"executor": kit.ended(said)})


def test_where_nobody_said_which_event_is_the_last_the_journal_is_asked() -> None:
    (job,) = look({"storedSeq": 4}, pods=(silent(),)).create
    assert job["spec"]["template"]["spec"]["containers"][0]["command"][-2:] == ["--from", "5"]
    assert look({"storedSeq": 4}, 1, pods=(silent(), told(1, 6))).create == (), "it is known now; the api asks for more"


def test_what_the_journal_says_is_enough_to_seal() -> None:
    def sealed(stored: int, *printers: PodRecord) -> str:
        done = look({"storedSeq": stored}, 1, pods=(silent(), *printers))
        return str(kit.condition(done, "Sealed").get("status", "")) if done.status else ""

    assert sealed(6, told(1, 6)) == "True"
    assert sealed(0, told(1, 0)) == "True", "it died before it wrote anything"
    assert sealed(5, told(1, 6)) == "", "control: one is missing"
    assert sealed(6, told(1, 6, run="another")) == ""
    assert sealed(6, printer(1)) == "", "one that said nothing"
