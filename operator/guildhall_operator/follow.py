"""A Run that has a Job: what its pod proves, why it stops, and how it ends. Pure."""

from typing import Final

from guildhall_contracts.gate import PrepareMessage, TargetEvidence
from guildhall_contracts.limits import WORKSHOP_RESTARTS_MAX_COUNT
from guildhall_contracts.snapshot import FETCH_LABEL

from guildhall_operator import names
from guildhall_operator.actions import EndPod
from guildhall_operator.admit import isolation_verdict
from guildhall_operator.again import close_attempt, delete_job, why_not_again
from guildhall_operator.decision import Decision
from guildhall_operator.outcome import (
    STOP_SECONDS,
    Asked,
    Outcome,
    executor_began,
    lost,
    outcome,
    prepare_message,
    vanished,
)
from guildhall_operator.records import JobRecord, Json, PodRecord, first_pod, mapping, number
from guildhall_operator.sources import source_text
from guildhall_operator.stalls import Stall, stall
from guildhall_operator.status import seconds_since

COALESCE_SECONDS: Final = 2.0  # prepare's proof and the executor's start are one status write where they are close
CANARY_SLACK_SECONDS: Final = 10.0
LOST_JOB_SECONDS: Final = 5.0
VERDICT_SECONDS: Final = 5.0  # a pod may be gone before the Job says that it was evicted


def current_pod(decision: Decision) -> PodRecord | None:
    """The pod of the current attempt: the recorded one, else the first seen."""
    attempt, pods = decision.draft.attempt, decision.observed.pods
    recorded = attempt.get("podUid")
    if recorded:
        return next((pod for pod in pods if pod.uid == recorded and pod.attempt == attempt.get("number")), None)
    return first_pod(pods, number(attempt.get("number")))


def current_job(decision: Decision) -> JobRecord | None:
    return decision.observed.jobs.get(str(decision.draft.attempt.get("job")))


def end_pod(decision: Decision, pod: PodRecord | None) -> None:
    """Stops a pod without losing its log; once is enough."""
    if pod is not None and not pod.ended and not pod.deleting and pod.deadline_seconds != STOP_SECONDS:
        decision.end_pods.append(EndPod(pod.namespace, pod.name))


def give_up(decision: Decision, pod: PodRecord | None, end: Outcome) -> None:
    """Ends the attempt, and the Run with it unless another attempt may follow."""
    if end.reason == "IsolationNotEnforced":
        decision.draft.set("IsolationVerified", "False", "IsolationNotEnforced", end.message)
    objection = why_not_again(decision, pod, end.reason) if end.retry else ""
    if objection is None:
        close_attempt(decision, end.reason, end.message)
        return
    decision.draft.end(end.status, end.reason, f"{end.message}; {objection}" if objection else end.message, end.at)
    end_pod_unless_over(decision, pod)


def end_pod_unless_over(decision: Decision, pod: PodRecord | None) -> None:
    """An executor that ended lets its pod end by itself; everything else is stopped."""
    if pod is not None and pod.container("executor").state == "terminated":
        return
    if executor_began(pod):
        end_pod(decision, pod)


def _canary_proven(decision: Decision, pod: PodRecord) -> bool:
    """Whether the canary answered the operator while `prepare` was refused by it."""
    age = decision.observed.canary_age_seconds
    since = seconds_since(pod.container("prepare").started_at, decision.now)
    return age is not None and since is not None and age <= since + CANARY_SLACK_SECONDS


def _workspace_text(message: PrepareMessage, source: Json) -> str:
    found = message.workspace
    sizes = f"{found.files} files, {found.content_bytes} bytes" if found else ""
    return "; ".join(part for part in (sizes, source_text(source)) if part)


def _proof_text(message: PrepareMessage) -> str:
    must = [item for item in message.targets if item.required]
    denied = [f"{item.name} {item.last} x{item.denied_in_a_row}" for item in must if item.last != "answered"]
    open_ = [item.name for item in must if item.last == "answered"]  # only where isolation is not required
    shown = [f"{item.name} {_seen(item)}" for item in message.targets if not item.required]
    parts = (("answered: ", open_), ("denied: ", denied), ("reported: ", shown))
    return "; ".join(word + ", ".join(found) for word, found in parts if found) or "no target was tried"


def _seen(item: TargetEvidence) -> str:
    """What a target did that is only reported. One that says nothing in its short while is not waited for."""
    return item.last if item.attempts else "said nothing"


def _proven(decision: Decision, pod: PodRecord) -> None:
    """Takes `prepare`'s evidence into the status."""
    message = prepare_message(pod)
    draft = decision.draft
    if message is None or message.outcome != "passed" or draft.get("IsolationVerified").get("status") != "Unknown":
        return
    if not executor_began(pod) and not decision.waited("prepared", COALESCE_SECONDS):
        return
    draft.set("WorkspaceReady", "True", "WorkspaceReady", _workspace_text(message, mapping(draft.fields.get("source"))))
    if not decision.observed.config.isolation.require:
        what = "isolation.require is false: " + _proof_text(message)
        draft.set("IsolationVerified", "False", "IsolationNotRequired", what)
    elif _canary_proven(decision, pod):
        draft.set("IsolationVerified", "True", "Verified", _proof_text(message))
    elif decision.waited("canary", decision.observed.config.waits.canary_seconds):
        what = "the canary did not answer the operator either, so its silence in the pod proves nothing"
        draft.set("IsolationVerified", "False", "NotVerified", what)
        give_up(decision, pod, Outcome("False", "NotVerified", what))


def _progress(decision: Decision, pod: PodRecord) -> None:
    draft, attempt = decision.draft, decision.draft.attempt
    if attempt.get("podUid") != pod.uid:
        attempt["pod"], attempt["podUid"] = pod.name, pod.uid
    _proven(decision, pod)
    executor = pod.container("executor")
    if executor_began(pod):
        if pod.node:
            attempt["node"] = pod.node
        attempt["startTime"] = executor.started_at
        draft.fields.setdefault("startTime", executor.started_at)
        draft.set("Running", "True", "Started", "")
        if draft.is_true("Queued"):
            draft.set("Queued", "False", "Started", "")


def _awaiting(decision: Decision) -> None:
    found = mapping(decision.run.status.get("awaiting"))
    approvals, questions = number(found.get("approvals")), number(found.get("questions"))
    if approvals > 0:
        decision.draft.set("AwaitingHuman", "True", "ApprovalOpen", f"{approvals} approvals wait for a person")
    elif questions > 0:
        decision.draft.set("AwaitingHuman", "True", "QuestionOpen", f"{questions} questions wait for a person")
    elif decision.draft.get("AwaitingHuman"):
        decision.draft.set("AwaitingHuman", "False", "NothingOpen", "")


def _stalled(decision: Decision, pod: PodRecord | None, found: Stall) -> None:
    if found.seconds is not None and decision.waited(f"stall/{found.reason}", found.seconds):
        give_up(decision, pod, Outcome("False", found.reason, found.message, retry=found.retry))
    elif found.queued:
        decision.hold(found.reason, found.message)
    elif not decision.waited(f"shown/{found.reason}", found.shown_seconds):
        return
    else:
        _no_longer_queued(decision)
        decision.draft.set("Running", "False", found.reason, found.message)


def _no_longer_queued(decision: Decision) -> None:
    if decision.draft.is_true("Queued"):
        decision.draft.set("Queued", "False", "Preparing", "")


def _asked(decision: Decision) -> Asked:
    """What the end of the pod is to be read against. A stop asked for stands, though it was taken back since."""
    job = current_job(decision)
    taken = job is not None and job.suspended and bool(decision.draft.attempt.get("podUid"))
    return Asked(decision.run.cancelled, taken or decision.draft.attempt.get("reason") == "Suspended")


def _cancel(decision: Decision, pod: PodRecord | None) -> bool:
    """True where the Run ended here; a running executor is told by the gateway first."""
    if not executor_began(pod):
        decision.draft.end("False", "Cancelled", "cancelled before the executor started")
        return True
    if decision.waited("cancel", decision.observed.config.waits.cancel_grace_seconds):
        end_pod(decision, pod)
    return False


def _suspend(decision: Decision, pod: PodRecord | None) -> bool:
    """True where the attempt or the Run ended here: what can go on later is stopped, what cannot ends and says so."""
    objection = why_not_again(decision, pod, "Suspended")
    if objection is not None:
        decision.draft.end("False", "Suspended", f"suspended after it had started; {objection}")
        end_pod_unless_over(decision, pod)
        return True
    if not executor_began(pod):
        close_attempt(decision, "Suspended", "suspended before the executor started")
        return True
    decision.draft.attempt["reason"] = "Suspended"
    end_pod(decision, pod)
    return False


def _stop_asked(decision: Decision, pod: PodRecord | None) -> bool:
    """Cancel and late suspend. True where nothing more is to be decided about the attempt."""
    if decision.run.cancelled:
        return _cancel(decision, pod)
    if decision.run.suspended or decision.draft.attempt.get("reason") == "Suspended":
        return _suspend(decision, pod)
    return False


def _opened(decision: Decision, pod: PodRecord | None) -> bool:
    """A policy that came, or went, or a label that lets one select the pod, while the Run was on."""
    config = decision.observed.config
    verdict = isolation_verdict(decision, pod)
    if verdict.kind == "closed" or not config.isolation.require:
        return False
    decision.draft.set("IsolationVerified", "False", "IsolationNotEnforced", verdict.message)
    decision.draft.end("False", "IsolationNotEnforced", verdict.message)
    end_pod_unless_over(decision, pod)
    return True


def _pod_gone(decision: Decision) -> None:
    """The recorded pod is no more: the Job tells a moment later why."""
    job, asked = current_job(decision), _asked(decision)
    known = job is None or job.deleting or job.failed or asked.cancel or asked.suspend
    if known or decision.waited("verdict", VERDICT_SECONDS):
        give_up(decision, None, vanished(job.failed if job else "", asked))


def _without_pod(decision: Decision) -> None:
    """No pod: not made yet, not admitted, or gone."""
    attempt, job = decision.draft.attempt, current_job(decision)
    if attempt.get("podUid"):
        _pod_gone(decision)
    elif job is not None and job.failed:
        give_up(decision, None, vanished(job.failed, _asked(decision)))
    elif job is None and decision.waited("job", LOST_JOB_SECONDS):
        what = f"Job '{attempt.get('job')}' was deleted before it made a pod"
        give_up(decision, None, Outcome("False", "Deleted", what))
    elif not _stop_asked(decision, None) and not _opened(decision, None):
        found = stall(None, job, decision.observed.events, decision.observed.config.waits)
        if found is not None:
            _stalled(decision, None, found)
        else:
            _no_longer_queued(decision)


def _drop_fetch_jobs(decision: Decision) -> None:
    """What a fetch had to say is in the status. Gone as its pod ends, its Job costs its controller three writes less;
    gone before that, the kubelet and the collector would write more."""
    run, observed = decision.run, decision.observed
    for pod in observed.pods:
        if FETCH_LABEL in pod.labels and pod.ended:
            delete_job(decision, observed.jobs.get(names.fetch_name(run.name, run.uid, pod.attempt)))


def follow(decision: Decision) -> None:
    """The stage between the Job and the end."""
    _drop_fetch_jobs(decision)
    pod = current_pod(decision)
    if pod is None:
        _without_pod(decision)
        return
    _progress(decision, pod)
    end = outcome(pod, decision.run, _asked(decision))
    if end is not None:
        give_up(decision, pod, end)
        return
    if decision.draft.finished or _stop_asked(decision, pod) or _opened(decision, pod):
        return
    if pod.deleting and pod.disruption and decision.waited("lost", decision.observed.config.waits.node_lost_seconds):
        give_up(decision, pod, lost(pod))
        return
    restarts = pod.container("workshop").restarts
    if restarts > WORKSHOP_RESTARTS_MAX_COUNT:
        what = f"the workshop was restarted {restarts} times"
        oom = "; its memory ran out: give the Run more memory" if pod.container("workshop").oom_killed_before else ""
        give_up(decision, pod, Outcome("False", "WorkspaceFailed", what + oom))
        return
    _awaiting(decision)
    found = (
        None
        if executor_began(pod)
        else stall(pod, current_job(decision), decision.observed.events, decision.observed.config.waits)
    )
    if found is not None:
        _stalled(decision, pod, found)
    elif not executor_began(pod):
        _no_longer_queued(decision)
        if decision.draft.get("Running").get("reason") not in {None, "NotStarted"}:
            decision.draft.set("Running", "False", "NotStarted", "")
