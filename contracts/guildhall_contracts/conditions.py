"""Condition types, the closed set of reasons, and the phase people see. `docs/status.md` explains each to a user."""

from typing import Final, Literal

from pydantic import Field

from guildhall_contracts import limits
from guildhall_contracts.base import Record

ConditionType = Literal[
    "Accepted",
    "Queued",
    "WorkspaceReady",
    "IsolationVerified",
    "Running",
    "AwaitingHuman",
    "Delivered",
    "Sealed",
    "Succeeded",
]
Phase = Literal["Pending", "Queued", "Preparing", "Running", "AwaitingHuman", "Succeeded", "Failed", "Cancelled"]

Reason = Literal[
    "Pending",  # nothing decided yet
    "Accepted",
    "SpecInvalid",  # the Run asks for something that does not exist or is not allowed here; the message names the field
    "GuildInvalid",  # the Guild breaks a rule; the message names role and field
    "GuildNotFound",
    "GuildNotAccepted",
    "Suspended",
    "ConcurrencyLimit",  # the namespace runs maxConcurrentRuns already
    "WorkspaceBusy",  # another Run holds the claim
    "QuotaExceeded",  # the namespace quota admits no pod now
    "Unschedulable",
    "ImagePullFailed",
    "MountFailed",  # a ConfigMap, Secret or claim the pod mounts is missing
    "PolicyMissing",  # the namespace lacks the static NetworkPolicy
    "Preparing",
    "Fetching",  # the fetcher is getting the repository
    "WorkspaceReady",
    "WorkspaceFailed",
    "SourceTooLarge",
    "Verified",
    "NotVerified",
    "IsolationNotEnforced",
    "IsolationNotRequired",  # the platform team switched the requirement off
    "Started",
    "NotStarted",
    "Ended",
    "QuestionOpen",
    "ApprovalOpen",
    "NothingOpen",
    "Sealed",
    "SealTimeout",  # the api did not store the last event in time; the journal may hold more
    "Completed",
    "BudgetExceeded",
    "DeadlineExceeded",
    "PolicyDenied",
    "ApprovalExpired",
    "ProviderFailed",  # the model provider stayed unavailable or refused
    "ContextOverflow",
    "OOMKilled",
    "Evicted",
    "NodeLost",
    "ExecutorLost",  # the executor ended without its termination message
    "ExecutorFailed",
    "Cancelled",
    "Deleted",
    "Internal",
    "Delivering",  # the publisher is pushing the branch
    "Pushed",  # the branch is there
    "NothingToDeliver",  # the Run changed nothing
    "NotSucceeded",  # only a Run that succeeded is published
    "NotWhole",  # the patch leaves out content
    "RunsUnasked",  # the patch touches files that run by themselves, and the Run does not allow it
    "BranchExists",  # the branch is there and holds something else
    "DeliveryFailed",  # nothing was pushed; the message says why
]

RETRYABLE_REASONS: Final = frozenset({"Evicted", "NodeLost", "ImagePullFailed"})
"""Infrastructure causes: a new attempt may follow. Nothing an agent did is ever run again silently."""

ERROR_KIND_REASONS: Final[dict[str, Reason]] = {
    "llm_unavailable": "ProviderFailed",
    "llm_refused": "ProviderFailed",
    "context_overflow": "ContextOverflow",
    "budget_exhausted": "BudgetExceeded",
    "tool_denied": "PolicyDenied",
    "workshop_lost": "WorkspaceFailed",
    "deadline": "DeadlineExceeded",
    "interrupted": "Cancelled",
    "guild_invalid": "GuildInvalid",
    "internal": "Internal",
}


class Condition(Record):
    """A Kubernetes condition; the list is a map keyed by `type`."""

    type: ConditionType
    status: Literal["True", "False", "Unknown"]
    reason: Reason
    message: str = Field("", max_length=limits.STATUS_MESSAGE_MAX_CHARS)
    observed_generation: int = Field(0, ge=0)
    last_transition_time: str = Field(max_length=32)


def phase_of(conditions: list[Condition], *, suspended: bool = False) -> Phase:
    """The one word for people, derived from conditions alone."""
    by_type = {condition.type: condition for condition in conditions}

    def is_true(name: ConditionType) -> bool:
        return name in by_type and by_type[name].status == "True"

    done = by_type.get("Succeeded")
    if done is not None and done.status != "Unknown":
        if done.status == "True":
            return "Succeeded"
        return "Cancelled" if done.reason == "Cancelled" else "Failed"
    if is_true("AwaitingHuman"):
        return "AwaitingHuman"
    if is_true("Running"):
        return "Running"
    if suspended or is_true("Queued"):
        return "Queued"
    return "Preparing" if is_true("Accepted") else "Pending"
