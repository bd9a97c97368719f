"""Roles calling roles. Guards against delegation without end: depth, calls per reply and calls per Run are bounded."""

from guildhall_contracts import limits
from guildhall_contracts.base import OpId
from guildhall_contracts.events import RoleFinished, RoleStarted

from guildhall_executor import ending, handlers, messages, prompt, rights
from guildhall_executor.draft import Draft
from guildhall_executor.emit import event_text
from guildhall_executor.roster import Member
from guildhall_executor.state import Ending, OpenCall, RoleRun
from guildhall_executor.tools.delegate import Delegate
from guildhall_executor.tools.finish import summary_line
from guildhall_executor.tools.result import block


def start(draft: Draft, op: OpId, call: OpenCall, arguments: Delegate) -> str | None:
    """Begins an invocation of another role below `op`, to work beside its other calls; or returns why it may not."""
    caller = draft.role(op)
    problem = _problem(draft, caller, arguments.role)
    if problem is not None:
        return problem
    member = draft.state.roster.members[arguments.role]
    begun = draft.next_op
    draft.emit(
        RoleStarted(
            **draft.head(),
            op=begun,
            parent=caller.op,
            role=arguments.role,
            source=f"role:{caller.role}",
            destination=f"role:{arguments.role}",
            title=member.role.label or arguments.role,
            brief=event_text(arguments.brief),
            call=call.call.id,
        )
    )
    draft.change_role(op, delegated_in_reply=caller.delegated_in_reply + 1)
    draft.change_call(op, call.id, stage="delegated", op=begun)
    draft.change(delegations=draft.state.delegations + 1)
    draft.begin(_invocation(draft, caller, begun, call, arguments))
    return None


def _invocation(draft: Draft, caller: RoleRun, op: OpId, call: OpenCall, arguments: Delegate) -> RoleRun:
    members = draft.state.roster.members
    member = members[arguments.role]
    ceiling = rights.below(caller.ceiling, members[caller.role].grants)
    return RoleRun(
        role=arguments.role,
        op=op,
        history=(member.system, prompt.brief_message(arguments.brief, caller.role)),
        tools=_tools(draft, member, ceiling),
        ceiling=ceiling,
        caller=caller.op,
        call=call.id,
        depth=caller.depth + 1,
    )


def _tools(draft: Draft, member: Member, ceiling: rights.Ceiling) -> rights.Toolset:
    """The tools of an invocation under `ceiling`, ready made where nothing narrows them."""
    if ceiling is None or ceiling.issuperset(member.tools.names):
        return member.tools
    return rights.toolset(member.role, member.tools.names, draft.state.roster.external, ceiling)


def _problem(draft: Draft, caller: RoleRun, role: str) -> str | None:
    allowed = draft.state.roster.members[caller.role].role.delegates
    if role not in allowed:
        return f"role '{caller.role}' may delegate to {', '.join(allowed)} only"
    if caller.depth >= limits.DELEGATION_MAX_DEPTH:
        return f"delegation is {limits.DELEGATION_MAX_DEPTH} deep already (DELEGATION_MAX_DEPTH); do this work yourself"
    if caller.delegated_in_reply >= limits.DELEGATION_MAX_FAN_OUT:
        return f"one reply may delegate {limits.DELEGATION_MAX_FAN_OUT} times (DELEGATION_MAX_FAN_OUT); ask again later"
    if draft.state.delegations >= limits.DELEGATION_MAX_TOTAL:
        return f"this Run delegated {limits.DELEGATION_MAX_TOTAL} times (DELEGATION_MAX_TOTAL); do this work yourself"
    return None


def finish_role(draft: Draft, op: OpId, result: str, summary: str = "", artifacts: tuple[str, ...] = ()) -> None:
    """A role is done: the entry role ends the Run, any other hands `result` to its caller.

    A person's message that it has not read keeps it at work: nothing a person says is lost to a race.
    """
    if any(note.op for note in draft.role(op).notes):
        draft.wake(op)
        return
    if not draft.role(op).is_entry:
        hand_back(draft, op, result)
        return
    line = summary_line(summary, result)
    ending.end(draft, Ending("succeeded", result=result, summary=line, artifacts=artifacts))


def hand_back(draft: Draft, op: OpId, result: str, *, is_error: bool = False) -> None:
    """Ends a delegation; what comes back is a report of a role, never an instruction. A handler reports to none."""
    if draft.role(op).watches:
        handlers.close(draft, op, result, is_error=is_error)
        return
    ended = draft.end(op)
    _pass_up(draft, ended)
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
    asked = next(one for one in draft.role(ended.caller).calls if one.id == ended.call)
    report = messages.tool(asked.call.id, "delegate", content, is_error=is_error)
    draft.change_call(ended.caller, ended.call, stage="done", result=report)
    draft.wake(ended.caller)
    if is_error:
        handlers.wake(draft, ended.caller, "error")


def _pass_up(draft: Draft, ended: RoleRun) -> None:
    """What a person said to a role that ended before it could read it is for its caller."""
    unread = tuple(note for note in ended.notes if note.op)
    if unread:
        draft.change_role(ended.caller, notes=(*draft.role(ended.caller).notes, *unread))
