"""Between two attempts: closing one, and whether and when the next may begin. Pure.

Guards against two pods on one journal and one workspace, and against running an agent again that cannot go on where it
stopped.
"""

from typing import Final

from guildhall_contracts.conditions import RETRYABLE_REASONS, Reason
from guildhall_contracts.limits import ATTEMPTS_MAX_COUNT
from guildhall_contracts.run import RunSpec
from guildhall_contracts.snapshot import PUBLISH_LABEL, RESEND_LABEL

from guildhall_operator.actions import Deletion
from guildhall_operator.admit import Refusal, may_begin, parse_spec
from guildhall_operator.decision import Decision
from guildhall_operator.manifests.volumes import keeps_workspace
from guildhall_operator.outcome import executor_began
from guildhall_operator.records import JobRecord, PodRecord
from guildhall_operator.start import is_made, next_attempt, record_attempt

LOST_WITH_ITS_POD: Final = (
    "its workspace was a folder of the pod and is gone with it; a Run goes on in another pod where workspace.storage "
    "or workspace.claim keeps its files"
)
HELD: Final = "spec.suspend is true; set it to false and the Run goes on where it stopped"


def spec_of(decision: Decision) -> RunSpec | Refusal:
    """The spec of a Run that has started; its task is no longer in memory and is not needed."""
    return parse_spec({**decision.run.spec, "task": "-"})


def began(decision: Decision, pod: PodRecord | None) -> bool:
    """Whether any attempt's executor ran: there is something on the journal to go on from, and to lose."""
    return executor_began(pod) or bool(decision.draft.fields.get("startTime"))


def why_not_again(decision: Decision, pod: PodRecord | None, reason: Reason) -> str | None:
    """None where another attempt may follow one that ended for `reason`; else why not, empty where it is plain."""
    attempts, config = decision.draft.fields["attempts"], decision.observed.config
    if decision.run.cancelled or reason not in RETRYABLE_REASONS | {"Suspended"}:
        return ""
    spec = spec_of(decision)
    if isinstance(spec, Refusal):
        return spec.message
    if began(decision, pod) and not keeps_workspace(spec):
        return LOST_WITH_ITS_POD
    if len(attempts) >= ATTEMPTS_MAX_COUNT:
        return f"it had {ATTEMPTS_MAX_COUNT} attempts, the most a Run may have"
    failed = 1 + sum(1 for item in attempts[:-1] if item.get("reason") != "Suspended")
    if reason != "Suspended" and failed >= config.attempts_max_count:
        return f"it had {failed} attempts that failed so (maxAttempts {config.attempts_max_count})"
    return None


def delete_job(decision: Decision, job: JobRecord | None) -> None:
    if job is not None and not job.deleting:
        decision.deletions.append(Deletion("Job", job.namespace, job.name, job.uid))


def close_attempt(decision: Decision, reason: Reason, message: str) -> None:
    """The attempt is over and another may follow. Its pod goes, unless it ended by itself: then its log may be read."""
    draft = decision.draft
    draft.attempt["reason"], draft.attempt["endTime"] = reason, draft.now
    if draft.is_true("AwaitingHuman"):
        draft.set("AwaitingHuman", "False", "NothingOpen", "")
    draft.set("Running", "False", reason, f"attempt {len(draft.fields['attempts'])}: {message}")
    if living(decision) or reason != "Suspended":
        delete_job(decision, decision.observed.jobs.get(str(draft.attempt.get("job"))))
    decision.requeue(0.2)


def living(decision: Decision) -> PodRecord | None:
    """A pod of the Run that can still write to its volumes."""
    readers = {RESEND_LABEL, PUBLISH_LABEL}
    mine = (pod for pod in decision.observed.pods if not readers.intersection(pod.labels))
    return next((pod for pod in mine if not pod.ended), None)


def _old_pod_gone(decision: Decision) -> bool:
    """Waits until no pod of an earlier attempt can write; one on a dead node is waited for within bounds."""
    pod, attempt = living(decision), decision.draft.attempt
    if pod is None:
        return True
    for job in decision.observed.jobs.values():
        delete_job(decision, job)
    limit = decision.observed.config.waits.replace_seconds
    if decision.waited("replace", limit):
        reason: Reason = attempt.get("reason", "NodeLost")
        what = f"pod '{pod.name}' on node '{pod.node or 'unknown'}' was still there {limit} s after its attempt ended"
        decision.draft.end("False", reason, f"{what}; no second pod may use its volumes: remove that node or pod")
    return False


def again(decision: Decision) -> None:
    """The stage after an attempt that another may follow."""
    draft = decision.draft
    if is_made(decision):
        record_attempt(decision)
        return
    if decision.run.cancelled:
        draft.end("False", "Cancelled", "cancelled between two attempts")
        return
    spec = spec_of(decision)
    if isinstance(spec, Refusal):
        draft.end("False", spec.reason, spec.message)
        return
    if not _old_pod_gone(decision):
        return
    if decision.run.suspended:
        decision.hold("Suspended", HELD, look_again_seconds=600)
        return
    if not may_begin(decision, spec):
        return
    for job in decision.observed.jobs.values():
        delete_job(decision, job)
    next_attempt(decision, spec)
