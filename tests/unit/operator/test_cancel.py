"""Cancel at every moment of a Run: what the plan does then, and that it ends Cancelled without a pod left to run on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from guildhall_operator.actions import Plan
from guildhall_operator.plan import plan
from guildhall_operator.records import PodRecord
from guildhall_operator.run_view import RunView
from unit.operator import kit
from unit.operator.test_again import KEPT, TOLD, closed, evicted, runs, with_spec

GOING = kit.stamp(kit.at(30))
GRACE = {"cancel": 10_000.0}


@dataclass(frozen=True)
class Moment:
    """A Run and the world it is in. `pods` are those that a Job's deletion or a lowered deadline would take."""

    view: Callable[[], RunView]
    pods: tuple[PodRecord, ...] = ()
    world: Callable[[], dict[str, Any]] = dict
    stays: bool = False  # it is over already


def started(**spec: Any) -> RunView:
    return kit.started(spec or None)


def awaiting() -> RunView:
    view = runs()
    return replace(view, status={**view.status, "awaiting": {"questions": 1}})


def stopping() -> RunView:
    view = with_spec(runs(KEPT), suspend=True)
    return kit.after(view, plan(view, kit.world(pods=(kit.pod(),), jobs=kit.job_of(view)), kit.at(20)))


def over() -> RunView:
    view = runs()
    return kit.after(view, plan(view, kit.world(pods=(kit.finished_pod(),), jobs=kit.job_of(view)), kit.at(30)))


def waiting_on(container: str, reason: str) -> PodRecord:
    done = {"prepare": kit.PREPARED} if container != "prepare" else {}
    return kit.starting(containers={**done, container: kit.waiting(reason, "words of the kubelet")})


BUSY = kit.Peer("other", "other", kit.stamp(kit.START), holds=True, claim="repo")
CLAIM = {"workspace": {"claim": {"name": "repo"}}}
MOMENTS = {
    "new": Moment(kit.run),
    "its Guild is missing": Moment(kit.run, world=lambda: {"guild": None}),
    "suspended": Moment(lambda: kit.run({"suspend": True})),
    "its claim is busy": Moment(
        lambda: kit.run(CLAIM), world=lambda: {"peers": (BUSY,), "claims": kit.claims_for(kit.run(CLAIM))}
    ),
    "no place is free": Moment(kit.run, world=lambda: {"config": kit.config(maxConcurrentRuns=1), "peers": (BUSY,)}),
    "the policy is missing": Moment(kit.run, world=lambda: {"policies": ()}),
    "the quota is full": Moment(kit.run, world=lambda: {"create_problem": "exceeded quota: q"}),
    "its Job has no pod": Moment(started),
    "its queue holds the Job": Moment(started, world=lambda: {"jobs": kit.job_of(kit.started(), suspended=True)}),
    "the pod waits for a node": Moment(started, (kit.starting(unschedulable="no node fits"),)),
    "a volume is mounted": Moment(started, (kit.starting(),)),
    "an image is pulled": Moment(started, (waiting_on("workshop", "ImagePullBackOff"),)),
    "the gate is at work": Moment(started, (kit.pod(phase="Pending", containers={"prepare": kit.running()}),)),
    "the executor is about to start": Moment(started, (kit.pod(containers={"prepare": kit.PREPARED}),)),
    "running": Moment(runs, (kit.pod(),)),
    "running, the workshop down": Moment(
        runs, (kit.pod(containers={"prepare": kit.PREPARED, "workshop": kit.waiting("CrashLoopBackOff"),
                                   "executor": kit.running()}),)
    ),
    "a person is asked": Moment(awaiting, (kit.pod(),)),
    "being suspended": Moment(stopping, (kit.pod(deadline_seconds=1),)),
    "being evicted": Moment(lambda: runs(KEPT), (kit.pod(deleting=GOING, disruption="EvictionByEvictionAPI"),)),
    "its node is lost": Moment(runs, (kit.pod(deleting=GOING, disruption="DeletionByTaintManager"),)),
    "between two attempts": Moment(lambda: closed(KEPT, evicted())),
    "the executor was told to stop": Moment(runs, (kit.finished_pod(TOLD),)),
    "its pod is gone": Moment(runs),
    "the executor has ended well": Moment(runs, (kit.finished_pod(),), stays=True),
    "over": Moment(over, (kit.finished_pod(),), stays=True),
}  # fmt: skip


def look(moment: Moment, view: RunView, pods: tuple[PodRecord, ...], seconds: float, **more: Any) -> Plan:
    jobs = kit.job_of(view) if view.started else {}
    world: dict[str, Any] = {"pods": pods, "jobs": jobs, **moment.world(), **more}
    return plan(view, kit.world(**world), kit.at(seconds))


def stopped(pod: PodRecord) -> PodRecord:
    """What becomes of a pod whose deadline was lowered to a second: it says nothing more, whoever it is."""
    containers = {
        name: replace(state, state="terminated", exit_code=137) if state.state == "running" else state
        for name, state in pod.containers.items()
    }
    return replace(pod, phase="Failed", reason="DeadlineExceeded", containers=containers)


@pytest.mark.parametrize("name", MOMENTS)
def test_cancel(name: str) -> None:
    moment = MOMENTS[name]
    view, pods = with_spec(moment.view(), cancel=True), moment.pods
    first = look(moment, view, pods, 50)
    view = kit.after(view, first)
    assert not first.create, "a cancelled Run makes nothing"
    if not view.finished:  # its executor is told by the gateway, and has a bounded time for that
        assert first.requeue_seconds is not None
        late = look(moment, view, pods, 100, waits=GRACE)
        assert not late.create
        assert late.end_pods or all(pod.deadline_seconds == 1 or pod.deleting for pod in pods), "then it is stopped"
        view = kit.after(view, late)
        end = look(moment, view, tuple(stopped(pod) for pod in pods), 130, waits=GRACE)
        assert not end.create
        view = kit.after(view, end)
    done = view.conditions["Succeeded"]
    expected = ("True", "Completed") if moment.stays else ("False", "Cancelled")
    assert (done["status"], done["reason"]) == expected, done
    rest = look(moment, view, tuple(stopped(pod) for pod in pods), 200)
    assert not rest.create


@pytest.mark.parametrize("name", [name for name, moment in MOMENTS.items() if not moment.stays])
def test_control_without_cancel_it_does_not_end_so(name: str) -> None:
    moment = MOMENTS[name]
    view = kit.after(moment.view(), look(moment, moment.view(), moment.pods, 50))
    assert view.conditions.get("Succeeded", {}).get("reason") != "Cancelled"


def test_pods_that_never_began_go_with_their_job() -> None:
    view = with_spec(kit.started(), cancel=True)
    pod = kit.starting()
    ended = kit.after(view, plan(view, kit.world(pods=(pod,), jobs=kit.job_of(view)), kit.at(5)))
    free = plan(ended, kit.world(pods=(pod,), jobs=kit.job_of(view)), kit.at(6))
    assert [act.kind for act in free.deletions] == ["Job"]
