"""What every LogEvent carries, and the words they share."""

from typing import Annotated, Final, Literal

from pydantic import Field

from guildhall_contracts import limits
from guildhall_contracts.base import (
    OpId,
    Record,
    RoleName,
    Timestamp,
    Title,
    Uid,
)

VERSION: Final = 1

Participant = Annotated[str, Field(pattern=r"^(human|tools|role:[a-z][-a-z0-9]*|tool:[a-z][a-z0-9_]*)$", max_length=80)]
Outcome = Literal["success", "error", "cancelled"]
WireToolName = Annotated[str, Field(min_length=1, max_length=200)]


class Event(Record):
    """The envelope. `seq` counts from 1 per Run, across attempts; `op` is `o<seq of the operation's first event>`."""

    v: Literal[1] = 1
    run: Uid
    attempt: int = Field(ge=1, le=limits.ATTEMPTS_MAX_COUNT)
    seq: int = Field(ge=1, le=2**53 - 1)
    ts: Timestamp
    op: OpId | None = None
    parent: OpId | None = None
    role: RoleName | None = None


class Opening(Event):
    """An event that opens an operation: who acts on whom, and under which operation."""

    op: OpId
    source: Participant
    destination: Participant
    title: Title = ""
