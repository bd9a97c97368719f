"""When a workshop was lost too often, or for too long. Guards against a Run that never ends, or ends during a restart.

A workshop that answered and then did not is lost: it is a new one that answers next. A call that nobody answered lost
nothing; the kubelet lets a container wait longer before each restart than a call waits for it.
"""

from guildhall_contracts import limits
from guildhall_contracts.base import OpId
from guildhall_contracts.errors import error_info

from guildhall_executor import ending
from guildhall_executor.draft import Draft
from guildhall_executor.tools.result import ToolResult


def judge(draft: Draft, tool_op: OpId, result: ToolResult, away_milliseconds: int | None) -> None:
    """Ends the Run `WorkspaceFailed` if the result of this call says that the workshop is lost for good."""
    if result.error_code != "workshop_lost":
        return
    if away_milliseconds is None:
        _count(draft, tool_op, result)
    elif away_milliseconds > limits.WORKSHOP_AWAY_MAX_SECONDS * 1_000:
        _end(draft, f"the workshop has not answered for {away_milliseconds // 1_000} seconds", result)


def _count(draft: Draft, tool_op: OpId, result: ToolResult) -> None:
    """Tools that were at work together lose the workshop together: that is one loss."""
    if int(tool_op[1:]) <= draft.state.lost_at:
        return
    losses = draft.state.workshop_losses + 1
    draft.change(workshop_losses=losses, lost_at=draft.seq)
    if losses > limits.WORKSHOP_RESTARTS_MAX_COUNT:
        _end(draft, f"the workshop was lost {losses} times", result)


def _end(draft: Draft, what: str, result: ToolResult) -> None:
    message = f"{what}; the last time: {result.shown[:1_000]}"
    ending.fail(draft, error_info("workshop_lost", message, retryable=False), "WorkspaceFailed")
