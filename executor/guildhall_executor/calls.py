"""The calls of a reply: each begun when its turn comes, all answered in the order asked. Guards what a role can reach.

A call runs only if the role has the tool, policy permits it now and its arguments are sound; anything else is an
error result the model reads, and visible to people as a failed call.
"""

import re
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.base import OpId, one_line
from guildhall_contracts.canonical import arguments_hash
from guildhall_contracts.errors import error_info
from guildhall_contracts.events import PlanUpdated, ToolFinished, ToolStarted
from guildhall_contracts.policy import is_external

from guildhall_executor import delegation, ending, messages, turns
from guildhall_executor.draft import Draft
from guildhall_executor.effects import AnswerCode, RunTool
from guildhall_executor.emit import event_text, tool_output
from guildhall_executor.state import OpenCall, Queued
from guildhall_executor.tools.arguments import Arguments, BadArguments
from guildhall_executor.tools.catalog import NOT_FROM_CODE
from guildhall_executor.tools.code import RunCode
from guildhall_executor.tools.delegate import Delegate
from guildhall_executor.tools.external import checked
from guildhall_executor.tools.finish import Finish
from guildhall_executor.tools.plan import UpdatePlan
from guildhall_executor.tools.result import ToolResult, block, failed

_PARTICIPANT_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


def go_on(draft: Draft, op: OpId) -> None:
    """Begins every call whose turn it is; when all have their result, the role is shown them and goes on."""
    for place in range(len(draft.role(op).calls)):
        if not draft.is_at_work(op):
            return
        calls = draft.role(op).calls
        if calls[place].stage == "new" and turns.may_begin(calls, place, draft.state.roster.snapshot.policies):
            begin(draft, op, calls[place])
    if draft.is_at_work(op):
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
    refusal = _refusal(draft, op, asked)
    if refusal is not None:
        refuse(draft, op, asked, refusal)
        return
    arguments = checked(asked.call.name, asked.call.arguments)
    match arguments:
        case BadArguments(message=message):
            refuse(draft, op, asked, failed("invalid_arguments", message))
        case Delegate():
            problem = delegation.start(draft, op, asked, arguments)
            if problem is not None:
                refuse(draft, op, asked, failed("delegation_refused", problem))
        case Finish():
            delegation.finish_role(draft, op, arguments.result, arguments.summary, tuple(arguments.artifacts))
        case UpdatePlan():
            _update_plan(draft, op, asked, arguments)
        case _:
            _hand_out(draft, op, asked, arguments)


def _refusal(draft: Draft, op: OpId, asked: OpenCall) -> ToolResult | None:
    invocation, call = draft.role(op), asked.call
    tools = invocation.tools.names
    if call.name not in tools:
        name = one_line(call.name, 80)
        said = f"'{name}' is not a tool of role '{invocation.role}'. Its tools are {', '.join(tools)}."
        return failed("unknown_tool", said)
    if asked.code and call.name in NOT_FROM_CODE:
        return failed("unknown_tool", f"'{call.name}' cannot be called from code; call it as a tool.")
    if not draft.state.roster.may(call.name):
        return failed("tool_denied", f"policy does not permit '{call.name}' in this Run; go on without it.")
    return None


def _started(draft: Draft, op: OpId, asked: OpenCall, arguments: Arguments | None) -> OpId:
    """Opens the operation of a call; a call that is refused is drawn towards `tools`, whatever it named."""
    invocation, call = draft.role(op), asked.call
    begun = draft.next_op
    text = event_text(call.arguments)
    policy = draft.state.roster.snapshot.policies.get(call.name) if arguments is not None else None
    known = arguments is not None and _PARTICIPANT_NAME.fullmatch(call.name)
    draft.emit(
        ToolStarted(
            **draft.head(),
            op=begun,
            parent=asked.code or invocation.op,
            role=invocation.role,
            source=f"role:{invocation.role}",
            destination=f"tool:{call.name}" if known else "tools",
            title=one_line(arguments.title() if arguments else call.name, limits.EVENT_TITLE_MAX_CHARS),
            call=call.id,
            tool=call.name or "?",
            effect=policy.effect if policy else None,
            arguments=text,
            arguments_sha256=arguments_hash(arguments.complete()) if arguments else None,
            arguments_cut=len(text) != len(call.arguments),
        )
    )
    return begun


def _hand_out(draft: Draft, op: OpId, asked: OpenCall, arguments: Arguments) -> None:
    """Runs a tool, or lets it wait for the workspace if it writes there and another does."""
    policy = draft.state.roster.snapshot.policies[asked.call.name]
    writes = policy.effect != "read" and not is_external(asked.call.name)  # in the workspace
    if writes and draft.state.writer not in ("", asked.code):
        draft.change_call(op, asked.id, stage="queued")
        draft.change(queue=(*draft.state.queue, Queued(op, asked.id)))
        return
    begun = _started(draft, op, asked, arguments)
    draft.change_call(op, asked.id, stage="running", op=begun)
    if writes and not draft.state.writer:
        draft.change(writer=begun)
    invocation, name = draft.role(op), asked.call.name
    if isinstance(arguments, RunCode):
        functions = tuple(tool for tool in invocation.tools.names if tool not in NOT_FROM_CODE)
        draft.do(RunTool(begun, invocation.role, name, arguments, writes, invocation.history, functions))
    else:
        draft.do(RunTool(begun, invocation.role, name, arguments, writes=writes, call_id=asked.id))


def release(draft: Draft, op: OpId) -> None:
    """The workspace is free again; the call that has waited longest is next."""
    if draft.state.writer != op:
        return
    draft.change(writer="")
    if draft.state.queue:
        first, *rest = draft.state.queue
        draft.change(queue=tuple(rest))
        invocation = draft.role(first.role_op)
        begin(draft, invocation.op, next(one for one in (*invocation.calls, *invocation.inner) if one.id == first.id))


def refuse(draft: Draft, op: OpId, asked: OpenCall, result: ToolResult) -> None:
    """The call does not run; the model and the record both get to know."""
    begun = _started(draft, op, asked, None)
    finished(draft, begun, draft.role(op).role, result)
    _done(draft, op, asked, result)


def _done(draft: Draft, op: OpId, asked: OpenCall, result: ToolResult) -> None:
    if asked.code:
        draft.drop_inner(op, asked.id)
        draft.do(AnswerCode(asked.code, asked.number, result))
        return
    message = messages.tool(asked.call.id, asked.call.name, *result.blocks, is_error=result.is_error)
    draft.change_call(op, asked.id, stage="done", result=message)
    draft.wake(op)


def finished(draft: Draft, op: OpId, role: str, result: ToolResult, *, cancelled: bool = False) -> None:
    output, cut_bytes = tool_output(result.shown)
    outcome = "error" if result.is_error else "success"
    draft.emit(
        ToolFinished(
            **draft.head(),
            op=op,
            role=role,
            outcome="cancelled" if cancelled else outcome,
            output=output,
            omitted_bytes=result.omitted_bytes + cut_bytes,
            blob=result.blob,
            exit_code=result.exit_code,
            error_code=result.error_code,
        )
    )


def take_result(draft: Draft, tool_op: OpId, result: ToolResult, *, cancelled: bool = False) -> None:
    """The result of a tool that is waited for; any other is ignored."""
    held = draft.state.holding(tool_op)
    if held is None or held[1].stage != "running":
        return
    invocation, asked = held
    finished(draft, tool_op, invocation.role, result, cancelled=cancelled)
    _done(draft, invocation.op, asked, result)
    release(draft, tool_op)
    if result.error_code == "workshop_lost":
        _count_loss(draft, tool_op, result)


def _count_loss(draft: Draft, tool_op: OpId, result: ToolResult) -> None:
    """Tools that were at work together lose the workshop together: that is one loss."""
    if int(tool_op[1:]) <= draft.state.lost_at:
        return
    losses = draft.state.workshop_losses + 1
    draft.change(workshop_losses=losses, lost_at=draft.seq)
    if losses > limits.WORKSHOP_RESTARTS_MAX_COUNT:
        message = f"the workshop was lost {losses} times; the last time: {result.shown[:1_000]}"
        ending.fail(draft, error_info("workshop_lost", message, retryable=False), "WorkspaceFailed")


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
    result = ToolResult(blocks=[block(f"plan updated: {len(plan)} items{remark}")])
    _done(draft, op, asked, result)
