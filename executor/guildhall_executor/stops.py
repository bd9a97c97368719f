"""The soft stop at a budget: a person is asked whether the Run may spend once more what it was given.

Guards people's money: only the gateway raises a limit, by the same answer; nothing is spent while nobody has said yes.
"""

from dataclasses import replace
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.base import OpId, dollars
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.events import QuestionAnswered, QuestionAsked
from guildhall_contracts.model_api import BUDGET_CONTINUE, AskedItem

from guildhall_executor import ending, moments, questions
from guildhall_executor.draft import Draft
from guildhall_executor.effects import AskPerson
from guildhall_executor.emit import event_text
from guildhall_executor.inputs import Answered
from guildhall_executor.state import PersonWait, Stop

OPTIONS: Final = (BUDGET_CONTINUE, "stop")


def is_soft(draft: Draft, error: ErrorInfo) -> bool:
    """Whether the gateway's refusal of a call leaves it to a person."""
    interactive = draft.state.roster.snapshot.mode == "interactive"
    return interactive and error.kind == "budget_exhausted" and error.detail.get("stop") == "soft"


def holds(draft: Draft, op: OpId) -> bool:
    """While a person is asked no role asks its model; each goes on when there is a yes."""
    stop = draft.state.stop
    if stop is None:
        return False
    if op not in stop.held:
        draft.change(stop=replace(stop, held=(*stop.held, op)))
    return True


def ask(draft: Draft, op: OpId, error: ErrorInfo) -> None:
    """Asks a person, once for all roles that come to the limit."""
    if draft.state.stop is not None:
        return
    role = draft.role(op).role
    text = _words(error)
    seconds = questions.time_limit(draft, limits.BUDGET_QUESTION_SECONDS)
    person = moments.person_wait(draft.at.ts, draft.at.elapsed_milliseconds, seconds)
    begun = draft.next_op
    draft.emit(
        QuestionAsked(
            **draft.head(),
            op=begun,
            parent=op,
            role=role,
            source=f"role:{role}",
            destination="human",
            title="the budget is used up",
            question_id=questions.id_of(begun),
            text=event_text(text),
            options=list(OPTIONS),
            expires_at=person.expires_at,
        )
    )
    draft.change(stop=Stop(begun, role, text, person, error))
    put(draft)


def _words(error: ErrorInfo) -> str:
    more = ", ".join(
        said
        for key, said in (
            ("moreMicroUSD", f"{_dollars(error.detail.get('moreMicroUSD', ''))} more"),
            ("moreTokens", f"{error.detail.get('moreTokens', '')} more tokens"),
        )
        if error.detail.get(key)
    )
    what = f" Continue with {more}?" if more else " Continue with as much again?"
    return (
        f"The Run stands at its budget: {error.message[:1_000]}.{what} Without an answer it ends; its changes are kept."
    )


def _dollars(micro_usd: str) -> str:
    return dollars(int(micro_usd)) if micro_usd.isdecimal() and len(micro_usd) < 16 else micro_usd[:20]


def put(draft: Draft) -> None:
    """Puts the open question to people; a later attempt does it again."""
    stop = draft.state.stop
    if stop is None:
        return
    seconds = moments.seconds_left(stop.person, draft.at.elapsed_milliseconds)
    item = AskedItem(
        id=questions.id_of(stop.op),
        kind="budget",
        role=stop.role,
        text=stop.text,
        options=list(OPTIONS),
        expires_seconds=seconds,
    )
    draft.do(AskPerson(stop.op, item))


def take_answer(draft: Draft, stop: Stop, answer: Answered) -> None:
    """`continue`, and nothing else, lets the Run go on; the gateway has read the same word."""
    draft.emit(
        QuestionAnswered(
            **draft.head(),
            op=stop.op,
            role=stop.role,
            question_id=questions.id_of(stop.op),
            outcome="success",
            text=event_text(answer.text),
            author=answer.author,
            intervention=answer.item,
        )
    )
    questions.withdraw(draft, stop.op)
    draft.change(stop=None)
    if answer.text.strip().lower() != BUDGET_CONTINUE:
        ending.fail(draft, stop.error)
        return
    draft.change(raises=draft.state.raises + 1, warned=draft.state.warned - {"cost", "tokens"})
    for op in stop.held:
        draft.wake(op)


def give_up(draft: Draft, stop: Stop) -> None:
    """Nobody answered, or nobody could be asked: the Run ends at its budget."""
    questions.unanswered(draft, stop.op, stop.role, "error")
    draft.change(stop=None)
    ending.fail(draft, stop.error)


def take_up(draft: Draft) -> None:
    """A later attempt finds the Run standing."""
    stop = draft.state.stop
    if stop is not None:
        person: PersonWait = moments.taken_up(stop.person, draft.at.ts, draft.at.elapsed_milliseconds)
        draft.change(stop=replace(stop, person=person))
        put(draft)
