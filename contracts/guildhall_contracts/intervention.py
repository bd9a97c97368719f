"""An Intervention: one act of a person on a Run. Immutable; delivered by the gateway's mailbox, once."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from guildhall_contracts import limits
from guildhall_contracts.base import Name, Record, Sha256, Uid

ItemId = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")]


class RunRef(Record):
    """Names return, uids do not."""

    name: Name
    uid: Uid


class Answer(Record):
    question_id: ItemId
    text: str = Field(min_length=1, max_length=16_384)


class Approval(Record):
    approval_id: ItemId
    arguments_hash: Sha256
    decision: Literal["approve", "deny"]


class Interrupt(Record):
    """*inquire*: the active role answers and goes on; *redirect*: one marked message; *abort*: the Run ends."""

    intent: Literal["inquire", "redirect", "abort"]
    message: str = Field("", max_length=4_096)


class InterventionSpec(Record):
    """Exactly one of `answer`, `approval`, `interrupt`."""

    run_ref: RunRef
    author: str = Field(min_length=1, max_length=256)
    answer: Answer | None = None
    approval: Approval | None = None
    interrupt: Interrupt | None = None


class InterventionStatus(Record):
    """Written by the gateway only."""

    state: Literal["Delivered", "Consumed", "Expired", "Refused"]
    message: str = Field("", max_length=limits.STATUS_MESSAGE_MAX_CHARS)
    time: str = Field(max_length=32)
