"""What people do to a running Run: cancel and abort end it, a redirect enters a role's context, an inquiry is answered.

Each is delivered at least once and takes effect once, across restarts of any piece.
"""

from guildhall_contracts import limits
from guildhall_contracts.base import OpId, cut, one_line
from guildhall_contracts.events import InterruptAnswered, InterruptReceived, Outcome

from guildhall_executor import ending, inquiries, prompt
from guildhall_executor.draft import TASK_OP, Draft
from guildhall_executor.inputs import Interrupted
from guildhall_executor.state import Note

_FULL = f"{limits.NOTES_PER_ROLE_MAX_COUNT} messages wait already for this role to read them; send it again later."


def interrupt(draft: Draft, item: Interrupted) -> None:
    """Delivered at least once, acted upon once."""
    if item.intent == "cancel":
        ending.cancel(draft, item.author)
        return
    if draft.state.ending is not None or not draft.first_time(item.item):
        return
    op = _received(draft, item)
    if item.intent == "abort":
        answered(draft, op, "success")
        ending.cancel(draft, item.author)
    elif item.intent == "redirect":
        _redirect(draft, op, item.message)
    else:
        inquiries.begin(draft, op, item.message)


def _redirect(draft: Draft, op: OpId, message: str) -> None:
    """One marked message for the active role; it is answered when the role is shown it."""
    active = draft.state.active
    if active is None or len(active.notes) >= limits.NOTES_PER_ROLE_MAX_COUNT:
        answered(draft, op, "error", _FULL)
        return
    draft.change_role(active.op, notes=(*active.notes, Note(prompt.redirect_message(message), op)))


def hand_over(draft: Draft, op: OpId) -> None:
    """Shows a role what people said since its last model call."""
    notes = draft.role(op).notes
    if not notes:
        return
    draft.say(op, *(note.message for note in notes))
    draft.change_role(op, notes=())
    for note in notes:
        if note.op:
            answered(draft, note.op, "success")


def _received(draft: Draft, item: Interrupted) -> OpId:
    active = draft.state.active
    role = active.role if active else draft.state.roster.snapshot.guild.entry_role
    op = draft.next_op
    draft.emit(
        InterruptReceived(
            **draft.head(),
            op=op,
            parent=active.op if active else TASK_OP,
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


def answered(draft: Draft, op: OpId, outcome: Outcome, text: str = "") -> None:
    """Ends an interrupt."""
    draft.emit(InterruptAnswered(**draft.head(), op=op, outcome=outcome, text=text))
