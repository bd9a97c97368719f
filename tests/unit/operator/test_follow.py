"""A Run that has a Job: what it proves, why it stops, and every reason it can end with."""

from dataclasses import replace
from typing import Any

import pytest
from guildhall_operator.actions import EndPod, Plan
from guildhall_operator.plan import plan
from guildhall_operator.records import ContainerRecord, EventRecord, PodRecord
from unit.operator import kit

END = EndPod(kit.NAMESPACE, "fix-pod")


def look(pod: PodRecord | None, seconds: float = 10, spec: dict[str, Any] | None = None, **world: Any) -> Plan:
    view = kit.started(spec)
    pods = () if pod is None else (pod,)
    return plan(view, kit.world(pods=pods, jobs=kit.job_of(view), **world), kit.at(seconds))


def test_the_pod_is_recorded_as_soon_as_it_exists() -> None:
    done = look(kit.starting())
    attempt = (done.status or {})["attempts"][0]
    assert (attempt["pod"], attempt["podUid"]) == ("fix-pod", kit.POD_UID)


def test_a_running_executor_with_its_proof() -> None:
    done = look(kit.pod())
    assert done.status is not None
    assert (done.status["phase"], done.status["reason"]) == ("Running", "Started")
    assert done.status["startTime"] == kit.stamp(kit.at(8))
    assert kit.condition(done, "IsolationVerified")["reason"] == "Verified"
    assert "canary refused x3" in kit.condition(done, "IsolationVerified")["message"]
    assert "12 files" in kit.condition(done, "WorkspaceReady")["message"]
    assert [note.message for note in done.notes] == ["the executor works in pod fix-pod on node node1"]


def test_proof_and_start_are_one_write_where_they_are_close() -> None:
    between = kit.pod(phase="Pending", containers={"prepare": kit.PREPARED, "executor": kit.waiting()})
    view = kit.after(kit.started(), look(between))
    soon = plan(view, kit.world(pods=(between,), jobs=kit.job_of(view)), kit.at(6))
    assert soon.status is None
    assert soon.waiting == {"prepared"}
    later = plan(view, kit.world(pods=(between,), jobs=kit.job_of(view), waits={"prepared": 2.0}), kit.at(8))
    assert kit.condition(later, "IsolationVerified")["status"] == "True"


def test_a_denied_canary_that_is_dead_proves_nothing() -> None:
    waiting = look(kit.pod(), seconds=60, canary_age_seconds=300.0)
    assert kit.condition(waiting, "IsolationVerified")["status"] == "Unknown"
    over = look(kit.pod(), seconds=60, canary_age_seconds=300.0, waits={"canary": 60.0})
    assert kit.verdict(over) == ("False", "NotVerified")
    assert over.end_pods == (END,)


def test_isolation_that_is_not_required_is_said_not_claimed() -> None:
    done = look(kit.pod(), config=kit.config(isolation={"require": False}), policies=())
    found = kit.condition(done, "IsolationVerified")
    assert (found["status"], found["reason"]) == ("False", "IsolationNotRequired")


def executor(container: ContainerRecord, **changes: Any) -> PodRecord:
    return kit.pod(containers={"prepare": kit.PREPARED, "workshop": kit.running(6), "executor": container}, **changes)


def prepared(container: ContainerRecord, **changes: Any) -> PodRecord:
    return kit.pod(phase="Failed", containers={"prepare": container}, **changes)


ENDS: list[tuple[str, PodRecord, tuple[str, str]]] = [
    ("succeeded", kit.finished_pod(), ("True", "Completed")),
    ("cancelled", kit.finished_pod(kit.executor_says("cancelled")), ("False", "Cancelled")),
    *(
        (kind, kit.finished_pod(kit.executor_says("failed", errorKind=kind)), ("False", reason))
        for kind, reason in {
            "llm_unavailable": "ProviderFailed",
            "llm_refused": "ProviderFailed",
            "context_overflow": "ContextOverflow",
            "budget_exhausted": "BudgetExceeded",
            "tool_denied": "PolicyDenied",
            "workshop_lost": "WorkspaceFailed",
            "deadline": "DeadlineExceeded",
            "interrupted": "ExecutorLost",
            "guild_invalid": "GuildInvalid",
            "internal": "Internal",
        }.items()
    ),
    (
        "its own reason",
        kit.finished_pod(kit.executor_says("failed", errorKind="tool_denied", reason="ApprovalExpired")),
        ("False", "ApprovalExpired"),
    ),
    (
        "a reason that is not its to give",
        kit.finished_pod(kit.executor_says("failed", errorKind="internal", reason="Completed")),
        ("False", "Internal"),
    ),
    ("no kind", kit.finished_pod(kit.executor_says("failed")), ("False", "ExecutorFailed")),
    ("no message", kit.finished_pod("", phase="Failed"), ("False", "ExecutorLost")),
    ("garbage", kit.finished_pod('{"v":1,"outcome":"succeeded"}'), ("False", "ExecutorLost")),
    ("another run's message", kit.finished_pod(kit.executor_says(run="someone-else")), ("False", "ExecutorLost")),
    ("another attempt's message", kit.finished_pod(kit.executor_says(attempt=2)), ("False", "ExecutorLost")),
    (
        "too long a message",
        kit.finished_pod(kit.executor_says(message="m" * 600) + " " * 2_000),
        ("False", "ExecutorLost"),
    ),
    ("memory", executor(kit.ended("", 137, "OOMKilled"), phase="Failed"), ("False", "OOMKilled")),
    (
        "deadline",
        executor(kit.ended("", 143, "Error"), phase="Failed", reason="DeadlineExceeded"),
        ("False", "DeadlineExceeded"),
    ),
    (
        "evicted by a drain",
        executor(kit.ended("", 143, "Error"), phase="Failed", disruption="EvictionByEvictionAPI"),
        ("False", "Evicted"),
    ),
    ("evicted by the kubelet", kit.pod(phase="Failed", reason="Evicted", message="disk"), ("False", "Evicted")),
    (
        "preempted",
        executor(kit.ended("", 143), phase="Failed", disruption="PreemptionByScheduler"),
        ("False", "Evicted"),
    ),
    ("node gone", executor(kit.ended("", 137), phase="Failed", disruption="DeletionByPodGC"), ("False", "NodeLost")),
    (
        "not enforced",
        prepared(kit.ended(kit.prepare_says("not_enforced", "canary answered"), 3, "Error")),
        ("False", "IsolationNotEnforced"),
    ),
    (
        "gateway silent",
        prepared(kit.ended(kit.prepare_says("gateway_unreachable"), 4, "Error")),
        ("False", "NotVerified"),
    ),
    (
        "workspace",
        prepared(kit.ended(kit.prepare_says("workspace_failed", "no such key"), 5, "Error")),
        ("False", "WorkspaceFailed"),
    ),
    (
        "source",
        prepared(kit.ended(kit.prepare_says("source_too_large", "it unpacks to more than 9 bytes"), 6, "Error")),
        ("False", "SourceTooLarge"),
    ),
    ("prepare broke", prepared(kit.ended(kit.prepare_says("internal"), 1, "Error")), ("False", "Internal")),
    ("prepare without a word", prepared(kit.ended("", 1, "Error")), ("False", "Internal")),
    ("prepare out of memory", prepared(kit.ended("", 137, "OOMKilled")), ("False", "OOMKilled")),
    ("prepare passed without evidence", kit.pod(containers={"prepare": kit.ended("")}), ("False", "NotVerified")),
    (
        "workshop in a loop",
        kit.pod(
            containers={
                "prepare": kit.PREPARED,
                "executor": kit.running(),
                "workshop": ContainerRecord("running", restarts=4, oom_killed_before=True),
            }
        ),
        ("False", "WorkspaceFailed"),
    ),
]


@pytest.mark.parametrize(("case", "pod", "expected"), ENDS, ids=[row[0] for row in ENDS])
def test_every_way_a_pod_ends(case: str, pod: PodRecord, expected: tuple[str, str]) -> None:
    done = look(pod, seconds=30)
    assert kit.verdict(done) == expected
    assert (done.status or {})["reason"] == expected[1]
    assert (done.status or {})["attempts"][0]["reason"] == expected[1]
    assert done.notes[0].reason == expected[1]
    assert not done.create
    assert kit.condition(done, "Running")["status"] == "False"


def test_isolation_that_is_not_enforced_is_said_on_its_own_condition() -> None:
    answered = prepared(kit.ended(kit.prepare_says("not_enforced", "canary answered"), 3, "Error"))
    said = kit.condition(look(answered, seconds=30), "IsolationVerified")
    assert (said["status"], said["reason"]) == ("False", "IsolationNotEnforced")


def test_three_restarts_of_the_workshop_are_borne() -> None:
    calm = {"prepare": kit.PREPARED, "executor": kit.running(), "workshop": ContainerRecord("running", restarts=3)}
    assert "False" not in kit.verdict(look(kit.pod(containers=calm)))


def test_the_duration_is_that_of_the_executor() -> None:
    done = look(kit.finished_pod(), seconds=300)
    assert (done.status or {})["duration"] == "20s"
    assert (done.status or {})["completionTime"] == kit.stamp(kit.at(28))


UNBOUND = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims"
NO_CLONE = {"events": kit.warning("claim-uid", "ProvisioningFailed", "the driver clones nothing")}
STALLS: list[tuple[str, PodRecord, dict[str, Any], str, float]] = [
    ("no volume", kit.starting(node="", unschedulable=UNBOUND), NO_CLONE, "MountFailed", 600),
    ("no volume, binding waits", kit.starting(node=""), NO_CLONE, "MountFailed", 600),
    ("no node", kit.starting(node="", unschedulable="0/1 nodes: cpu"), {}, "Unschedulable", 600),
    (
        "volume",
        kit.starting(),
        {"events": kit.warning(kit.POD_UID, "FailedMount", "timed out waiting for the condition")},
        "MountFailed",
        60,
    ),
    (
        "config",
        kit.starting(containers={"prepare": kit.waiting("CreateContainerConfigError", "no subPath")}),
        {},
        "MountFailed",
        60,
    ),
    (
        "workshop cannot run",
        kit.starting(containers={"prepare": kit.PREPARED, "workshop": kit.waiting("RunContainerError", "exec format")}),
        {},
        "WorkspaceFailed",
        60,
    ),
    (
        "executor cannot run",
        kit.starting(containers={"prepare": kit.PREPARED, "executor": kit.waiting("CreateContainerError", "x")}),
        {},
        "Internal",
        60,
    ),
]


@pytest.mark.parametrize(("case", "pod", "world", "reason", "limit"), STALLS, ids=[row[0] for row in STALLS])
def test_what_keeps_a_pod_from_starting_is_shown_and_ends_in_time(
    case: str, pod: PodRecord, world: dict[str, Any], reason: str, limit: float
) -> None:
    blink = look(pod, **world)
    assert (blink.status or {})["reason"] in {"Preparing", "Unschedulable"}
    assert 0 < (blink.requeue_seconds or 0) <= 2 or reason == "Unschedulable"
    first = look(pod, waits={f"shown/{reason}": 2.0}, **world)
    assert (first.status or {})["reason"] == reason
    assert kit.verdict(first)[0] == "Unknown"
    assert 0 < (first.requeue_seconds or 0) <= limit
    assert (first.status or {})["phase"] == ("Queued" if reason == "Unschedulable" else "Preparing")
    last = look(pod, seconds=limit + 10, waits={f"stall/{reason}": float(limit), "prepared": 2.0}, **world)
    assert kit.verdict(last) == ("False", reason)


@pytest.mark.parametrize(
    ("claim", "words"), [("fix-workspace", "spec.workspace"), ("fix-journal", "chart value storage.class")]
)
def test_a_volume_that_is_not_made_is_told_in_the_drivers_words_and_whose_it_is(claim: str, words: str) -> None:
    said = EventRecord("claim-uid", "ProvisioningFailed", "the driver clones nothing", claim)
    events, waits = {"claim-uid": (said,)}, {"shown/MountFailed": 2.0}
    told = kit.condition(look(kit.starting(node=""), events=events, waits=waits), "Running")
    assert claim in told["message"]
    assert "the driver clones nothing" in told["message"]
    assert words in told["message"]
    placed = look(kit.starting(), events=events, waits=waits)
    assert kit.condition(placed, "Running")["reason"] == "NotStarted", "control: a pod with a node has its volumes"


NO_USERNS = "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces"


def test_a_node_that_cannot_make_the_pod_is_told_in_its_own_words_and_not_waited_for_without_end() -> None:
    events = kit.warning(kit.POD_UID, "FailedCreatePodSandBox", NO_USERNS)
    told = look(kit.starting(), events=events, waits={"shown/Unschedulable": 2.0})
    condition = kit.condition(told, "Running")
    assert condition["reason"] == "Unschedulable"
    assert NO_USERNS in condition["message"]
    assert "runs.hostUsers" in condition["message"]
    assert (told.status or {})["phase"] == "Preparing", "it does not wait for room"
    waits = {"shown/Unschedulable": 600.0, "stall/Unschedulable": 600.0}
    assert kit.verdict(look(kit.starting(), seconds=610, events=events, waits=waits)) == ("False", "Unschedulable")
    going = look(kit.starting(mounted=True), seconds=610, events=events, waits=waits)
    assert "False" not in kit.verdict(going), "control: a sandbox that was made in the end"


def test_a_mount_that_failed_once_does_not_count_against_a_slow_image() -> None:
    events = kit.warning(kit.POD_UID, "FailedMount", "timed out waiting for the condition")
    waits = {"stall/MountFailed": 600.0, "shown/MountFailed": 600.0}
    assert kit.verdict(look(kit.starting(), waits=waits, events=events)) == ("False", "MountFailed")
    assert "False" not in kit.verdict(look(kit.starting(mounted=True), waits=waits, events=events))


def pull(reason: str = "ImagePullBackOff") -> PodRecord:
    return kit.starting(containers={"prepare": kit.waiting(reason, "Back-off pulling image reg/workshop:1")})


@pytest.mark.parametrize("reason", ["InvalidImageName", "ErrImageNeverPull"])
def test_an_image_that_never_can_be_pulled_ends_at_once(reason: str) -> None:
    assert kit.verdict(look(pull(reason))) == ("False", "ImagePullFailed")


def test_a_pod_that_vanished_is_lost_or_evicted() -> None:
    view = kit.after(kit.started(), look(kit.pod()))
    lost = plan(view, kit.world(jobs=kit.job_of(view, failed="BackoffLimitExceeded")), kit.at(60))
    assert kit.verdict(lost) == ("False", "ExecutorLost")
    failed = "Pod x has condition DisruptionTarget matching FailJob rule at index 0"
    evicted = plan(view, kit.world(jobs=kit.job_of(view, failed=failed)), kit.at(60))
    assert kit.verdict(evicted) == ("False", "Evicted")


def test_a_second_pod_is_not_the_attempts() -> None:
    view = kit.after(kit.started(), look(kit.pod()))
    stranger = kit.finished_pod(uid="stranger")
    both = plan(view, kit.world(pods=(kit.pod(), stranger), jobs=kit.job_of(view)), kit.at(40))
    assert both.status is None


def test_a_quota_queues_and_starts_by_itself() -> None:
    view = kit.started()
    events = kit.warning("job-1", "FailedCreate", "pods is forbidden: exceeded quota: q, requested: pods=1")
    held = plan(view, kit.world(jobs=kit.job_of(view), events=events), kit.at(5))
    assert (held.status or {})["phase"] == "Queued"
    assert (held.status or {})["reason"] == "QuotaExceeded"
    assert "exceeded quota: q" in kit.condition(held, "Queued")["message"]
    queued = kit.after(view, held)
    runs = plan(queued, kit.world(pods=(kit.pod(),), jobs=kit.job_of(view), events=events), kit.at(60))
    assert (runs.status or {})["phase"] == "Running"
    assert (runs.status or {})["startTime"] == kit.stamp(kit.at(8))


def test_a_pod_the_cluster_refuses_ends_the_run() -> None:
    view = kit.started()
    events = kit.warning("job-1", "FailedCreate", "violates PodSecurity")
    waits = {"stall/PolicyDenied": 30.0}
    done = plan(view, kit.world(jobs=kit.job_of(view), events=events, waits=waits), kit.at(40))
    assert kit.verdict(done) == ("False", "PolicyDenied")


def test_a_job_held_by_its_queue_is_queued() -> None:
    view = kit.started()
    done = plan(view, kit.world(jobs=kit.job_of(view, suspended=True)), kit.at(5))
    assert (done.status or {})["phase"] == "Queued"


def test_a_job_that_was_deleted_ends_the_run() -> None:
    view = kit.started()
    first = plan(view, kit.world(), kit.at(5))
    assert first.status is None
    over = plan(view, kit.world(waits={"job": 5.0}), kit.at(10))
    assert kit.verdict(over) == ("False", "Deleted")


def test_cancel_gives_the_gateway_time_and_then_lowers_the_deadline() -> None:
    cancel = {"cancel": True}
    first = look(kit.pod(), spec=None)
    view = kit.after(kit.started(), first)
    asked = kit.run_view({**kit.raw_run(cancel), "status": dict(view.status)})
    soon = plan(asked, kit.world(pods=(kit.pod(),), jobs=kit.job_of(view)), kit.at(20))
    assert soon.end_pods == ()
    assert soon.requeue_seconds == 35
    late = plan(asked, kit.world(pods=(kit.pod(),), jobs=kit.job_of(view), waits={"cancel": 35.0}), kit.at(60))
    assert late.end_pods == (END,)
    once = kit.pod(deadline_seconds=1)
    assert (
        plan(asked, kit.world(pods=(once,), jobs=kit.job_of(view), waits={"cancel": 40.0}), kit.at(61)).end_pods == ()
    )
    gone = executor(kit.ended("", 143), phase="Failed", reason="DeadlineExceeded")
    over = plan(asked, kit.world(pods=(gone,), jobs=kit.job_of(view)), kit.at(70))
    assert kit.verdict(over) == ("False", "Cancelled")


def test_cancel_before_the_executor_began_ends_at_once() -> None:
    view = kit.started()
    asked = kit.run_view({**kit.raw_run({"cancel": True}), "status": dict(view.status)})
    done = plan(asked, kit.world(pods=(kit.starting(),), jobs=kit.job_of(view)), kit.at(5))
    assert kit.verdict(done) == ("False", "Cancelled")


@pytest.mark.parametrize(
    "policies",
    [
        (),
        (kit.policy(), {"metadata": {"name": "open"}, "spec": {"podSelector": {}, "ingress": [{}]}}),
        (kit.policy(egress=[{}]),),
    ],
    ids=["deleted", "a second one", "widened"],
)
def test_a_policy_that_opens_a_running_pod_ends_the_run(policies: tuple[dict[str, Any], ...]) -> None:
    calm = look(kit.pod())
    assert calm.end_pods == ()
    done = look(kit.pod(), policies=policies)
    assert kit.verdict(done) == ("False", "IsolationNotEnforced")
    assert kit.condition(done, "IsolationVerified")["status"] == "False"
    assert done.end_pods == (END,)


def test_a_person_is_waited_for_and_then_not() -> None:
    view = kit.after(kit.started(), look(kit.pod()))
    asking = kit.run_view({**kit.raw_run(), "status": {**view.status, "awaiting": {"questions": 1, "approvals": 0}}})
    world = kit.world(pods=(kit.pod(),), jobs=kit.job_of(view))
    waits = plan(asking, world, kit.at(20))
    assert (waits.status or {})["phase"] == "AwaitingHuman"
    assert kit.condition(waits, "AwaitingHuman")["reason"] == "QuestionOpen"
    answered = kit.run_view(
        {**kit.raw_run(), "status": {**view.status, **(waits.status or {}), "awaiting": {"questions": 0}}}
    )
    assert (plan(answered, world, kit.at(30)).status or {})["phase"] == "Running"


def test_a_dead_node_is_given_up() -> None:
    stuck = kit.pod(deleting=kit.stamp(kit.at(300)), disruption="DeletionByTaintManager")
    assert kit.verdict(look(stuck, seconds=310))[0] == "Unknown"
    assert kit.verdict(look(stuck, seconds=400, waits={"lost": 60.0})) == ("False", "NodeLost")


STOPS: list[tuple[dict[str, Any], str]] = [
    ({"disruption": "EvictionByEvictionAPI", "deleting": kit.stamp(kit.at(20))}, "Evicted"),
    ({"disruption": "PreemptionByScheduler"}, "Evicted"),
    ({"phase": "Failed", "reason": "Evicted", "message": "memory pressure"}, "Evicted"),
    ({"disruption": "DeletionByTaintManager"}, "NodeLost"),
    ({"phase": "Failed", "reason": "DeadlineExceeded"}, "DeadlineExceeded"),
    ({"deleting": kit.stamp(kit.at(20))}, "ExecutorLost"),
    ({}, "ExecutorLost"),
]


@pytest.mark.parametrize("said", ["", "Cancelled", "ExecutorFailed"])
@pytest.mark.parametrize(("changes", "reason"), STOPS)
def test_an_executor_told_to_stop_ends_by_what_happened_to_its_pod(
    changes: dict[str, Any], reason: str, said: str
) -> None:
    """Nobody cancelled, whatever the executor makes of its signal; and what has begun is not run again."""
    message = kit.executor_says("failed", errorKind="interrupted", reason=said, message="told to stop")
    pod = replace(kit.finished_pod(message), **changes)
    done = look(pod, seconds=30)
    assert kit.verdict(done) == ("False", reason)
    assert not done.create
    started = kit.started()
    view = kit.run_view({**kit.raw_run({"cancel": True}), "status": dict(started.status)})
    world = kit.world(pods=(pod,), jobs=kit.job_of(view))
    assert kit.verdict(plan(view, world, kit.at(30))) == ("False", "Cancelled"), "control: somebody did"


def test_a_disruption_changes_no_other_last_word() -> None:
    for message, verdict in (
        (kit.executor_says(), ("True", "Completed")),
        (kit.executor_says("cancelled"), ("False", "Cancelled")),
        (kit.executor_says("failed", errorKind="tool_denied"), ("False", "PolicyDenied")),
    ):
        pod = kit.finished_pod(message, disruption="EvictionByEvictionAPI")
        assert kit.verdict(look(pod, seconds=30)) == verdict


def opener(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "opener"}, "spec": {"podSelector": {"matchLabels": labels}, "egress": [{}]}}


def test_a_run_is_ended_by_a_policy_that_selects_a_label_only_the_pod_has() -> None:
    """The Job controller, a webhook or a person put it there; the plan of the pod does not tell of it."""
    pod = kit.pod()
    for key in ("app", "controller-uid", "batch.kubernetes.io/controller-uid"):
        policies = (kit.policy(), opener(**{key: "u"}))
        assert kit.condition(look(pod, policies=policies), "Succeeded")["status"] == "Unknown", "control"
        labelled = replace(pod, labels={**pod.labels, key: "u"})
        done = look(labelled, policies=policies)
        assert kit.verdict(done) == ("False", "IsolationNotEnforced")
        assert "'opener'" in kit.condition(done, "Succeeded")["message"]
        assert done.end_pods == (END,)


def test_a_pod_the_static_policy_no_longer_selects_ends_its_run() -> None:
    assert kit.verdict(look(replace(kit.pod(), labels={}))) == ("False", "IsolationNotEnforced")


def test_while_there_is_no_pod_a_policy_for_its_job_is_enough() -> None:
    job = f"fix-{kit.UID}-a1"
    for labels, verdict in (
        ({"job-name": job}, "False"),
        ({"controller-uid": "u"}, "False"),
        ({"job-name": "another"}, "Unknown"),
        ({"app": "web"}, "Unknown"),
    ):
        view = kit.started()
        world = kit.world(jobs=kit.job_of(view), policies=(kit.policy(), opener(**labels)))
        after = kit.after(view, plan(view, world, kit.at(3)))
        assert after.conditions["Succeeded"]["status"] == verdict, labels
