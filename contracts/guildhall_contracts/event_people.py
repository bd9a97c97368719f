"""The LogEvents of people: questions, approvals, interrupts, and what a handler did in a person's place."""

from typing import Literal

from pydantic import Field

from guildhall_contracts.base import (
    EventText,
    Message,
    OpId,
    Sha256,
    Timestamp,
    Title,
)
from guildhall_contracts.event_envelope import Event, Opening, Outcome, WireToolName
from guildhall_contracts.intervention import ItemId


class QuestionAsked(Opening):
    """Opens a question, role to human."""

    type: Literal["question.asked"] = "question.asked"
    question_id: ItemId
    text: EventText
    context: EventText = ""
    options: list[Title] = Field(default_factory=list, max_length=16)
    expires_at: Timestamp | None = None


class QuestionAnswered(Event):
    """Ends a question; `error` when nobody answered in time, `cancelled` when it was withdrawn."""

    type: Literal["question.answered"] = "question.answered"
    op: OpId
    question_id: ItemId
    outcome: Outcome
    text: EventText = ""
    author: str = Field("", max_length=256)
    intervention: ItemId | None = None


class ApprovalRequested(Opening):
    type: Literal["approval.requested"] = "approval.requested"
    approval_id: ItemId
    tool: WireToolName
    arguments_hash: Sha256
    expires_at: Timestamp


class ApprovalDecided(Event):
    type: Literal["approval.decided"] = "approval.decided"
    op: OpId
    approval_id: ItemId
    outcome: Outcome
    decision: Literal["approve", "deny", "expired", "withdrawn"]
    author: str = Field("", max_length=256)


class InterruptReceived(Opening):
    """Opens an inquiry (*inquire*) or an interrupt (*redirect*, *abort*), human to role."""

    type: Literal["interrupt.received"] = "interrupt.received"
    intervention: ItemId
    intent: Literal["inquire", "redirect", "abort"]
    message: Message = ""
    author: str = Field("", max_length=256)


class InterruptAnswered(Event):
    """Ends an inquiry or interrupt; `text` answers an inquiry."""

    type: Literal["interrupt.answered"] = "interrupt.answered"
    op: OpId
    outcome: Outcome
    text: EventText = ""


class InterruptTriggered(Opening):
    """A handler role acted; opens and ends an interrupt, handler to role."""

    type: Literal["interrupt.triggered"] = "interrupt.triggered"
    intent: Literal["redirect", "abort"]
    message: Message = ""
