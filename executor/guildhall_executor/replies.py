"""Asking the model and taking its replies, the poor ones too: empty, cut, refused, too long for its context."""

from typing import Final

from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.events import CallHead, ModelFinished, ModelStarted
from guildhall_contracts.model_api import ModelReply

from guildhall_executor import budget, compaction, delegation, ending, messages, prompt
from guildhall_executor.draft import Draft
from guildhall_executor.effects import CallModel
from guildhall_executor.emit import bounded_error, event_text
from guildhall_executor.state import ModelWait
from guildhall_executor.tools.result import failed

EMPTY_REPLIES_MAX_COUNT: Final = 2
CUT_REPLIES_MAX_COUNT: Final = 2


def ask(draft: Draft) -> None:
    """One more step of the active role, if the budgets allow it."""
    if not budget.take_step(draft):
        return
    for text in draft.state.redirects:
        draft.say(prompt.redirect_message(text))
    draft.change(redirects=(), model_calls=draft.state.model_calls + 1)
    compaction.keep_within_bounds(draft)
    call(draft, f"c{draft.state.model_calls}")


def call(draft: Draft, call_id: str) -> None:
    """Opens a model operation for `call_id`; asked again after a replacement it keeps its id, so it is paid once."""
    top = draft.state.top
    member = draft.state.roster.members[top.role]
    op = draft.next_op
    draft.emit(
        ModelStarted(
            **draft.head(),
            op=op,
            parent=top.op,
            role=top.role,
            source=f"role:{top.role}",
            destination=f"role:{top.role}",
            title=member.model,
            call_id=call_id,
            model=member.model,
        )
    )
    draft.change(waiting=ModelWait(call_id, op))
    draft.do(CallModel(op, call_id, top.role, member.model, top.history, member.tools_json, member.max_output_tokens))


def take_failure(draft: Draft, call_id: str, error: ErrorInfo) -> None:
    """A call that failed for good. A full context is shortened and asked again; everything else ends the Run.

    The gateway cuts the calls of a cancelled Run before its mailbox can say why: that is a cancel, not a failure.
    """
    waiting = draft.state.waiting
    if not isinstance(waiting, ModelWait) or waiting.call_id != call_id:
        return
    draft.emit(
        ModelFinished(
            **draft.head(), op=waiting.op, role=draft.state.top.role, outcome="error", error=bounded_error(error)
        )
    )
    draft.change(waiting=None)
    if error.kind == "context_overflow" and compaction.shorten(draft):
        return
    if error.kind == "interrupted":
        ending.cancel(draft, "")
    else:
        ending.fail(draft, error)


def take(draft: Draft, reply: ModelReply) -> None:
    """A reply to the call that is waited for; any other is ignored."""
    waiting = draft.state.waiting
    if not isinstance(waiting, ModelWait) or waiting.call_id != reply.call_id:
        return
    reply = with_distinct_ids(reply)
    _finished(draft, waiting.op, reply)
    draft.change(waiting=None)
    budget.look_at_the_ledger(draft, reply.totals)
    if reply.stop_reason in ("refusal", "content_filter"):
        _refused(draft, reply)
    elif reply.stop_reason == "max_tokens":
        _cut(draft, reply)
    elif not reply.tool_calls and not reply.text.strip():
        _empty(draft)
    else:
        _sound(draft, reply)


def _finished(draft: Draft, op: str, reply: ModelReply) -> None:
    text = event_text(reply.text)
    draft.emit(
        ModelFinished(
            **draft.head(),
            op=op,
            role=draft.state.top.role,
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


def _sound(draft: Draft, reply: ModelReply) -> None:
    draft.say(messages.assistant(reply))
    draft.change_top(empty_replies=0, cut_replies=0, compactions=0)
    draft.change_top(delegated_in_reply=0, pending=tuple(reply.tool_calls))
    if not reply.tool_calls:
        delegation.finish_role(draft, reply.text)


def _refused(draft: Draft, reply: ModelReply) -> None:
    said = reply.text.strip()[:1_000] or "it gave no reason"
    message = f"the model refused to go on as role '{draft.state.top.role}': {said}. Reword the task or the prompt."
    ending.fail(draft, error_info("llm_refused", message))


def _empty(draft: Draft) -> None:
    count = draft.state.top.empty_replies + 1
    draft.change_top(empty_replies=count)
    if count < EMPTY_REPLIES_MAX_COUNT:
        draft.say(prompt.nudge_message(prompt.EMPTY_REPLY))
        return
    role = draft.state.top.role
    message = f"empty answer: role '{role}' got {count} replies in a row with neither text nor a tool call"
    ending.fail(draft, error_info("llm_refused", message))


def _cut(draft: Draft, reply: ModelReply) -> None:
    """Nothing of a cut reply is executed: its last call may look complete and not be."""
    count = draft.state.top.cut_replies + 1
    draft.change_top(cut_replies=count)
    role = draft.state.top.role
    limit = draft.state.roster.members[role].max_output_tokens
    if count >= CUT_REPLIES_MAX_COUNT:
        message = (
            f"role '{role}' got {count} replies in a row cut at {limit} output tokens; "
            "raise the role's limits.outputTokens or have it work in smaller pieces"
        )
        ending.fail(draft, error_info("context_overflow", message))
        return
    if reply.tool_calls:
        draft.say(messages.assistant(reply))
        result = failed("cut", f"not executed: {prompt.CUT_REPLY}")
        draft.say(*(messages.tool(c.id, c.name, *result.blocks, is_error=True) for c in reply.tool_calls))
        return
    if reply.text.strip():
        draft.say(messages.assistant(reply))
    draft.say(prompt.nudge_message(prompt.CUT_REPLY))
