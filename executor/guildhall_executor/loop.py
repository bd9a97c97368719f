"""The agent loop. `step` is pure: equal state and input give equal state and effects, so a journal can rebuild it.

No I/O, clock or randomness may be imported here or below; time and numbers come in with the input.
"""

from guildhall_executor import budget, calls, codecalls, ending, losses, opening, people, replies, waits
from guildhall_executor.draft import Draft
from guildhall_executor.effects import Effect
from guildhall_executor.inputs import (
    Answered,
    AskFailed,
    At,
    Began,
    Broken,
    ChangesTaken,
    CodeCalled,
    Decided,
    Interrupted,
    Replied,
    ReplyFailed,
    Resumed,
    ToolEnded,
)
from guildhall_executor.state import State


def step(state: State, at: At) -> tuple[State, tuple[Effect, ...]]:
    """What `at.input` does to the Run. Inputs that no longer fit (a reply after the end) change nothing."""
    draft = Draft(state, at)
    _take(draft)
    budget.look_at_the_clock(draft)
    waits.look_at_the_clock(draft)
    while (op := draft.next_awake()) is not None:
        if draft.is_at_work(op):
            _go_on(draft, op)
    return draft.state, tuple(draft.effects)


def _go_on(draft: Draft, op: str) -> None:
    """What an invocation can do without waiting; it is asked again when it was changed."""
    invocation = draft.role(op)
    if invocation.wait is not None:
        return
    if invocation.calls:
        calls.go_on(draft, op)
    else:
        replies.ask(draft, op)


def _take(draft: Draft) -> None:
    match draft.at.input:
        case Began(external=external, external_problem=problem):
            opening.equip(draft, external)
            opening.begin(draft, problem)
        case Resumed():
            opening.resume(draft)
        case Replied(reply=reply):
            replies.take(draft, reply)
        case ReplyFailed(call_id=call_id, error=error):
            replies.take_failure(draft, call_id, error)
        case ToolEnded(op=op, result=result, away_milliseconds=away):
            codecalls.end(draft, op)
            if calls.take_result(draft, op, result):
                losses.judge(draft, op, result, away)
        case CodeCalled() as called:
            codecalls.take(draft, called)
        case Broken(error=error, reason=reason):
            ending.fail(draft, error, reason)
        case ChangesTaken():
            ending.seal(draft)
        case _:
            _take_from_people(draft)


def _take_from_people(draft: Draft) -> None:
    match draft.at.input:
        case Interrupted() as interrupt:
            people.interrupt(draft, interrupt)
        case Answered() as answer:
            waits.answered(draft, answer)
        case Decided() as decision:
            waits.decided(draft, decision)
        case AskFailed() as failure:
            waits.ask_failed(draft, failure)
        case _:  # a Tick: what ends by the clock is looked at after every input
            pass
