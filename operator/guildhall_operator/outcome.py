"""How a pod ended, told from its record and the two termination messages. Pure.

Guards against calling a Run a success, or blaming the agent, for what the cluster did.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

from guildhall_contracts.conditions import ERROR_KIND_REASONS, Reason
from guildhall_contracts.gate import ExecutorMessage, PrepareMessage, ReprintMessage, decode_message
from guildhall_contracts.snapshot import RESEND_LABEL

from guildhall_operator.records import ContainerRecord, PodRecord
from guildhall_operator.run_view import RunView

EXECUTOR_MAY_SAY: Final[frozenset[str]] = frozenset(
    {
        "GuildInvalid",
        "WorkspaceFailed",
        "SourceTooLarge",
        "IsolationNotEnforced",
        "BudgetExceeded",
        "DeadlineExceeded",
        "PolicyDenied",
        "ApprovalExpired",
        "ProviderFailed",
        "ContextOverflow",
        "ExecutorFailed",
        "Cancelled",
        "Internal",
    }
)
_PREPARE_REASONS: Final[dict[str, Reason]] = {
    "not_enforced": "IsolationNotEnforced",
    "gateway_unreachable": "NotVerified",
    "workspace_failed": "WorkspaceFailed",
    "source_too_large": "SourceTooLarge",
    "internal": "Internal",
}
_DISRUPTIONS: Final[dict[str, Reason]] = {
    "EvictionByEvictionAPI": "Evicted",
    "PreemptionByScheduler": "Evicted",
    "TerminationByKubelet": "Evicted",
    "DeletionByTaintManager": "NodeLost",
    "DeletionByPodGC": "NodeLost",
}
STOP_SECONDS: Final = 1  # the deadline a pod is given to end now and keep its log
_SELF_INFLICTED: Final = ("ephemeral local storage", "local ephemeral storage", "usage of emptydir")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one attempt. `retry` only where something outside the pod stopped it: another attempt may go on."""

    status: Literal["True", "False"]
    reason: Reason
    message: str
    at: str = ""
    retry: bool = False


def executor_began(pod: PodRecord | None) -> bool:
    """Whether the executor ran at all: from then on there is something to keep and nothing to run again."""
    return pod is not None and bool(pod.container("executor").started_at)


def prepare_message(pod: PodRecord) -> PrepareMessage | None:
    return decode_message(PrepareMessage, pod.container("prepare").message)


def executor_message(pod: PodRecord | None, run: RunView) -> ExecutorMessage | None:
    """The executor's last word, if it is about this Run and attempt."""
    if pod is None or pod.container("executor").state != "terminated":
        return None
    message = decode_message(ExecutorMessage, pod.container("executor").message)
    return message if message and (message.run, message.attempt) == (run.uid, pod.attempt) else None


def last_seq(pods: Iterable[PodRecord], pod: PodRecord | None, run: RunView) -> int | None:
    """The last event of the Run: as its executor said, else as the journal has it; None where nobody said."""
    said = executor_message(pod, run)
    if said is not None:
        return said.last_seq
    printed = (each for each in pods if RESEND_LABEL in each.labels)
    found = (decode_message(ReprintMessage, each.container("executor").message) for each in printed)
    return max((each.last_seq for each in found if each is not None and each.run == run.uid), default=None)


def _told_to_stop(message: ExecutorMessage) -> bool:
    return message.outcome == "failed" and message.error_kind == "interrupted"


def _said(message: ExecutorMessage, at: str) -> Outcome:
    if message.outcome == "succeeded":
        return Outcome("True", "Completed", message.message, at)
    if message.outcome == "cancelled":
        return Outcome("False", "Cancelled", message.message or "cancelled", at)
    if message.reason in EXECUTOR_MAY_SAY and message.reason in get_args(Reason):
        return Outcome("False", cast("Reason", message.reason), message.message, at)
    reason = ERROR_KIND_REASONS.get(message.error_kind or "", "ExecutorFailed")
    return Outcome("False", reason, message.message or f"the executor failed: {message.error_kind}", at)


def _disrupted(pod: PodRecord, at: str) -> Outcome | None:
    why = f"{pod.message or pod.disruption or pod.reason} (node {pod.node or 'unknown'})"
    reason: Reason | None = _DISRUPTIONS.get(pod.disruption)
    if pod.reason in {"Evicted", "Preempting", "Terminated", "NodeShutdown"}:
        reason = "Evicted"
    elif pod.reason == "NodeLost":
        reason = "NodeLost"
    if reason is None:
        return None
    own_doing = any(sign in pod.message.lower() for sign in _SELF_INFLICTED)
    hint = "; give the Run more ephemeralStorage" if own_doing else ""
    return Outcome("False", reason, f"the pod was removed: {why}{hint}", at, retry=not own_doing)


def _past_deadline(at: str) -> Outcome:
    return Outcome("False", "DeadlineExceeded", "the pod ran longer than budget.seconds and was stopped", at)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of the attempt before its pod ended: by a person, or by whoever suspended its Job."""

    cancel: bool = False
    suspend: bool = False


NOTHING: Final = Asked()


def suspended(at: str = "") -> Outcome:
    return Outcome("False", "Suspended", "suspended after it had started", at, retry=True)


def _stopped(pod: PodRecord, message: ExecutorMessage, at: str, asked: Asked) -> Outcome:
    """The end of an executor that was told to stop: a person did where one asked for it, else the pod says why."""
    if asked.cancel:
        return Outcome("False", "Cancelled", "cancelled; the executor was stopped", at)
    if asked.suspend:
        return suspended(at)
    if pod.reason == "DeadlineExceeded":
        return _past_deadline(at)
    disrupted = _disrupted(pod, at)
    if disrupted is not None:
        return disrupted
    what = "the pod was deleted while the Run was on" if pod.deleting else "the run pod was stopped from outside"
    return Outcome("False", "ExecutorLost", f"{what}; the executor's last word: {message.message or 'none'}", at)


def _died(pod: PodRecord, name: str, container: ContainerRecord, asked: Asked) -> Outcome:
    at = container.finished_at
    stopped = pod.reason == "DeadlineExceeded" or bool(pod.deleting)
    if asked.cancel and stopped:
        return Outcome("False", "Cancelled", "cancelled; the executor did not end by itself and was stopped", at)
    if asked.suspend and stopped:
        return suspended(at)
    if pod.reason == "DeadlineExceeded":
        return _past_deadline(at)
    disrupted = _disrupted(pod, at)
    if disrupted is not None:
        return disrupted
    if container.reason == "OOMKilled":
        owner = (
            "the platform team must raise executorResources.memory" if name == "executor" else "use a smaller source"
        )
        return Outcome("False", "OOMKilled", f"container '{name}' used more memory than its limit; {owner}", at)
    reason: Reason = "ExecutorLost" if name == "executor" else "Internal"
    code = f"exit code {container.exit_code}, {container.reason or 'no reason given'}"
    return Outcome("False", reason, f"container '{name}' ended without a word ({code}); see the pod's log", at)


def died(pod: PodRecord, name: str) -> Outcome:
    """The end of a container that left no word of its own."""
    return _died(pod, name, pod.container(name), NOTHING)


def stopped_to_replace(pod: PodRecord, name: str) -> Outcome | None:
    """The end of a pod that did not start and was told to end, by STOP_SECONDS, so that another takes its place."""
    if pod.reason != "DeadlineExceeded" or pod.deadline_seconds != STOP_SECONDS:
        return None
    what = f"container '{name}' did not start in time and was stopped"
    return Outcome("False", "ImagePullFailed", what, pod.container(name).finished_at, retry=True)


def _prepared(pod: PodRecord, asked: Asked) -> Outcome | None:
    """The end, where `prepare` did not let the pod go on."""
    container = pod.container("prepare")
    message = prepare_message(pod)
    if message is not None and message.outcome != "passed":
        return Outcome("False", _PREPARE_REASONS[message.outcome], message.message, container.finished_at)
    if container.exit_code != 0:
        return _died(pod, "prepare", container, asked)
    if message is None:
        what = "'prepare' ended without its evidence; its image does not fit this operator"
        return Outcome("False", "NotVerified", what, container.finished_at)
    return None


def outcome(pod: PodRecord, run: RunView, asked: Asked = NOTHING) -> Outcome | None:
    """The end of the attempt this pod made, or None while it can still go on."""
    executor = pod.container("executor")
    if executor.state == "terminated" and executor.started_at:
        message = executor_message(pod, run)
        if message is not None and _told_to_stop(message):
            return _stopped(pod, message, executor.finished_at, asked)
        if message is not None:
            return _said(message, executor.finished_at)
        return _died(pod, "executor", executor, asked)
    if pod.container("prepare").state == "terminated":
        refused = _prepared(pod, asked)
        if refused is not None:
            return refused
    if pod.ended:
        return _died(pod, "executor", executor, asked)
    return None


def lost(pod: PodRecord) -> Outcome:
    """The end of an attempt whose pod was told to go and does not."""
    return Outcome("False", "NodeLost", f"node '{pod.node or 'unknown'}' does not answer", retry=True)


def vanished(failed: str, asked: Asked = NOTHING) -> Outcome:
    """The end of an attempt whose pod is gone; `failed` is the Job's own message, or empty."""
    if asked.cancel:
        return Outcome("False", "Cancelled", "cancelled; its pod is gone")
    if asked.suspend:
        return suspended()
    if "DisruptionTarget" in failed:
        return Outcome("False", "Evicted", "the pod was evicted and is gone", retry=True)
    return Outcome("False", "ExecutorLost", f"the pod was deleted while the Run was on ({failed or 'no reason known'})")
