"""Roles calling roles. Guards against delegation without end: depth, calls per reply and calls per Run are bounded."""

from guildhall_contracts import limits
from guildhall_contracts.events import RoleFinished, RoleStarted
from guildhall_contracts.model_api import ToolCall

from guildhall_executor import ending, messages, prompt
from guildhall_executor.draft import Draft
from guildhall_executor.emit import event_text
from guildhall_executor.state import Ending, RoleRun
from guildhall_executor.tools.delegate import Delegate
from guildhall_executor.tools.finish import summary_line
from guildhall_executor.tools.result import block


def start(draft: Draft, call: ToolCall, arguments: Delegate) -> str | None:
    """Begins an invocation of another role on top of the active one; returns why not, if it may not."""
    problem = _problem(draft, arguments.role)
    if problem is not None:
        return problem
    caller = draft.state.top
    member = draft.state.roster.members[arguments.role]
    op = draft.next_op
    draft.emit(
        RoleStarted(
            **draft.head(),
            op=op,
            parent=caller.op,
            role=arguments.role,
            source=f"role:{caller.role}",
            destination=f"role:{arguments.role}",
            title=member.role.label or arguments.role,
            brief=event_text(arguments.brief),
            call=call.id,
        )
    )
    draft.change_top(delegated_in_reply=caller.delegated_in_reply + 1)
    draft.change(delegations=draft.state.delegations + 1)
    history = (member.system, prompt.brief_message(arguments.brief, caller.role))
    draft.push(RoleRun(arguments.role, op, history, call=call.id))
    return None


def _problem(draft: Draft, role: str) -> str | None:
    caller = draft.state.top
    allowed = draft.state.roster.members[caller.role].role.delegates
    if role not in allowed:
        return f"role '{caller.role}' may delegate to {', '.join(allowed)} only"
    if len(draft.state.stack) > limits.DELEGATION_MAX_DEPTH:
        return f"delegation is {limits.DELEGATION_MAX_DEPTH} deep already (DELEGATION_MAX_DEPTH); do this work yourself"
    if caller.delegated_in_reply >= limits.DELEGATION_MAX_FAN_OUT:
        return f"one reply may delegate {limits.DELEGATION_MAX_FAN_OUT} times (DELEGATION_MAX_FAN_OUT); ask again later"
    if draft.state.delegations >= limits.DELEGATION_MAX_TOTAL:
        return f"this Run delegated {limits.DELEGATION_MAX_TOTAL} times (DELEGATION_MAX_TOTAL); do this work yourself"
    return None


def finish_role(draft: Draft, result: str, summary: str = "", artifacts: tuple[str, ...] = ()) -> None:
    """The active role is done: the entry role ends the Run, any other hands `result` to its caller."""
    if len(draft.state.stack) == 1:
        line = summary_line(summary, result)
        ending.end(draft, Ending("succeeded", result=result, summary=line, artifacts=artifacts))
        return
    hand_back(draft, result)


def hand_back(draft: Draft, result: str, *, is_error: bool = False) -> None:
    """Ends a delegation; what comes back is a report of another role, never an instruction."""
    ended = draft.pop()
    draft.emit(
        RoleFinished(
            **draft.head(),
            op=ended.op,
            role=ended.role,
            outcome="error" if is_error else "success",
            summary=event_text(result),
        )
    )
    content = block(result, origin="model", label=f"report of role {ended.role}")
    draft.say(messages.tool(ended.call, "delegate", content, is_error=is_error))
