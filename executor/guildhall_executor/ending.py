"""How a Run ends. The first decision stands; then the change set is taken a last time, and only then it is sealed."""

from dataclasses import replace

from guildhall_contracts import limits
from guildhall_contracts.base import one_line
from guildhall_contracts.conditions import ERROR_KIND_REASONS
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.events import (
    ErrorRaised,
    InterruptAnswered,
    ModelFinished,
    Outcome,
    RoleFinished,
    RunFinished,
    RunSummarized,
)

from guildhall_executor import farewell, questions, record
from guildhall_executor.draft import TASK_OP, Draft
from guildhall_executor.effects import Seal, StopWork, TakeChanges
from guildhall_executor.emit import bounded_artifacts, bounded_error, event_text
from guildhall_executor.state import Ending, RoleRun
from guildhall_executor.tools.plan import plan_markdown

_HARD_STOPS = frozenset({"budget_exhausted", "deadline"})
_ROLE_OUTCOMES: dict[str, Outcome] = {"succeeded": "success", "failed": "error", "cancelled": "cancelled"}


def fail(draft: Draft, error: ErrorInfo, reason: str = "") -> None:
    """The Run fails with `error`; `reason` overrides the one its kind stands for."""
    if draft.state.ending is not None:
        return
    error = bounded_error(error)
    so_far = farewell.so_far(draft.state, error) if error.kind in _HARD_STOPS else ""
    _stop_work(draft)
    draft.emit(ErrorRaised(**draft.head(), role=_role(draft), error=error))
    summary = one_line(f"Failed: {error.message}", limits.SUMMARY_MAX_CHARS)
    why = reason or ERROR_KIND_REASONS[error.kind]
    end(draft, Ending("failed", result=so_far, summary=summary, error=error, reason=why))


def cancel(draft: Draft, author: str, why: str = "") -> None:
    """A person ended the Run, or a handler, who says `why`."""
    by = f" by {author}" if author else ""
    because = f": {why}" if why else ""
    message = f"the Run was cancelled{by}{because}; what was changed until then is kept"
    error = bounded_error(error_info("interrupted", message))
    summary = one_line(f"Cancelled{by}", limits.SUMMARY_MAX_CHARS)
    end(draft, Ending("cancelled", summary=summary, error=error, reason="Cancelled"))


def end(draft: Draft, decision: Ending) -> None:
    """Stops what is in flight, ends every role from the innermost outwards, and asks for the last look."""
    if draft.state.ending is not None:
        return
    _stop_work(draft)
    for invocation in draft.state.from_leaves():
        is_entry = invocation.op == TASK_OP
        draft.emit(
            RoleFinished(
                **draft.head(),
                op=invocation.op,
                role=invocation.role,
                outcome=_ROLE_OUTCOMES[decision.outcome],
                summary=event_text(decision.result) if is_entry else "",
            )
        )
    draft.change(ending=decision)
    draft.do(TakeChanges())


def _role(draft: Draft) -> str | None:
    active = draft.state.active
    return active.role if active else None


def _stop_work(draft: Draft) -> None:
    """Everything in flight ends as cancelled, in every invocation, and whatever people were asked is withdrawn."""
    before = len(draft.effects)
    for invocation in draft.state.from_leaves():
        _stop(draft, invocation)
    for inquiry in draft.state.inquiries:
        record.inquiry_cancelled(draft, inquiry)
    if draft.state.stop is not None:
        questions.unanswered(draft, draft.state.stop.op, draft.state.stop.role, "cancelled")
    draft.change(inquiries=(), stop=None, writer="", queue=())
    if len(draft.effects) > before:
        draft.do(StopWork())


def _stop(draft: Draft, invocation: RoleRun) -> None:
    if invocation.wait is not None:
        role = invocation.role
        draft.emit(ModelFinished(**draft.head(), op=invocation.wait.op, role=role, outcome="cancelled"))
    for call in invocation.all_calls:
        record.cancelled(draft, invocation, call)
    for note in invocation.notes:
        if note.op:
            draft.emit(InterruptAnswered(**draft.head(), op=note.op, outcome="cancelled"))
    draft.change_role(invocation.op, wait=None, calls=(), inner=(), notes=())


def seal(draft: Draft) -> None:
    """The change set is in: the last two events, and the end."""
    decision = draft.state.ending
    if decision is None or decision.sealed:
        return
    draft.emit(RunSummarized(**draft.head(), summary=decision.summary))
    op = draft.next_op
    entry = draft.state.roster.snapshot.guild.entry_role
    draft.emit(
        RunFinished(
            **draft.head(),
            op=op,
            parent=TASK_OP,
            role=entry,
            source=f"role:{entry}",
            destination="human",
            title=decision.outcome,
            outcome=decision.outcome,
            result=event_text(decision.result),
            artifacts=bounded_artifacts(decision.artifacts),
            error=decision.error,
        )
    )
    draft.change(ending=replace(decision, sealed=True))
    draft.do(_seal(draft))


def _seal(draft: Draft) -> Seal:
    decision = draft.state.ending or Ending("failed")
    error = decision.error
    return Seal(
        outcome=decision.outcome,
        result=decision.result,
        summary=decision.summary,
        plan=plan_markdown(draft.state.plan),
        error_kind=error.kind if error else None,
        reason=decision.reason,
        message=error.message if error else decision.summary,
    )


def take_up(draft: Draft) -> None:
    """An attempt that finds the Run decided: it seals it, or only says again how it ended."""
    decision = draft.state.ending
    if decision is not None:
        draft.do(_seal(draft) if decision.sealed else TakeChanges())
