"""`ask_human`: a role waits for a person while the others go on. Guards against silence, or a yes, being read as leave.

Waiting costs nothing: no model is asked, nothing is polled. An answer reaches the one call that asked, once; it is
data, and no approval: calls that need one still ask for it. When nobody answers in time the model is told so.
"""

from guildhall_contracts import limits
from guildhall_contracts.base import OpId, one_line
from guildhall_contracts.events import Outcome, QuestionAnswered, QuestionAsked
from guildhall_contracts.model_api import AskedItem

from guildhall_executor import closing, moments
from guildhall_executor.draft import Draft
from guildhall_executor.effects import AskPerson, Withdraw
from guildhall_executor.emit import event_text
from guildhall_executor.inputs import Answered
from guildhall_executor.state import OpenCall, PersonWait, RoleRun, State
from guildhall_executor.tools.arguments import BadArguments, check
from guildhall_executor.tools.ask_human import AskHuman
from guildhall_executor.tools.result import ToolResult, block, failed

_SILENCE = (
    "nobody answered in time. That is no consent to anything: decide what you can within what you were asked to do, "
    "leave the rest, and say in your result what you could not ask."
)


def id_of(op: OpId) -> str:
    """The id by which gateway and people know the question of an operation."""
    return f"q-{op}"


def asked_item(invocation_role: str, op: OpId, arguments: AskHuman, seconds: int) -> AskedItem:
    return AskedItem(
        id=id_of(op),
        role=invocation_role,
        text=arguments.question,
        context=arguments.context,
        options=list(arguments.options),
        expires_seconds=seconds,
    )


def time_limit(draft: Draft, wanted_seconds: int) -> int:
    """Seconds a person gets: never more than the Run has left, so that the role can still use the answer."""
    budget = draft.state.roster.snapshot.budget.seconds
    if budget is None:
        return wanted_seconds
    left = budget - draft.at.elapsed_milliseconds // 1_000 - limits.QUESTION_RESERVE_SECONDS
    return max(min(wanted_seconds, left), 1)


def ask(draft: Draft, op: OpId, asked: OpenCall, arguments: AskHuman) -> str | None:
    """Puts the question to people; returns why not, if too many are open."""
    if sum(1 for _ in draft.state.for_people()) >= limits.ASKED_AT_ONCE_MAX_COUNT:
        return f"{limits.ASKED_AT_ONCE_MAX_COUNT} questions and approvals are open in this Run; wait for answers first"
    invocation = draft.role(op)
    seconds = time_limit(draft, arguments.timeout_seconds)
    person = moments.person_wait(draft.at.ts, draft.at.elapsed_milliseconds, seconds)
    begun = draft.next_op
    draft.emit(
        QuestionAsked(
            **draft.head(),
            op=begun,
            parent=op,
            role=invocation.role,
            source=f"role:{invocation.role}",
            destination="human",
            title=arguments.title(),
            question_id=id_of(begun),
            text=event_text(arguments.question),
            context=event_text(arguments.context),
            options=list(arguments.options),
            expires_at=person.expires_at,
        )
    )
    draft.change_call(op, asked.id, stage="asking", op=begun, person=person)
    draft.do(AskPerson(begun, asked_item(invocation.role, begun, arguments, seconds)))
    return None


def take_answer(draft: Draft, invocation: RoleRun, asked: OpenCall, answer: Answered) -> ToolResult:
    """A person's answer to the open question of `asked`, as its model reads it."""
    draft.emit(
        QuestionAnswered(
            **draft.head(),
            op=asked.op,
            role=invocation.role,
            question_id=id_of(asked.op),
            outcome="success",
            text=event_text(answer.text),
            author=answer.author,
            intervention=answer.item,
        )
    )
    said = check(AskHuman, asked.call.arguments)
    question = one_line(said.question if isinstance(said, AskHuman) else "", 120)
    withdraw(draft, asked.op)
    return ToolResult(blocks=[block(answer.text, origin="person", label=f"answer of a person to: {question}")])


def expire(draft: Draft, invocation: RoleRun, asked: OpenCall) -> ToolResult:
    """Nobody answered; the model is told, and told what that does not mean."""
    unanswered(draft, asked.op, invocation.role, "error")
    return failed("no_answer", _SILENCE)


def cannot_ask(draft: Draft, invocation: RoleRun, asked: OpenCall, why: str) -> ToolResult:
    """The gateway did not take the question."""
    unanswered(draft, asked.op, invocation.role, "error")
    return failed("ask_failed", f"no person could be asked: {why[:500]}")


def cancel(draft: Draft, invocation: RoleRun, asked: OpenCall) -> None:
    """The question is not wanted any more."""
    unanswered(draft, asked.op, invocation.role, "cancelled")


def unanswered(draft: Draft, op: OpId, role: str, outcome: Outcome) -> None:
    """Ends a question that got no answer, here and at the gateway."""
    draft.emit(QuestionAnswered(**draft.head(), op=op, role=role, question_id=id_of(op), outcome=outcome))
    withdraw(draft, op)


def withdraw(draft: Draft, op: OpId) -> None:
    """Has the gateway close the question."""
    closing.close(draft, Withdraw(op, id_of(op)))


def put_again(draft: Draft, invocation: RoleRun, asked: OpenCall, person: PersonWait) -> None:
    """A later attempt asks the open question once more; the gateway knows it by its id."""
    arguments = check(AskHuman, asked.call.arguments)
    if isinstance(arguments, BadArguments):
        return
    seconds = moments.seconds_left(person, draft.at.elapsed_milliseconds)
    draft.do(AskPerson(asked.op, asked_item(invocation.role, asked.op, arguments, seconds)))


def open_texts(state: State) -> tuple[str, ...]:
    """The questions of this Run that nobody has answered yet, each on one line."""
    asked = (check(AskHuman, call.call.arguments) for _, call, _ in state.for_people() if call.stage == "asking")
    return tuple(
        one_line(said.question, limits.EVENT_MESSAGE_MAX_CHARS) for said in asked if isinstance(said, AskHuman)
    )
