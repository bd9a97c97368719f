"""plan is a fixed point: applied to its own result, in the same world, it asks for nothing new."""

from typing import Any

from guildhall_contracts.run import RunStatus
from guildhall_operator.actions import Observed
from guildhall_operator.plan import plan
from guildhall_operator.records import ContainerRecord, PodRecord
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.operator import kit

MESSAGES = st.sampled_from(
    [
        "",
        "{}",
        kit.PASSED,
        kit.prepare_says("not_enforced"),
        kit.executor_says(),
        kit.executor_says("failed", errorKind="deadline"),
    ]
)
REASONS = st.sampled_from(
    [
        "",
        "Completed",
        "Error",
        "OOMKilled",
        "ImagePullBackOff",
        "InvalidImageName",
        "PodInitializing",
        "RunContainerError",
    ]
)
STAMPS = st.sampled_from(["", kit.stamp(kit.at(3)), kit.stamp(kit.at(9)), "nonsense"])
CONTAINERS = st.builds(
    ContainerRecord,
    state=st.sampled_from(["waiting", "running", "terminated"]),
    reason=REASONS,
    message=MESSAGES,
    exit_code=st.sampled_from([0, 1, 137]),
    started_at=STAMPS,
    finished_at=STAMPS,
    restarts=st.integers(0, 5),
)
PODS = st.builds(
    PodRecord,
    name=st.just("fix-pod"),
    namespace=st.just(kit.NAMESPACE),
    uid=st.sampled_from([kit.POD_UID, "another"]),
    run=st.just(kit.UID),
    attempt=st.integers(0, 3),
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown"]),
    reason=st.sampled_from(["", "Evicted", "DeadlineExceeded", "NodeLost"]),
    node=st.sampled_from(["", "node1"]),
    created=st.just(kit.stamp(kit.at(1))),
    deleting=st.sampled_from(["", kit.stamp(kit.at(9))]),
    deadline_seconds=st.sampled_from([None, 1, 3_660]),
    unschedulable=st.sampled_from(["", "no node"]),
    disruption=st.sampled_from(["", "EvictionByEvictionAPI", "DeletionByTaintManager"]),
    containers=st.fixed_dictionaries(
        {}, optional={"prepare": CONTAINERS, "workshop": CONTAINERS, "executor": CONTAINERS}
    ),
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "cancel": st.booleans(),
        "suspend": st.booleans(),
        "ttlSecondsAfterFinished": st.sampled_from([0, 100]),
        "workspace": st.sampled_from([{"claim": {"name": "repo"}}, {"storage": {}}, {"archive": {"configMap": "a"}}]),
        "task": st.sampled_from(["Fix it.", 7]),
        "guildRef": st.sampled_from([{"name": "pair"}, {"name": "gone"}]),
    },
)
WAITS = st.dictionaries(
    st.sampled_from(
        ["guild", "policy", "canary", "claim", "cancel", "job", "prepared", "lost", "stall/ImagePullFailed"]
    ),
    st.sampled_from([0.0, 3.0, 1_000.0]),
)


@st.composite
def worlds(draw: st.DrawFn) -> Observed:
    failed, held = draw(st.sampled_from(["", "BackoffLimitExceeded"])), draw(st.booleans())
    jobs = kit.job_of(kit.run(), failed=failed, suspended=held)
    opener = {"metadata": {"name": "open"}, "spec": {"podSelector": {}, "ingress": [{}]}}
    return kit.world(
        guild=draw(st.sampled_from([None, kit.GUILD, {"roles": 3}])),
        policies=draw(st.sampled_from([(), (kit.policy(),), (kit.policy(), opener)])),
        pods=tuple(draw(st.lists(PODS, max_size=2))),
        jobs=draw(st.sampled_from([{}, jobs])),
        claims=draw(st.sampled_from([{}, kit.claims_for(kit.run({"workspace": {"claim": {"name": "repo"}}}))])),
        waits=draw(WAITS),
        canary_age_seconds=draw(st.sampled_from([None, 1.0, 100.0])),
        config=kit.config(maxConcurrentRuns=1),
        peers=draw(st.sampled_from([(), (kit.Peer("u", "r", kit.stamp(kit.START), holds=True),)])),
    )


def actions(view: Any, world: Observed, seconds: float) -> Any:
    done = plan(view, world, kit.at(seconds))
    return done, kit.after(view, done)


@settings(max_examples=250, deadline=None)
@given(spec=SPECS, world=worlds(), seconds=st.sampled_from([5.0, 200.0, 100_000.0]), steps=st.integers(1, 4))
def test_a_plan_applied_twice_is_a_plan_applied_once(
    spec: dict[str, Any], world: Observed, seconds: float, steps: int
) -> None:
    view = kit.run(spec)
    for _ in range(steps):
        done, view = actions(view, world, seconds)
        if done.status is not None:
            RunStatus.model_validate({**done.status})
    settled = view
    for _ in range(4):
        done, settled = actions(settled, world, seconds)
    again, still = actions(settled, world, seconds)
    assert again.status is None
    assert again.notes == ()
    assert still == settled
    if not view.finished:
        return
    assert again.create == ()
    assert settled.status["reason"] == view.status["reason"]


@settings(max_examples=250, deadline=None)
@given(spec=SPECS, world=worlds(), seconds=st.sampled_from([5.0, 200.0, 100_000.0]), steps=st.integers(0, 3))
def test_a_status_that_leaves_the_stage_needs_no_second_look(
    spec: dict[str, Any], world: Observed, seconds: float, steps: int
) -> None:
    """What `Reconciler._wrote` relies on: it does not look again at a Run after such a write."""
    view = kit.run(spec)
    for _ in range(steps):
        _, view = actions(view, world, seconds)
    done, then = actions(view, world, seconds)
    if done.status is None or then.stage != view.stage:
        return
    again = plan(then, world, kit.at(seconds))
    assert again.status is None
    assert (again.create, again.end_pods, again.deletions) == (done.create, done.end_pods, done.deletions)
    assert (again.waiting, again.requeue_seconds) == (done.waiting, done.requeue_seconds)


@settings(max_examples=100, deadline=None)
@given(pods=st.lists(PODS, max_size=2), seconds=st.sampled_from([5.0, 5_000.0]))
def test_a_finished_run_stays_as_it_ended(pods: list[PodRecord], seconds: float) -> None:
    view = kit.started()
    ended = kit.after(view, plan(view, kit.world(pods=(kit.finished_pod(),), jobs=kit.job_of(view)), kit.at(30)))
    done = plan(ended, kit.world(pods=tuple(pods)), kit.at(seconds))
    status = done.status or ended.status
    assert (status["phase"], status["reason"]) == ("Succeeded", "Completed")
    assert done.create == ()
