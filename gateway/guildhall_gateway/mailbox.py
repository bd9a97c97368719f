"""The mailbox, decided: is an Intervention for this Run, what does it become, where does a cursor point. Pure.

Guards against acts meant for another Run of the same name, and against a cursor that hides what was not yet read.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from guildhall_contracts.approvals import ApprovalDecision
from guildhall_contracts.base import first_problem
from guildhall_contracts.intervention import InterventionSpec
from guildhall_contracts.model_api import MailboxItem
from pydantic import ValidationError

from guildhall_gateway.runs import InterventionView, RunView

_CURSOR: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,12})\.([0-9]{1,12})")


@dataclass(frozen=True, slots=True)
class Cursor:
    """What the executor has: items up to `read`, and the archive figures it was told last."""

    read: int = 0
    stored_seq: int = -1
    resend_from: int = 0

    def text(self) -> str:
        return f"{self.read}.{max(self.stored_seq, 0)}.{self.resend_from}"


def parse_cursor(text: str) -> Cursor:
    """The cursor in `text`; anything unreadable starts from the beginning, since items are idempotent by id."""
    match = _CURSOR.fullmatch(text) if len(text) <= 64 else None
    return Cursor(*(int(part) for part in match.groups())) if match else Cursor()


def news(cursor: Cursor, run: RunView) -> bool:
    """Whether the archive figures differ from what the executor was told."""
    return cursor.stored_seq != run.stored_seq or cursor.resend_from != (run.resend_from or 0)


@dataclass(frozen=True, slots=True)
class Turned:
    """An Intervention that is not delivered, and what its status shall say."""

    state: Literal["Expired", "Refused"]
    message: str


FULL: Final = Turned("Refused", "the mailbox of this Run is full")


def judged(item: InterventionView, run: RunView) -> MailboxItem | Turned:
    """What an Intervention becomes for its Run."""
    try:
        spec = InterventionSpec.model_validate(item.spec)
    except ValidationError as error:
        return Turned("Refused", "spec.{}: {}".format(*first_problem(error)))
    if spec.run_ref.uid != run.uid or spec.run_ref.name != run.name or item.namespace != run.namespace:
        return Turned("Refused", "runRef does not name this Run by name and uid")
    bodies = [body for body in (spec.answer, spec.approval, spec.interrupt) if body is not None]
    if len(bodies) != 1:
        return Turned("Refused", "exactly one of answer, approval, interrupt must be given")
    if run.finished:
        return Turned("Expired", "the Run is over")
    approval = spec.approval
    decision = None
    if approval is not None:
        decision = ApprovalDecision(
            approval_id=approval.approval_id,
            arguments_hash=approval.arguments_hash,
            decision=approval.decision,
            author=spec.author,
        )
    return MailboxItem(id=item.uid, author=spec.author, answer=spec.answer, approval=decision, interrupt=spec.interrupt)


def cancel_item(run: RunView) -> MailboxItem:
    """The item that tells an executor that its Run was cancelled."""
    return MailboxItem(id=f"cancel-{run.uid}"[:64], cancel=True)
