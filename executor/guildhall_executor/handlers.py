"""Roles that are woken when another one is in trouble: each looks, and may say one thing to it or end the Run.

The role in question asks its model nothing while it is looked at. How often that happens is bounded, so that a watcher
costs little; a watcher that fails lets the Run go on as if it had not been there.
"""

from guildhall_contracts import limits
from guildhall_contracts.base import OpId, one_line
from guildhall_contracts.events import InterruptTriggered, RoleFinished, RoleStarted

from guildhall_executor import ending, inspection, prompt, record
from guildhall_executor.draft import Draft
from guildhall_executor.emit import event_text
from guildhall_executor.state import Note, OpenCall, RoleRun
from guildhall_executor.tools.inspection import Inspection, TriggerInterrupt
from guildhall_executor.tools.result import ToolResult, block, failed
from guildhall_executor.trace import extended, traced, trouble

WHY = {
    "loop": "it makes the same call again and again",
    "stuck": "its calls have brought nothing new for a long time",
    "budget": "most of a budget of the Run is used",
    "error": "a role below it gave up",
}


def note_call(draft: Draft, op: OpId, asked: OpenCall, result: ToolResult) -> None:
    """Adds a call to its role's trace and wakes a handler if the trace says so."""
    call = traced(asked.call.name, asked.call.arguments, result.shown, result.error_code)
    trace = extended(draft.role(op).trace, call)
    draft.change_role(op, trace=trace)
    found = trouble(trace)
    if found is not None:
        wake(draft, op, found)


def wake(draft: Draft, op: OpId, event: str) -> None:
    """Wakes the handler of `event` for the role `op`, unless it is looked at already or was often enough."""
    seen = draft.role(op)
    handler = next(
        (one for one in draft.state.roster.snapshot.guild.roles if one.handler and one.handler.on == event), None
    )
    if handler is None or seen.watches or holds(draft, op):
        return
    if seen.woken >= limits.HANDLER_WAKES_PER_ROLE_MAX_COUNT or draft.state.wakes >= limits.HANDLER_WAKES_MAX_COUNT:
        return
    member = draft.state.roster.members[handler.name]
    begun = draft.next_op
    draft.emit(
        RoleStarted(
            **draft.head(),
            op=begun,
            parent=seen.op,
            role=handler.name,
            source=f"role:{seen.role}",
            destination=f"role:{handler.name}",
            title=one_line(f"{handler.label or handler.name}: {event}", limits.EVENT_TITLE_MAX_CHARS),
            brief=event_text(WHY[event]),
        )
    )
    draft.change_role(op, woken=seen.woken + 1)
    draft.change(wakes=draft.state.wakes + 1)
    history = (member.system, prompt.wake_message(seen.role, WHY[event]))
    draft.begin(RoleRun(handler.name, begun, history, member.tools, watches=op))


def holds(draft: Draft, op: OpId) -> bool:
    """Whether a handler looks at a role, which waits with its next model call until that is over."""
    return any(one.watches == op for one in draft.state.roles.values())


def close(draft: Draft, op: OpId, said: str, *, is_error: bool = False) -> None:
    """A handler is done; the role it looked at goes on."""
    ended = draft.end(op)
    draft.emit(
        RoleFinished(
            **draft.head(),
            op=op,
            role=ended.role,
            outcome="error" if is_error else "success",
            summary=event_text(said),
        )
    )
    if draft.is_at_work(ended.watches):
        draft.change_role(ended.watches, trace=())
        draft.wake(ended.watches)


def look(draft: Draft, op: OpId, asked: OpenCall, arguments: Inspection) -> ToolResult:
    """Answers an inspection call at once: nothing is waited for, nothing is changed."""
    invocation = draft.role(op)
    begun = record.started(draft, invocation, asked, arguments)
    seen = _seen(draft, invocation, arguments.role)
    at_work = ", ".join(sorted({one.role for one in draft.state.roles.values()}))
    result = (
        inspection.looked(seen, arguments)
        if seen is not None
        else failed("not_at_work", f"no role '{arguments.role}' is at work; at work are {at_work}")
    )
    record.finished(draft, begun, invocation.role, result)
    return result


def _seen(draft: Draft, invocation: RoleRun, role: str | None) -> RoleRun | None:
    """The role in question; by another name, the newest at work that has it."""
    watched = draft.state.roles.get(invocation.watches)
    if watched is not None and role in (None, watched.role):
        return watched
    return next((one for one in draft.state.from_leaves() if one.role == role and one.op != invocation.op), None)


def trigger(draft: Draft, op: OpId, asked: TriggerInterrupt) -> ToolResult:
    """The one thing a handler can do: a marked message to the role it was woken for, or the end of the Run."""
    invocation = draft.role(op)
    target = draft.state.roles.get(invocation.watches)
    if target is None:
        return failed("not_at_work", "the role you were woken for has ended")
    if invocation.triggered:
        return failed("already_triggered", "you have acted already; finish now")
    if asked.intent == "redirect" and len(target.notes) >= limits.NOTES_PER_ROLE_MAX_COUNT:
        return failed("mailbox_full", "too many messages wait for this role already; finish now")
    draft.emit(
        InterruptTriggered(
            op=draft.next_op,
            **draft.head(),
            parent=target.op,
            role=invocation.role,
            source=f"role:{invocation.role}",
            destination=f"role:{target.role}",
            title=one_line(asked.message, limits.EVENT_TITLE_MAX_CHARS),
            intent=asked.intent,
            message=asked.message,
        )
    )
    draft.change_role(op, triggered=True)
    if asked.intent == "abort":
        ending.cancel(draft, f"handler role '{invocation.role}'", asked.message)
    else:
        note = Note(prompt.handler_message(invocation.role, asked.message))
        draft.change_role(target.op, notes=(*target.notes, note))
    return ToolResult(blocks=[block(f"{asked.intent} taken")])
