"""*inquire*: the active role answers a person in a model call beside its work, which goes on meanwhile.

The side call sees the role's history as it stands and disturbs nothing of it; only question and answer enter it, as one
labelled message, with the role's next own call. Calls of tools in the answer are not made.
"""

from dataclasses import replace

from guildhall_contracts import limits
from guildhall_contracts.base import OpId
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.events import InterruptAnswered, ModelFinished, ModelStarted, Outcome
from guildhall_contracts.model_api import ModelReply

from guildhall_executor import budget, messages, prompt
from guildhall_executor.draft import Draft
from guildhall_executor.effects import CallModel
from guildhall_executor.emit import bounded_error, event_text
from guildhall_executor.messages import Message
from guildhall_executor.state import Inquiry, ModelWait, Note, RoleRun
from guildhall_executor.tools.result import block

_STILL_RUNNING = "[guildhall: this call is still being worked on]"


def begin(draft: Draft, op: OpId, message: str) -> None:
    """Asks the active role's model beside its work; the interrupt `op` is answered at once where that cannot be."""
    active = draft.state.active
    if active is None or draft.state.stop is not None or not budget.side_step(draft):
        _answered(draft, op, "error", "The Run is at its budget and cannot answer; it can still be aborted.")
        return
    if len(draft.state.inquiries) >= limits.INQUIRIES_AT_ONCE_MAX_COUNT:
        _answered(draft, op, "error", "Other inquiries are being answered; ask again when they are.")
        return
    call_id = draft.next_call_id()
    history = side_history(active, message)
    wait = ModelWait(call_id, "")
    _call(draft, Inquiry(op, active.op, active.role, message, history, active.tools.json, wait))


def _call(draft: Draft, inquiry: Inquiry) -> None:
    """Opens the model operation of an inquiry, below it."""
    member = draft.state.roster.members[inquiry.role]
    begun = draft.next_op
    call_id = inquiry.wait.call_id
    draft.emit(
        ModelStarted(
            **draft.head(),
            op=begun,
            parent=inquiry.op,
            role=inquiry.role,
            source=f"role:{inquiry.role}",
            destination=f"role:{inquiry.role}",
            title=member.model,
            call_id=call_id,
            model=member.model,
        )
    )
    asked = replace(inquiry, wait=ModelWait(call_id, begun))
    draft.change(inquiries=(*draft.state.inquiries, asked))
    limit = min(member.max_output_tokens, limits.INQUIRY_OUTPUT_TOKENS_MAX_COUNT)
    draft.do(CallModel(begun, call_id, inquiry.role, member.model, inquiry.history, inquiry.tools, limit))


def side_history(invocation: RoleRun, message: str) -> tuple[Message, ...]:
    """A role's history with the question at its end. Calls without a result yet get one that says so: providers take
    no call without its result."""
    results = (
        one.result or messages.tool(one.call.id, one.call.name, block(_STILL_RUNNING)) for one in invocation.calls
    )
    return (*invocation.history, *results, prompt.inquiry_message(message))


def of_call(draft: Draft, call_id: str) -> Inquiry | None:
    """The inquiry whose model call this is."""
    return next((one for one in draft.state.inquiries if one.wait.call_id == call_id), None)


def _close(draft: Draft, inquiry: Inquiry) -> None:
    draft.change(inquiries=tuple(one for one in draft.state.inquiries if one is not inquiry))


def take(draft: Draft, inquiry: Inquiry, reply: ModelReply) -> None:
    """The answer: shown to the person, and noted for the role, if that is still at work."""
    _close(draft, inquiry)
    draft.emit(
        ModelFinished(
            **draft.head(),
            op=inquiry.wait.op,
            role=inquiry.role,
            outcome="success",
            stop_reason=reply.stop_reason,
            text=event_text(reply.text),
            usage=reply.usage,
            cost_micro_usd=reply.cost_micro_usd,
            scripted=reply.scripted,
        )
    )
    budget.look_at_the_ledger(draft, reply.totals)
    if not reply.text.strip():
        _answered(draft, inquiry.op, "error", f"Role '{inquiry.role}' gave no answer in words; its work goes on.")
        return
    _answered(draft, inquiry.op, "success", event_text(reply.text))
    invocation = draft.state.roles.get(inquiry.role_op)
    if invocation is not None and len(invocation.notes) < limits.NOTES_PER_ROLE_MAX_COUNT:
        note = Note(prompt.exchange_message(inquiry.message, reply.text))
        draft.change_role(invocation.op, notes=(*invocation.notes, note))


def take_failure(draft: Draft, inquiry: Inquiry, error: ErrorInfo) -> None:
    """The side call failed; the role's work is not touched by that."""
    _close(draft, inquiry)
    draft.emit(
        ModelFinished(
            **draft.head(), op=inquiry.wait.op, role=inquiry.role, outcome="error", error=bounded_error(error)
        )
    )
    _answered(draft, inquiry.op, "error", event_text(f"Role '{inquiry.role}' could not answer: {error.message}"))


def take_up(draft: Draft) -> None:
    """A later attempt asks again, by the same call id, so that it is paid once."""
    inquiries = draft.state.inquiries
    draft.change(inquiries=())
    for inquiry in inquiries:
        draft.emit(ModelFinished(**draft.head(), op=inquiry.wait.op, role=inquiry.role, outcome="cancelled"))
        _call(draft, inquiry)


def _answered(draft: Draft, op: OpId, outcome: Outcome, text: str = "") -> None:
    draft.emit(InterruptAnswered(**draft.head(), op=op, outcome=outcome, text=text))
