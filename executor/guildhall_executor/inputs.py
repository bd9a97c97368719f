"""What can happen to a Run, as the loop sees it; each input is journalled before it is acted upon.

The state of a Run is the fold of these over `loop.step`, so they hold everything the fold needs: whole replies, whole
results, the clock and the number of the last event.
"""

from typing import Annotated, Final, Literal

from guildhall_contracts import limits
from guildhall_contracts.base import ArgumentsText, OpId, Record, Sha256, Timestamp
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.external import ExternalTool
from guildhall_contracts.intervention import ItemId
from guildhall_contracts.model_api import ModelReply
from pydantic import Field, TypeAdapter, ValidationError

from guildhall_executor.tools.result import ToolResult


class Began(Record):
    """The first input of a Run: the external tools it is offered, which stay the most it has; or why it has none."""

    kind: Literal["began"] = "began"
    external: list[ExternalTool] = Field(default_factory=list, max_length=limits.EXTERNAL_TOOLS_PER_RUN_MAX_COUNT)
    external_problem: str = Field("", max_length=limits.EVENT_MESSAGE_MAX_CHARS)


class Resumed(Record):
    """A later attempt took over; whatever was in flight is dead."""

    kind: Literal["resumed"] = "resumed"


class Replied(Record):
    """The model answered call `reply.callId`."""

    kind: Literal["replied"] = "replied"
    reply: ModelReply


class ReplyFailed(Record):
    """The model call `callId` failed for good: retries are over, or would not help."""

    kind: Literal["reply_failed"] = "reply_failed"
    call_id: str = Field(max_length=64)
    error: ErrorInfo


class ToolEnded(Record):
    """The tool operation `op` ended. `awayMilliseconds`: since when no workshop answers, when that is why."""

    kind: Literal["tool_ended"] = "tool_ended"
    op: OpId
    result: ToolResult
    away_milliseconds: int | None = Field(None, ge=0)


class Interrupted(Record):
    """A person interrupted (`intent`), or cancelled the Run. `item` makes a second delivery harmless."""

    kind: Literal["interrupted"] = "interrupted"
    item: ItemId
    intent: Literal["inquire", "redirect", "abort", "cancel"]
    message: str = Field("", max_length=limits.EVENT_MESSAGE_MAX_CHARS + 96)
    author: str = Field("", max_length=256)


class Answered(Record):
    """A person answered a question. `item` makes a second delivery harmless."""

    kind: Literal["answered"] = "answered"
    item: ItemId
    question_id: ItemId
    text: str = Field(max_length=16_384)
    author: str = Field("", max_length=256)


class Decided(Record):
    """A person decided on an approval. `item` makes a second delivery harmless."""

    kind: Literal["decided"] = "decided"
    item: ItemId
    approval_id: ItemId
    arguments_hash: Sha256
    decision: Literal["approve", "deny"]
    author: str = Field("", max_length=256)


class AskFailed(Record):
    """The question or approval of operation `op` could not be put to people."""

    kind: Literal["ask_failed"] = "ask_failed"
    op: OpId
    error: ErrorInfo


class CodeCalled(Record):
    """Code that runs as operation `op` called a tool, its call number `id`; it waits for the answer."""

    kind: Literal["code_called"] = "code_called"
    op: OpId
    id: int = Field(ge=1, le=limits.CODE_CALLS_MAX_COUNT)
    tool: str = Field(max_length=200)
    arguments: ArgumentsText


class Tick(Record):
    """Time has passed; the loop looks at what ends by the clock."""

    kind: Literal["tick"] = "tick"


class Broken(Record):
    """Something outside the loop makes going on wrong: lost isolation, a failed journal, a fault of our own."""

    kind: Literal["broken"] = "broken"
    error: ErrorInfo
    reason: str = Field("", max_length=40)


class ChangesTaken(Record):
    """The last look at the change set is over, whether it succeeded or not."""

    kind: Literal["changes_taken"] = "changes_taken"


AnyInput = Annotated[
    Began
    | Resumed
    | Replied
    | ReplyFailed
    | ToolEnded
    | Interrupted
    | Answered
    | Decided
    | AskFailed
    | CodeCalled
    | Tick
    | Broken
    | ChangesTaken,
    Field(discriminator="kind"),
]


class At(Record):
    """An input with its place and time: events written before it, the stamp its events get, the Run's age."""

    seq: int = Field(ge=0)
    attempt: int = Field(1, ge=1, le=limits.ATTEMPTS_MAX_COUNT)
    ts: Timestamp
    elapsed_milliseconds: int = Field(0, ge=0)
    input: AnyInput


_AT: Final[TypeAdapter[At]] = TypeAdapter(At)


def encode_at(at: At) -> bytes:
    """One line of `inputs.jsonl`, with its newline."""
    return at.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n"


def decode_at(line: bytes) -> At | None:
    """A line of `inputs.jsonl`; None for anything else, a torn last line above all."""
    try:
        return _AT.validate_json(line)
    except ValidationError:
        return None
