"""The calls of a reply: each begun when its turn comes, all answered in the order asked. Guards what a role can reach.

A call runs only if the role has the tool, policy permits it now and its arguments are sound, and after a person's yes
where policy wants one; anything else is an error result the model reads, and visible to people as a failed call.
"""

from dataclasses import replace

from guildhall_contracts.base import OpId, one_line
from guildhall_contracts.events import PlanUpdated
from guildhall_contracts.model_api import ToolCall
from guildhall_contracts.policy import is_external

from guildhall_executor import approvals, delegation, handlers, messages, questions, record, turns
from guildhall_executor.draft import Draft
from guildhall_executor.effects import AnswerCode, RunTool
from guildhall_executor.state import OpenCall, Queued
from guildhall_executor.tools import external
from guildhall_executor.tools.arguments import Arguments, BadArguments
from guildhall_executor.tools.ask_human import AskHuman
from guildhall_executor.tools.catalog import NOT_FROM_CODE
from guildhall_executor.tools.code import RunCode
from guildhall_executor.tools.delegate import Delegate
from guildhall_executor.tools.finish import Finish
from guildhall_executor.tools.inspection import (
    ListRoleMessages,
    ReadMessageWindow,
    RecentRoleToolCalls,
    SearchRoleBlocks,
    TriggerInterrupt,
)
from guildhall_executor.tools.plan import UpdatePlan
from guildhall_executor.tools.result import ToolResult, block, failed

_UNREAD = "a person wrote to you meanwhile: read it, act on it, and finish then"


def take_on(draft: Draft, op: OpId, calls: tuple[OpenCall, ...]) -> None:
    """The calls of a new reply. Those that need a person's yes ask for it at once, whenever their turn comes."""
    draft.change_role(op, calls=calls)
    for asked in calls:
        if asked.call.name == "finish":
            return
        _ask_first(draft, op, asked)


def _ask_first(draft: Draft, op: OpId, asked: OpenCall) -> bool:
    """Asks a person about a sound call that only lacks a yes; False for any other: that is judged at its turn."""
    if asked.approval or not draft.state.asks_first(asked.call.name):
        return False
    if _refusal(draft, op, asked) is not None:
        return False
    arguments = checked(asked.call)
    if isinstance(arguments, BadArguments):
        return False
    _unless(draft, op, asked, "tool_denied", approvals.ask(draft, op, asked, arguments))
    return True


def checked(call: ToolCall) -> Arguments | BadArguments:
    """The arguments of a call to a tool that exists."""
    return external.checked(call.name, call.arguments)


def go_on(draft: Draft, op: OpId) -> None:
    """Begins every call whose turn it is; when all have their result, the role is shown them and goes on."""
    for place in range(len(draft.role(op).calls)):
        if turns.may_begin(draft.role(op).calls, place, draft.state):
            begin(draft, op, draft.role(op).calls[place])
        if not draft.is_at_work(op):
            return
    _answer(draft, op)


def _answer(draft: Draft, op: OpId) -> None:
    """The results enter the history together, in the order of their calls: providers take no other."""
    results = [one.result for one in draft.role(op).calls if one.result is not None]
    if len(results) == len(draft.role(op).calls):
        draft.say(op, *results)
        draft.change_role(op, calls=())
        draft.wake(op)


def begin(draft: Draft, op: OpId, asked: OpenCall) -> None:
    """Performs a call, hands it out, or refuses it."""
    if _ask_first(draft, op, asked):
        return
    refusal = _refusal(draft, op, asked)
    if refusal is not None:
        refuse(draft, op, asked, refusal)
        return
    arguments = checked(asked.call)
    match arguments:
        case BadArguments(message=message):
            refuse(draft, op, asked, failed("invalid_arguments", message))
        case Delegate():
            _unless(draft, op, asked, "delegation_refused", delegation.start(draft, op, asked, arguments))
        case AskHuman():
            _unless(draft, op, asked, "ask_failed", questions.ask(draft, op, asked, arguments))
        case Finish():
            _finish(draft, op, asked, arguments)
        case UpdatePlan():
            _update_plan(draft, op, asked, arguments)
        case ListRoleMessages() | ReadMessageWindow() | SearchRoleBlocks() | RecentRoleToolCalls():
            settle(draft, op, asked, handlers.look(draft, op, asked, arguments))
        case TriggerInterrupt():
            _trigger(draft, op, asked, arguments)
        case _:
            _hand_out(draft, op, asked, arguments)


def _unless(draft: Draft, op: OpId, asked: OpenCall, code: str, problem: str | None) -> None:
    if problem is not None:
        refuse(draft, op, asked, failed(code, problem))


def _refusal(draft: Draft, op: OpId, asked: OpenCall) -> ToolResult | None:
    """Why no yes could make this call run; None when one could, or none is wanted."""
    invocation, call = draft.role(op), asked.call
    tools = invocation.tools.names
    if call.name not in tools:
        name = one_line(call.name, 80)
        said = f"'{name}' is not a tool of role '{invocation.role}'. Its tools are {', '.join(tools)}."
        return failed("unknown_tool", said)
    if asked.code and call.name in NOT_FROM_CODE:
        return failed("unknown_tool", f"'{call.name}' cannot be called from code; call it as a tool.")
    if not draft.state.may(call.name, approved=True):
        return failed("tool_denied", f"policy does not permit '{call.name}' in this Run; go on without it.")
    return None


def _finish(draft: Draft, op: OpId, asked: OpenCall, arguments: Finish) -> None:
    if any(note.op for note in draft.role(op).notes):
        refuse(draft, op, asked, failed("message_waiting", _UNREAD))
        return
    delegation.finish_role(draft, op, arguments.result, arguments.summary, tuple(arguments.artifacts))


def _trigger(draft: Draft, op: OpId, asked: OpenCall, arguments: TriggerInterrupt) -> None:
    result = handlers.trigger(draft, op, arguments)
    if result.is_error:
        refuse(draft, op, asked, result)
    elif draft.is_at_work(op):
        settle(draft, op, asked, result)


def _hand_out(draft: Draft, op: OpId, asked: OpenCall, arguments: Arguments) -> None:
    """Runs a tool, or lets it wait for the workspace if it writes there and another does."""
    if not draft.state.may(asked.call.name, approved=asked.has_yes):
        refuse(draft, op, asked, failed("tool_denied", f"no person approved this call of '{asked.call.name}'."))
        return
    policy = draft.state.policy_of(asked.call.name)
    writes = policy is not None and policy.effect != "read" and not is_external(asked.call.name)
    if writes and draft.state.writer not in ("", asked.code):
        draft.change_call(op, asked.id, stage="queued")
        draft.change(queue=(*draft.state.queue, Queued(op, asked.id)))
        return
    invocation = draft.role(op)
    begun = record.started(draft, invocation, asked, arguments)
    draft.change_call(op, asked.id, stage="running", op=begun)
    if writes and not draft.state.writer:
        draft.change(writer=begun)
    approval = approvals.request_of(draft, invocation.role, asked, arguments) if asked.has_yes else None
    work = RunTool(begun, invocation.role, asked.call.name, arguments, writes, asked.id, approval)
    if isinstance(arguments, RunCode):
        functions = tuple(tool for tool in invocation.tools.names if tool not in NOT_FROM_CODE)
        work = replace(work, history=invocation.history, functions=functions)
    draft.do(work)


def ask_again(draft: Draft, op: OpId, asked: OpenCall) -> bool:
    """Asks for the result of a call the gateway makes, which a replaced executor did not hear: it is made once for its
    id, whoever asks. False for every other call."""
    if asked.code or not is_external(asked.call.name):
        return False
    arguments = checked(asked.call)
    if isinstance(arguments, BadArguments):
        return False
    role = draft.role(op).role
    approval = approvals.request_of(draft, role, asked, arguments) if asked.approval else None
    draft.do(RunTool(asked.op, role, asked.call.name, arguments, writes=False, call_id=asked.id, approval=approval))
    return True


def release(draft: Draft, op: OpId) -> None:
    """The workspace is free again if `op` had it; the call that has waited longest is next."""
    if draft.state.writer != op:
        return
    draft.change(writer="")
    if draft.state.queue:
        first, *rest = draft.state.queue
        draft.change(queue=tuple(rest))
        begin(draft, first.role_op, draft.call(first.role_op, first.id))


def refuse(draft: Draft, op: OpId, asked: OpenCall, result: ToolResult) -> None:
    """The call does not run; the model and the record both get to know."""
    invocation = draft.role(op)
    begun = record.started(draft, invocation, asked, None)
    record.finished(draft, begun, invocation.role, result)
    settle(draft, op, asked, result)


def settle(draft: Draft, op: OpId, asked: OpenCall, result: ToolResult) -> None:
    """The call has its result: for the role's next model call, or for the code that made it."""
    if asked.code:
        draft.drop_inner(op, asked.id)
        draft.do(AnswerCode(asked.code, asked.number, result))
        return
    message = messages.tool(asked.call.id, asked.call.name, *result.blocks, is_error=result.is_error)
    draft.change_call(op, asked.id, stage="done", person=None, result=message)
    draft.wake(op)
    handlers.note_call(draft, op, asked, result)


def take_result(draft: Draft, tool_op: OpId, result: ToolResult, *, cancelled: bool = False) -> bool:
    """The result of a tool that is waited for; any other is ignored. Whether it was waited for."""
    held = draft.state.holding(tool_op)
    if held is None or held[1].stage != "running":
        return False
    invocation, asked = held
    record.finished(draft, tool_op, invocation.role, result, cancelled=cancelled)
    settle(draft, invocation.op, asked, result)
    release(draft, tool_op)
    return True


def _update_plan(draft: Draft, op: OpId, asked: OpenCall, arguments: UpdatePlan) -> None:
    invocation = draft.role(op)
    plan = arguments.plan()
    draft.emit(
        PlanUpdated(
            op=draft.next_op,
            **draft.head(),
            parent=invocation.op,
            role=invocation.role,
            source=f"role:{invocation.role}",
            destination=f"role:{invocation.role}",
            title=f"{sum(item.status == 'done' for item in plan)} of {len(plan)} done",
            items=list(plan),
        )
    )
    draft.change(plan=plan)
    was_cut = [item.text for item in plan] != [item.text for item in arguments.items]
    remark = "; long ones were cut" if was_cut else ""
    settle(draft, op, asked, ToolResult(blocks=[block(f"plan updated: {len(plan)} items{remark}")]))
