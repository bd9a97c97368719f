"""What people do to a running Run: cancel and abort end it, a redirect enters the active role's context."""

from guildhall_contracts import limits
from guildhall_contracts.base import OpId, cut, one_line
from guildhall_contracts.events import InterruptAnswered, InterruptReceived, Outcome

from guildhall_executor import ending
from guildhall_executor.draft import TASK_OP, Draft
from guildhall_executor.inputs import Interrupted

_NO_INQUIRY = "This version of the executor cannot answer inquiries; the Run goes on."


def interrupt(draft: Draft, item: Interrupted) -> None:
    """Delivered at least once, acted upon once."""
    if item.item in draft.state.items_seen or draft.state.ending is not None:
        return
    draft.change(items_seen=draft.state.items_seen | {item.item})
    if item.intent == "cancel":
        ending.cancel(draft, item.author)
        return
    op = _received(draft, item)
    if item.intent == "abort":
        _answered(draft, op, "success")
        ending.cancel(draft, item.author)
    elif item.intent == "redirect":
        draft.change(redirects=(*draft.state.redirects, item.message)[-8:])
        _answered(draft, op, "success")
    else:
        _answered(draft, op, "error", _NO_INQUIRY)


def _received(draft: Draft, item: Interrupted) -> OpId:
    active = draft.state.active
    role = active.role if active else draft.state.roster.snapshot.guild.entry_role
    op = draft.next_op
    draft.emit(
        InterruptReceived(
            **draft.head(),
            op=op,
            parent=TASK_OP,
            role=role,
            source="human",
            destination=f"role:{role}",
            title=one_line(item.message or item.intent, limits.EVENT_TITLE_MAX_CHARS),
            intervention=item.item,
            intent=item.intent,
            message=cut(item.message, limits.EVENT_MESSAGE_MAX_CHARS),
            author=item.author,
        )
    )
    return op


def _answered(draft: Draft, op: OpId, outcome: Outcome, text: str = "") -> None:
    draft.emit(InterruptAnswered(**draft.head(), op=op, outcome=outcome, text=text))
