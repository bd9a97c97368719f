"""Asking the model and taking its replies, the poor ones too: empty, cut, refused, too long for its context."""

from typing import Final

from guildhall_contracts.base import OpId
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.events import CallHead, ErrorRaised, ModelFinished, ModelStarted
from guildhall_contracts.model_api import ModelReply

from guildhall_executor import (
    budget,
    calls,
    compaction,
    delegation,
    ending,
    handlers,
    inquiries,
    messages,
    people,
    prompt,
    stops,
)
from guildhall_executor.draft import Draft
from guildhall_executor.effects import CallModel
from guildhall_executor.emit import bounded_error, event_text
from guildhall_executor.state import ModelWait, OpenCall
from guildhall_executor.tools.result import failed

EMPTY_REPLIES_MAX_COUNT: Final = 2
CUT_REPLIES_MAX_COUNT: Final = 2


def ask(draft: Draft, op: OpId) -> None:
    """One more step of a role, if the budgets allow it."""
    if stops.holds(draft, op) or handlers.holds(draft, op) or not budget.take_step(draft, op):
        return
    if handlers.holds(draft, op):  # this very step woke one: it is taken once that has looked
        budget.give_back_step(draft, op)
        return
    people.hand_over(draft, op)
    compaction.keep_within_bounds(draft, op)
    call(draft, op, draft.next_call_id())


def call(draft: Draft, op: OpId, call_id: str) -> None:
    """Opens a model operation for `call_id`; asked again after a replacement it keeps its id, so it is paid once."""
    invocation = draft.role(op)
    role = invocation.role
    member = draft.state.roster.members[role]
    begun = draft.next_op
    draft.emit(
        ModelStarted(
            **draft.head(),
            op=begun,
            parent=op,
            role=role,
            source=f"role:{role}",
            destination=f"role:{role}",
            title=member.model,
            call_id=call_id,
            model=member.model,
        )
    )
    draft.change_role(op, wait=ModelWait(call_id, begun))
    tools = invocation.tools.json
    draft.do(CallModel(begun, call_id, role, member.model, invocation.history, tools, member.max_output_tokens))


def take_failure(draft: Draft, call_id: str, error: ErrorInfo) -> None:
    """A call that failed for good. A full context is shortened and asked again, about a spent budget a person is asked.

    The gateway cuts the calls of a cancelled Run before its mailbox can say why: that is a cancel, not a failure.
    """
    inquiry = inquiries.of_call(draft, call_id)
    if inquiry is not None:
        inquiries.take_failure(draft, inquiry, error)
        return
    invocation = draft.state.asking(call_id)
    if invocation is None or invocation.wait is None:
        return
    op, asked = invocation.op, invocation.wait.op
    failed_with = bounded_error(error)
    draft.emit(ModelFinished(**draft.head(), op=asked, role=invocation.role, outcome="error", error=failed_with))
    draft.change_role(op, wait=None)
    draft.wake(op)
    if error.kind == "context_overflow":
        if not compaction.shorten(draft, op):
            _gave_up(draft, op, error)
    elif stops.is_soft(draft, error):
        budget.give_back_step(draft, op)
        stops.ask(draft, op, failed_with)
    elif error.kind == "interrupted":
        ending.cancel(draft, "")
    elif invocation.watches:  # whoever it looked at goes on, and meets what concerns them both by itself
        _gave_up(draft, op, error)
    else:
        ending.fail(draft, error)


def take(draft: Draft, reply: ModelReply) -> None:
    """A reply to a call that is waited for; any other is ignored."""
    inquiry = inquiries.of_call(draft, reply.call_id)
    if inquiry is not None:
        inquiries.take(draft, inquiry, reply)
        return
    invocation = draft.state.asking(reply.call_id)
    if invocation is None or invocation.wait is None:
        return
    op = invocation.op
    reply = with_distinct_ids(reply)
    _finished(draft, invocation.wait.op, invocation.role, reply)
    draft.change_role(op, wait=None)
    draft.wake(op)
    budget.look_at_the_ledger(draft, reply.totals)
    if reply.stop_reason in ("refusal", "content_filter"):
        _refused(draft, op, reply)
    elif reply.stop_reason in ("max_tokens", "other"):
        _cut(draft, op, reply)
    elif not reply.tool_calls and not reply.text.strip():
        _empty(draft, op)
    else:
        _sound(draft, op, reply)


def _finished(draft: Draft, op: OpId, role: str, reply: ModelReply) -> None:
    text = event_text(reply.text)
    draft.emit(
        ModelFinished(
            **draft.head(),
            op=op,
            role=role,
            outcome="success",
            stop_reason=reply.stop_reason,
            text=text,
            text_cut=len(text) != len(reply.text),
            calls=[CallHead(call=c.id, name=c.name or "?") for c in reply.tool_calls],
            usage=reply.usage,
            cost_micro_usd=reply.cost_micro_usd,
            scripted=reply.scripted,
        )
    )


def with_distinct_ids(reply: ModelReply) -> ModelReply:
    """Results are paired with calls by id, so a provider's repeated id gets a suffix."""
    seen: set[str] = set()
    fixed = []
    for number, one in enumerate(reply.tool_calls):
        id_ = one.id if one.id not in seen else f"{one.id[:120]}.{number}"
        seen.add(id_)
        fixed.append(one if id_ == one.id else one.model_copy(update={"id": id_}))
    return reply.model_copy(update={"tool_calls": fixed}) if fixed != reply.tool_calls else reply


def _sound(draft: Draft, op: OpId, reply: ModelReply) -> None:
    draft.say(op, messages.assistant(reply))
    asked = tuple(OpenCall(f"{reply.call_id}.{place}", one) for place, one in enumerate(reply.tool_calls))
    draft.change_role(op, empty_replies=0, cut_replies=0, compactions=0, delegated_in_reply=0)
    calls.take_on(draft, op, asked)
    if not asked:
        delegation.finish_role(draft, op, reply.text)


def _refused(draft: Draft, op: OpId, reply: ModelReply) -> None:
    said = reply.text.strip()[:1_000] or "it gave no reason"
    role = draft.role(op).role
    message = f"the model refused to go on as role '{role}': {said}. Reword the task or the prompt."
    _gave_up(draft, op, error_info("llm_refused", message))


def _gave_up(draft: Draft, op: OpId, error: ErrorInfo) -> None:
    """A trouble of one role alone: its caller is told, who can ask another way; without a caller the Run fails."""
    if not draft.role(op).is_entry:
        draft.emit(ErrorRaised(**draft.head(), parent=op, role=draft.role(op).role, error=bounded_error(error)))
        delegation.hand_back(draft, op, error.message, is_error=True)
    else:
        ending.fail(draft, error)


def _empty(draft: Draft, op: OpId) -> None:
    count = draft.role(op).empty_replies + 1
    draft.change_role(op, empty_replies=count)
    if count < EMPTY_REPLIES_MAX_COUNT:
        draft.say(op, prompt.nudge_message(prompt.EMPTY_REPLY))
        return
    role = draft.role(op).role
    message = f"empty answer: role '{role}' got {count} replies in a row with neither text nor a tool call"
    _gave_up(draft, op, error_info("llm_refused", message))


def _cut(draft: Draft, op: OpId, reply: ModelReply) -> None:
    """Nothing of a reply is executed that was cut, or that ended nobody knows why: it may look complete and not be."""
    count = draft.role(op).cut_replies + 1
    draft.change_role(op, cut_replies=count)
    if count >= CUT_REPLIES_MAX_COUNT and not _made_room(draft, op, reply):
        _gave_up(draft, op, _cut_again(draft, op, reply, count))
        return
    words = prompt.CUT_REPLY if reply.stop_reason == "max_tokens" else prompt.BROKEN_REPLY
    if reply.tool_calls:
        draft.say(op, messages.assistant(reply))
        result = failed("cut", f"not executed: {words}")
        draft.say(op, *(messages.tool(c.id, c.name, *result.blocks, is_error=True) for c in reply.tool_calls))
        return
    if reply.text.strip():
        draft.say(op, messages.assistant(reply))
    draft.say(op, prompt.nudge_message(words))


def _made_room(draft: Draft, op: OpId, reply: ModelReply) -> bool:
    """Of a full context window most providers say only that the reply was cut: well before its own limit, then."""
    return reply.stop_reason == "max_tokens" and _is_short(draft, op, reply) and compaction.shorten(draft, op)


def _is_short(draft: Draft, op: OpId, reply: ModelReply) -> bool:
    limit = draft.state.roster.members[draft.role(op).role].max_output_tokens
    return reply.usage.output_tokens * 10 < limit * 9  # some count a little less than they cut at


def _cut_again(draft: Draft, op: OpId, reply: ModelReply, count: int) -> ErrorInfo:
    role = draft.role(op).role
    got, limit = f"role '{role}' got {count} replies in a row", draft.state.roster.members[role].max_output_tokens
    if reply.stop_reason == "other":
        message = f"{got} that the provider ended for a reason the gateway does not know; try another model or provider"
        return error_info("llm_refused", message)
    where = f"at {limit} output tokens; raise the role's limits.outputTokens"
    if reply.usage.output_tokens and _is_short(draft, op, reply):
        where = f"short of its {limit} output tokens (limits.outputTokens): the model's context window is full"
    return error_info("context_overflow", f"{got} cut {where} or have it work in smaller pieces")
