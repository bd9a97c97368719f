"""Between two attempts: what goes on in another pod and what does not, and that two pods never share a volume."""

from dataclasses import replace
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_operator.actions import Deletion, EndPod, Observed, Plan
from guildhall_operator.plan import plan
from guildhall_operator.records import ContainerRecord, PodRecord
from guildhall_operator.run_view import RunView
from unit.operator import kit

KEPT = {"workspace": {"storage": {"size": "1Gi"}}}
ON_A_CLAIM = {"workspace": {"claim": {"name": "repo"}}}
END = EndPod(kit.NAMESPACE, "fix-pod")
JOB = Deletion("Job", kit.NAMESPACE, f"fix-{kit.UID}-a1", "job-1")
EVICTED = {"phase": "Failed", "disruption": "EvictionByEvictionAPI"}
TOLD = kit.executor_says("failed", errorKind="interrupted", reason="ExecutorFailed", message="told to stop")


def runs(spec: dict[str, Any] | None = None) -> RunView:
    """A Run whose executor runs."""
    view = kit.started(spec)
    return kit.after(view, plan(view, world(view, kit.pod()), kit.at(10)))


def world(view: RunView, *pods: PodRecord, **changes: Any) -> Observed:
    jobs = {name: job for n in range(1, len(view.attempts) + 1) for name, job in kit.job_of(view, n).items()}
    base: dict[str, Any] = {"pods": pods, "jobs": jobs, "claims": kit.claims_for(view)}
    return kit.world(**{**base, **changes})


def with_spec(view: RunView, **spec: Any) -> RunView:
    return replace(view, spec={**view.spec, **spec})


def pulls(reason: str = "ImagePullBackOff", **changes: Any) -> PodRecord:
    return kit.starting(containers={"prepare": kit.waiting(reason, "Back-off pulling image reg/workshop:1")}, **changes)


def evicted(message: str = TOLD, **changes: Any) -> PodRecord:
    return kit.finished_pod(message, **{**EVICTED, **changes})


def attempts(done: Plan) -> list[tuple[int, str]]:
    """Number and reason of each attempt, as a plan writes them."""
    return [(item["number"], item.get("reason", "")) for item in (done.status or {})["attempts"]]


def kinds(done: Plan) -> list[str]:
    return [item["kind"] for item in done.create]


def closed(spec: dict[str, Any], *pods: PodRecord) -> RunView:
    """A Run whose first attempt ended so, and may be followed."""
    view = runs(spec)
    done = plan(view, world(view, *pods), kit.at(40))
    assert attempts(done)[0][1], done
    return kit.after(view, done)


def test_an_evicted_run_goes_on_in_a_second_pod_with_its_own_volumes_and_budget() -> None:
    view = runs({**KEPT, "budget": {"seconds": 120}})
    first = plan(view, world(view, evicted()), kit.at(40))
    assert attempts(first) == [(1, "Evicted")]
    assert (first.create, first.deletions) == ((), (JOB,)), "one thing after the other"
    assert "endTime" in (first.status or {})["attempts"][0], "which takes the old pod its right to call the gateway"
    assert (first.status or {})["phase"] == "Preparing"

    between = kit.after(view, first)
    second = plan(between, world(between, evicted()), kit.at(42))
    assert attempts(second) == [(1, "Evicted"), (2, "")]
    (job,) = second.create
    assert job["metadata"]["name"].endswith("-a2")
    pod = job["spec"]["template"]["spec"]
    assert pod["activeDeadlineSeconds"] == 180
    assert "--resume" in pod["initContainers"][0]["command"]
    claims = {
        volume["name"]: volume["persistentVolumeClaim"]["claimName"].rpartition("-")[2]
        for volume in pod["volumes"]
        if "persistentVolumeClaim" in volume
    }
    assert claims == {"workspace": "workspace", "baseline": "baseline", "journal": "journal"}
    whole = plan(kit.run(KEPT), kit.world(), kit.START)
    assert kinds(whole) == ["ConfigMap", *["PersistentVolumeClaim"] * 3, "Job"], "control: the first attempt made them"
    assert "--resume" not in whole.create[-1]["spec"]["template"]["spec"]["initContainers"][0]["command"]


@pytest.mark.parametrize("spec", [{}, {"workspace": {"archive": {"configMap": "a"}}}])
def test_what_had_begun_in_a_folder_of_its_pod_ends_and_says_so(spec: dict[str, Any]) -> None:
    view = runs(spec)
    done = plan(view, world(view, evicted()), kit.at(40))
    assert kit.verdict(done) == ("False", "Evicted")
    assert "workspace.storage" in kit.condition(done, "Succeeded")["message"]
    fresh = kit.started(spec)
    before = kit.starting(phase="Failed", disruption="EvictionByEvictionAPI")
    again = plan(fresh, world(fresh, before), kit.at(5))
    assert attempts(again) == [(1, "Evicted")], "control: nothing is lost of what had not begun"
    assert kit.condition(again, "Succeeded")["status"] == "Unknown"


SELF_INFLICTED = [
    'Usage of EmptyDir volume "workspace" exceeds the limit "1Gi". ',
    "Pod ephemeral local storage usage exceeds the total limit of containers 2Gi. ",
    'Container workshop exceeded its local ephemeral storage limit "1Gi". ',
]


@pytest.mark.parametrize("message", SELF_INFLICTED)
def test_an_eviction_a_run_brought_on_itself_is_not_followed(message: str) -> None:
    """SQ-05; the words are the kubelet's."""
    view = runs(KEPT)
    own = replace(evicted(reason="Evicted", disruption="TerminationByKubelet"), message=message)
    done = plan(view, world(view, own), kit.at(40))
    assert kit.verdict(done) == ("False", "Evicted")
    assert message.strip() in kit.condition(done, "Succeeded")["message"]
    assert "ephemeralStorage" in kit.condition(done, "Succeeded")["message"]
    node = replace(own, message="The node was low on resource: memory. Container other was using 3Gi, request is 1Gi")
    assert attempts(plan(view, world(view, node), kit.at(40))) == [(1, "Evicted")], "control: the node's fault"


def test_no_second_pod_while_the_first_may_write() -> None:
    view = closed(KEPT, evicted())
    alive = kit.pod(deleting=kit.stamp(kit.at(41)))
    held = plan(view, world(view, alive), kit.at(45))
    assert held.create == ()
    assert JOB in held.deletions
    assert kinds(plan(view, world(view), kit.at(45))) == ["Job"], "control: gone"
    late = plan(view, world(view, alive, waits={"replace": 600.0}), kit.at(700))
    assert kit.verdict(late) == ("False", "Evicted")
    assert "node1" in kit.condition(late, "Succeeded")["message"]
    assert late.create == ()


def test_a_dead_node_is_waited_for_until_its_pod_is_gone() -> None:
    stuck = kit.pod(deleting=kit.stamp(kit.at(300)), disruption="DeletionByTaintManager")
    view = runs(KEPT)
    lost = plan(view, world(view, stuck, waits={"lost": 60.0}), kit.at(400))
    assert attempts(lost) == [(1, "NodeLost")]
    between = kit.after(view, lost)
    assert plan(between, world(between, stuck), kit.at(401)).create == ()
    assert kinds(plan(between, world(between), kit.at(500))) == ["Job"]


def test_attempts_that_failed_are_bounded() -> None:
    view = closed(KEPT, evicted())
    view = kit.after(view, plan(view, world(view), kit.at(42)))
    second = evicted(TOLD.replace('"attempt": 1', '"attempt": 2'), uid="second", attempt=2)
    done = plan(view, world(view, second), kit.at(90))
    assert kit.verdict(done) == ("False", "Evicted")
    assert "maxAttempts 2" in kit.condition(done, "Succeeded")["message"]
    more = kit.config(attemptsMaxCount=3)
    assert attempts(plan(view, world(view, second, config=more), kit.at(90))) == [(1, "Evicted"), (2, "Evicted")]


def test_an_image_that_cannot_be_pulled_gets_a_second_attempt_then_ends() -> None:
    view = kit.started({"budget": {"seconds": 120}})
    shown = plan(view, world(view, pulls(), waits={"shown/ImagePullFailed": 2.0}), kit.at(10))
    assert (shown.status or {})["reason"] == "ImagePullFailed"
    first = plan(view, world(view, pulls(), waits={"stall/ImagePullFailed": 45.0}), kit.at(60))
    assert attempts(first) == [(1, "ImagePullFailed")]
    assert first.deletions == (JOB,)
    between = kit.after(view, first)
    second = plan(between, world(between), kit.at(61))
    assert attempts(second) == [(1, "ImagePullFailed"), (2, "")]
    assert second.create[0]["spec"]["template"]["spec"]["activeDeadlineSeconds"] == 180
    view = kit.after(between, second)
    pod = pulls(uid="second", attempt=2)
    end = plan(view, world(view, pod, waits={"stall/ImagePullFailed": 45.0}), kit.at(120))
    assert kit.verdict(end) == ("False", "ImagePullFailed")


@pytest.mark.parametrize("spec", [KEPT, ON_A_CLAIM])
def test_suspend_after_start_stops_the_pod_and_keeps_the_run(spec: dict[str, Any]) -> None:
    view = with_spec(runs(spec), suspend=True)
    asked = plan(view, world(view, kit.pod()), kit.at(20))
    assert asked.end_pods == (END,)
    assert attempts(asked) == [(1, "Suspended")]
    assert "endTime" not in (asked.status or {})["attempts"][0], "it is not over before its pod is"

    stopping = kit.after(view, asked)
    stopped = kit.finished_pod(TOLD, phase="Failed", reason="DeadlineExceeded")
    over = plan(stopping, world(stopping, stopped), kit.at(25))
    assert kit.condition(over, "Succeeded")["status"] == "Unknown"
    held = kit.after(stopping, over)
    assert held.between
    assert not held.holds, "others may have its place"
    assert over.deletions == (), "its log may still be read"
    waits = plan(held, world(held, stopped), kit.at(26))
    assert (waits.status or {})["phase"] == "Queued"
    assert kit.condition(waits, "Queued")["reason"] == "Suspended"
    assert waits.create == ()

    freed = with_spec(kit.after(held, waits), suspend=False)
    again = plan(freed, world(freed, stopped), kit.at(90))
    assert kinds(again) == ["Job"]
    assert attempts(again) == [(1, "Suspended"), (2, "")]
    assert kit.condition(again, "Queued")["status"] == "False"


def test_a_suspend_taken_back_at_once_still_comes_to_a_second_attempt() -> None:
    view = with_spec(runs(KEPT), suspend=True)
    stopping = with_spec(kit.after(view, plan(view, world(view, kit.pod()), kit.at(20))), suspend=False)
    again = plan(stopping, world(stopping, kit.pod()), kit.at(21))
    assert again.end_pods == (END,), "what was asked stands: its deadline may be lowered already"
    deaf = kit.pod(
        phase="Failed", reason="DeadlineExceeded", containers={"prepare": kit.PREPARED, "executor": kit.ended("", 137)}
    )
    over = plan(stopping, world(stopping, deaf), kit.at(40))
    assert attempts(over) == [(1, "Suspended")]
    assert kit.condition(over, "Succeeded")["status"] == "Unknown"


def test_a_run_that_ended_by_itself_while_being_suspended_is_over() -> None:
    view = with_spec(runs(KEPT), suspend=True)
    stopping = kit.after(view, plan(view, world(view, kit.pod()), kit.at(20)))
    done = plan(stopping, world(stopping, kit.finished_pod()), kit.at(25))
    assert kit.verdict(done) == ("True", "Completed")


def test_suspend_after_start_ends_what_cannot_go_on() -> None:
    view = with_spec(runs(), suspend=True)
    done = plan(view, world(view, kit.pod()), kit.at(20))
    assert kit.verdict(done) == ("False", "Suspended")
    assert "workspace.storage" in kit.condition(done, "Succeeded")["message"]
    assert done.end_pods == (END,)


def test_suspend_before_the_executor_began_costs_no_work() -> None:
    view = with_spec(kit.started(), suspend=True)
    done = plan(view, world(view, kit.starting()), kit.at(5))
    assert attempts(done) == [(1, "Suspended")]
    assert done.deletions == (JOB,)
    held = kit.after(view, done)
    assert plan(held, world(held), kit.at(6)).create == ()
    freed = with_spec(held, suspend=False)
    assert kinds(plan(freed, world(freed), kit.at(60))) == ["Job"]


def test_suspensions_do_not_use_up_the_attempts_but_are_bounded() -> None:
    view = runs(KEPT)
    suspended = [{"number": n, "job": f"j{n}", "reason": "Suspended", "endTime": kit.stamp(kit.at(n))} for n in (1, 2)]

    def after(count: int) -> RunView:
        earlier = [{**suspended[0], "number": n} for n in range(1, count)]
        last = {"number": count, "job": f"fix-{kit.UID}-a{count}", "podUid": kit.POD_UID, "pod": "fix-pod"}
        return replace(view, status={**view.status, "attempts": [*earlier, last]})

    third = after(3)
    pod = evicted(TOLD.replace('"attempt": 1', '"attempt": 3'), attempt=3)
    assert attempts(plan(third, world(third, pod), kit.at(50)))[2] == (3, "Evicted"), "the first that failed"
    last = with_spec(after(limits.ATTEMPTS_MAX_COUNT), suspend=True)
    pod = kit.pod(attempt=limits.ATTEMPTS_MAX_COUNT)
    done = plan(last, world(last, pod), kit.at(50))
    assert kit.verdict(done) == ("False", "Suspended")
    assert str(limits.ATTEMPTS_MAX_COUNT) in kit.condition(done, "Succeeded")["message"]


def test_a_job_its_queue_suspends_comes_back_as_another_attempt() -> None:
    """Kueue takes a place back by suspending the Job: the Job controller deletes the pod and would make another."""
    view = runs(KEPT)
    jobs = kit.job_of(view, suspended=True)
    dying = kit.finished_pod(TOLD, deleting=kit.stamp(kit.at(30)))
    for pods in ((dying,), ()):
        done = plan(view, world(view, *pods, jobs=jobs), kit.at(31))
        assert attempts(done) == [(1, "Suspended")]
        between = kit.after(view, done)
        again = plan(between, world(between, jobs=jobs), kit.at(33))
        assert kinds(again) == ["Job"]
        assert JOB in again.deletions, "so that it never makes a second pod of the same attempt"


def test_the_next_attempt_waits_for_its_turn_like_the_first() -> None:
    held = replace(closed(KEPT, evicted()), status={**closed(KEPT, evicted()).status})
    spec = {**held.status, "attempts": [{**held.attempts[0], "reason": "Suspended"}]}
    suspended = replace(held, status=spec)
    others = tuple(kit.Peer(str(n), f"r{n}", kit.stamp(kit.at(50)), holds=True) for n in range(10))
    waits = plan(suspended, world(suspended, peers=others), kit.at(60))
    assert kit.condition(waits, "Queued")["reason"] == "ConcurrencyLimit"
    assert waits.create == ()
    assert kinds(plan(held, world(held, peers=others), kit.at(60))) == ["Job"], "an evicted Run keeps its place"
    opened = plan(held, world(held, policies=(kit.policy(egress=[{}]),)), kit.at(60))
    assert kit.verdict(opened) == ("False", "IsolationNotEnforced")


def test_cancel_between_two_attempts() -> None:
    view = with_spec(closed(KEPT, evicted()), cancel=True)
    done = plan(view, world(view), kit.at(50))
    assert kit.verdict(done) == ("False", "Cancelled")
    assert done.create == ()


@pytest.mark.parametrize("asked", [{}, {"suspend": True}, {"cancel": True}])
def test_a_next_attempt_that_a_crash_kept_out_of_the_status_is_followed(asked: dict[str, Any]) -> None:
    view = with_spec(closed(KEPT, evicted()), **asked)
    made = world(view, jobs=kit.job_of(view) | kit.job_of(view, 2))
    done = plan(view, made, kit.at(50))
    assert [number for number, _ in attempts(done)] == [1, 2]
    assert f"fix-{kit.UID}-a2" not in {item.name for item in done.deletions}, "it is not taken for an old one"
    assert done.create == ()


def test_an_evicted_pod_that_is_gone_is_asked_of_its_job_for_a_moment() -> None:
    view = runs(KEPT)
    soon = plan(view, world(view), kit.at(40))
    assert soon.status is None
    assert "verdict" in soon.waiting
    failed = "Pod x has condition DisruptionTarget matching FailJob rule at index 0"
    told = plan(view, world(view, jobs=kit.job_of(view, failed=failed)), kit.at(41))
    assert attempts(told) == [(1, "Evicted")]
    never = plan(view, world(view, waits={"verdict": 5.0}), kit.at(46))
    assert kit.verdict(never) == ("False", "ExecutorLost"), "deleted by hand: not an infrastructure cause"


def test_a_question_is_not_open_while_nobody_asks() -> None:
    view = runs(KEPT)
    asking = replace(view, status={**view.status, "awaiting": {"questions": 1}})
    asking = kit.after(asking, plan(asking, world(asking, kit.pod()), kit.at(15)))
    done = plan(asking, world(asking, evicted()), kit.at(40))
    assert kit.condition(done, "AwaitingHuman")["status"] == "False"


def test_an_executor_that_crashed_by_itself_is_not_run_again() -> None:
    """OP-18."""
    view = runs(KEPT)
    for container in (kit.ended("", 1, "Error"), kit.ended("", 137, "OOMKilled"), ContainerRecord("terminated")):
        dead = kit.pod(phase="Failed", containers={"prepare": kit.PREPARED, "executor": container})
        done = plan(view, world(view, dead), kit.at(40))
        assert kit.verdict(done)[0] == "False"
        assert done.create == ()
