"""What ends a wait for a person, once: an answer, a decision, time, or that nobody could be asked."""

from guildhall_executor import approvals, calls, closing, inquiries, moments, questions, stops
from guildhall_executor.draft import Draft
from guildhall_executor.inputs import Answered, AskFailed, Decided
from guildhall_executor.state import OpenCall, PersonWait, RoleRun
from guildhall_executor.tools.arguments import BadArguments
from guildhall_executor.tools.result import ToolResult, failed


def answered(draft: Draft, answer: Answered) -> None:
    """An answer reaches the question that is open under its id, and nothing else."""
    if not draft.first_time(answer.item):
        return
    stop = draft.state.stop
    if stop is not None and questions.id_of(stop.op) == answer.question_id:
        stops.take_answer(draft, stop, answer)
        return
    for invocation, asked, _ in tuple(draft.state.for_people()):
        if asked.stage == "asking" and questions.id_of(asked.op) == answer.question_id:
            calls.settle(draft, invocation.op, asked, questions.take_answer(draft, invocation, asked, answer))


def decided(draft: Draft, decision: Decided) -> None:
    """A decision reaches the call whose approval it names, if that still waits."""
    if not draft.first_time(decision.item):
        return
    for invocation, asked, _ in tuple(draft.state.for_people()):
        if asked.stage == "approving" and asked.approval == decision.approval_id:
            _decide(draft, invocation, asked, decision)


def _decide(draft: Draft, invocation: RoleRun, asked: OpenCall, decision: Decided) -> None:
    arguments = calls.checked(asked.call)
    if isinstance(arguments, BadArguments):  # it was sound when it was asked about
        refusal: ToolResult | None = failed("invalid_arguments", arguments.message)
    else:
        refusal = approvals.take_decision(draft, invocation, asked, arguments, decision)
    if refusal is not None:
        calls.refuse(draft, invocation.op, asked, refusal)
    elif asked.code:
        calls.begin(draft, invocation.op, draft.call(invocation.op, asked.id))


def ask_failed(draft: Draft, failure: AskFailed) -> None:
    """The gateway did not take a question or a request for approval."""
    stop = draft.state.stop
    if stop is not None and stop.op == failure.op:
        stops.give_up(draft, stop)
        return
    for invocation, asked, _ in tuple(draft.state.for_people()):
        if asked.op != failure.op:
            continue
        if asked.stage == "asking":
            result = questions.cannot_ask(draft, invocation, asked, failure.error.message)
            calls.settle(draft, invocation.op, asked, result)
        else:
            refusal = approvals.cannot_ask(draft, invocation, asked, failure.error.message)
            calls.refuse(draft, invocation.op, asked, refusal)


def look_at_the_clock(draft: Draft) -> None:
    """Ends the waits whose time is over."""
    now = draft.at.elapsed_milliseconds
    stop = draft.state.stop
    if stop is not None and now >= stop.person.until_milliseconds:
        stops.give_up(draft, stop)
    for invocation, asked, person in tuple(draft.state.for_people()):
        if now < person.until_milliseconds or draft.state.ending is not None:
            continue
        if asked.stage == "asking":
            calls.settle(draft, invocation.op, asked, questions.expire(draft, invocation, asked))
        else:
            calls.refuse(draft, invocation.op, asked, approvals.expire(draft, invocation, asked))


def take_up(draft: Draft) -> None:
    """A later attempt: what is open is put to people again, with the time that is left."""
    stops.take_up(draft)
    inquiries.take_up(draft)
    closing.say_again(draft)
    for invocation, asked, person in tuple(draft.state.for_people()):
        left = moments.taken_up(person, draft.at.ts, draft.at.elapsed_milliseconds)
        draft.change_call(invocation.op, asked.id, person=left)
        _put_again(draft, invocation, asked, left)


def _put_again(draft: Draft, invocation: RoleRun, asked: OpenCall, person: PersonWait) -> None:
    if asked.stage == "asking":
        questions.put_again(draft, invocation, asked, person)
        return
    arguments = calls.checked(asked.call)
    if not isinstance(arguments, BadArguments):
        approvals.put_again(draft, invocation, asked, arguments, person)
