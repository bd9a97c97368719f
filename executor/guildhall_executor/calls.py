"""The calls of a reply, one after another in the order they were asked for. Guards what a role can reach.

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
from guildhall_contracts.model_api import ToolCall

from guildhall_executor import delegation, ending, messages
from guildhall_executor.draft import Draft
from guildhall_executor.effects import RunTool
from guildhall_executor.emit import event_text, tool_output
from guildhall_executor.state import ToolWait
from guildhall_executor.tools.arguments import Arguments, BadArguments, check
from guildhall_executor.tools.catalog import CATALOG
from guildhall_executor.tools.delegate import Delegate
from guildhall_executor.tools.finish import Finish
from guildhall_executor.tools.plan import UpdatePlan
from guildhall_executor.tools.result import ToolResult, block, failed

_PARTICIPANT_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


def next_call(draft: Draft) -> None:
    """Takes the first pending call of the active role: performs it, hands it out, or refuses it."""
    call, *rest = draft.state.top.pending
    draft.change_top(pending=tuple(rest))
    refusal = _refusal(draft, call)
    if refusal is not None:
        refuse(draft, call, refusal)
        return
    arguments = check(CATALOG[call.name].arguments, call.arguments)
    match arguments:
        case BadArguments(message=message):
            refuse(draft, call, failed("invalid_arguments", message))
        case Delegate():
            problem = delegation.start(draft, call, arguments)
            if problem is not None:
                refuse(draft, call, failed("delegation_refused", problem))
        case Finish():
            delegation.finish_role(draft, arguments.result, arguments.summary, tuple(arguments.artifacts))
        case UpdatePlan():
            _update_plan(draft, call, arguments)
        case _:
            _hand_out(draft, call, arguments)


def _refusal(draft: Draft, call: ToolCall) -> ToolResult | None:
    role = draft.state.top.role
    tools = draft.state.roster.members[role].tools
    if call.name not in tools or call.name not in CATALOG:
        name = one_line(call.name, 80)
        return failed("unknown_tool", f"'{name}' is not a tool of role '{role}'. Its tools are {', '.join(tools)}.")
    if not draft.state.roster.may(call.name):
        return failed("tool_denied", f"policy does not permit '{call.name}' in this Run; go on without it.")
    return None


def _started(draft: Draft, call: ToolCall, arguments: Arguments | None) -> OpId:
    """Opens the operation of a call; a call that is refused is drawn towards `tools`, whatever it named."""
    top = draft.state.top
    op = draft.next_op
    text = event_text(call.arguments)
    policy = draft.state.roster.snapshot.policies.get(call.name) if arguments is not None else None
    known = arguments is not None and _PARTICIPANT_NAME.fullmatch(call.name)
    draft.emit(
        ToolStarted(
            **draft.head(),
            op=op,
            parent=top.op,
            role=top.role,
            source=f"role:{top.role}",
            destination=f"tool:{call.name}" if known else "tools",
            title=one_line(arguments.title() if arguments else call.name, limits.EVENT_TITLE_MAX_CHARS),
            call=call.id,
            tool=call.name or "?",
            effect=policy.effect if policy else None,
            arguments=text,
            arguments_sha256=arguments_hash(arguments.model_dump(mode="json")) if arguments else None,
            arguments_cut=len(text) != len(call.arguments),
        )
    )
    return op


def _hand_out(draft: Draft, call: ToolCall, arguments: Arguments) -> None:
    op = _started(draft, call, arguments)
    policy = draft.state.roster.snapshot.policies[call.name]
    draft.change(waiting=ToolWait(op, call))
    draft.do(RunTool(op, draft.state.top.role, call.name, arguments, writes=policy.effect != "read"))


def refuse(draft: Draft, call: ToolCall, result: ToolResult) -> None:
    """The call does not run; the model and the record both get to know."""
    op = _started(draft, call, None)
    _finished(draft, op, result)
    draft.say(messages.tool(call.id, call.name, *result.blocks, is_error=True))


def _finished(draft: Draft, op: OpId, result: ToolResult) -> None:
    output, cut_bytes = tool_output(result.shown)
    draft.emit(
        ToolFinished(
            **draft.head(),
            op=op,
            role=draft.state.top.role,
            outcome="error" if result.is_error else "success",
            output=output,
            omitted_bytes=result.omitted_bytes + cut_bytes,
            blob=result.blob,
            exit_code=result.exit_code,
            error_code=result.error_code,
        )
    )


def take_result(draft: Draft, op: OpId, result: ToolResult) -> None:
    """The result of the tool that is waited for; any other is ignored."""
    waiting = draft.state.waiting
    if not isinstance(waiting, ToolWait) or waiting.op != op:
        return
    _finished(draft, op, result)
    draft.change(waiting=None)
    draft.say(messages.tool(waiting.call.id, waiting.call.name, *result.blocks, is_error=result.is_error))
    if result.error_code == "workshop_lost":
        _count_loss(draft, result)


def _count_loss(draft: Draft, result: ToolResult) -> None:
    losses = draft.state.workshop_losses + 1
    draft.change(workshop_losses=losses)
    if losses > limits.WORKSHOP_RESTARTS_MAX_COUNT:
        message = f"the workshop was lost {losses} times; the last time: {result.shown[:1_000]}"
        ending.fail(draft, error_info("workshop_lost", message, retryable=False), "WorkspaceFailed")


def _update_plan(draft: Draft, call: ToolCall, arguments: UpdatePlan) -> None:
    top = draft.state.top
    op = draft.next_op
    plan = arguments.plan()
    draft.emit(
        PlanUpdated(
            **draft.head(),
            op=op,
            parent=top.op,
            role=top.role,
            source=f"role:{top.role}",
            destination=f"role:{top.role}",
            title=f"{sum(item.status == 'done' for item in plan)} of {len(plan)} done",
            items=list(plan),
        )
    )
    draft.change(plan=plan)
    was_cut = [item.text for item in plan] != [item.text for item in arguments.items]
    remark = "; long ones were cut" if was_cut else ""
    draft.say(messages.tool(call.id, call.name, block(f"plan updated: {len(plan)} items{remark}")))
