"""LogEvents: the record of a Run, one JSON line each; and the codec. Any bytes decode to a value or a typed refusal.

Guards the api and the console against whatever reaches an executor's stdout.
"""

import json
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import Field, TypeAdapter, ValidationError

from guildhall_contracts import limits
from guildhall_contracts.base import Record, Timestamp, Title, Uid
from guildhall_contracts.event_envelope import (
    VERSION,
    Event,
    Opening,
    Outcome,
    Participant,
    WireToolName,
)
from guildhall_contracts.event_people import (
    ApprovalDecided,
    ApprovalRequested,
    InterruptAnswered,
    InterruptReceived,
    InterruptTriggered,
    QuestionAnswered,
    QuestionAsked,
)
from guildhall_contracts.event_work import (
    BudgetWarned,
    CallHead,
    ChangedFile,
    ChangesUpdated,
    ErrorRaised,
    ModelFinished,
    ModelStarted,
    ModelText,
    PlanItem,
    PlanUpdated,
    RoleFace,
    RoleFinished,
    RoleStarted,
    RunFinished,
    RunStarted,
    RunSummarized,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)

__all__ = [
    "EVENT_TYPES",
    "VERSION",
    "ApprovalDecided",
    "ApprovalRequested",
    "BudgetWarned",
    "CallHead",
    "ChangedFile",
    "ChangesUpdated",
    "ErrorRaised",
    "Event",
    "InterruptAnswered",
    "InterruptReceived",
    "InterruptTriggered",
    "KnownEvent",
    "ModelFinished",
    "ModelStarted",
    "ModelText",
    "Opening",
    "Outcome",
    "Participant",
    "PlanItem",
    "PlanUpdated",
    "QuestionAnswered",
    "QuestionAsked",
    "RoleFace",
    "RoleFinished",
    "RoleStarted",
    "RunFinished",
    "RunStarted",
    "RunSummarized",
    "ToolFinished",
    "ToolProgress",
    "ToolStarted",
    "UnknownEvent",
    "Unreadable",
    "WireToolName",
    "decode_event",
    "encode_event",
    "unreadable",
]

KnownEvent = Annotated[
    RunStarted
    | RunSummarized
    | RunFinished
    | RoleStarted
    | RoleFinished
    | ModelStarted
    | ModelText
    | ModelFinished
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | QuestionAsked
    | QuestionAnswered
    | ApprovalRequested
    | ApprovalDecided
    | InterruptReceived
    | InterruptAnswered
    | InterruptTriggered
    | PlanUpdated
    | BudgetWarned
    | ChangesUpdated
    | ErrorRaised,
    Field(discriminator="type"),
]
EVENT_TYPES: Final = frozenset(model.model_fields["type"].default for model in get_args(get_args(KnownEvent)[0]))


class UnknownEvent(Record):
    """A line with a sound envelope and a type this version does not know: listed, never fatal. `raw` is its JSON."""

    v: int = Field(ge=1)
    run: Uid
    attempt: int = Field(ge=1, le=limits.ATTEMPTS_MAX_COUNT)
    seq: int = Field(ge=1, le=2**53 - 1)
    ts: Timestamp
    type: str = Field(min_length=1, max_length=64, pattern=r"^[a-z]+\.[a-z_]+$")
    raw: str = Field(max_length=limits.EVENT_MAX_BYTES)


class Unreadable(Record):
    """Bytes on an executor's stdout that are no LogEvent: shown where they stood, after event `after`."""

    type: Literal["unreadable"] = "unreadable"
    after: int = Field(ge=0)
    reason: Title
    bytes: int = Field(ge=0)
    text: str = Field("", max_length=limits.UNREADABLE_SHOWN_MAX_CHARS)


_EVENTS: TypeAdapter[KnownEvent] = TypeAdapter(KnownEvent)
_validate_json = _EVENTS.validator.validate_json  # the adapter's own method costs a tenth more


def encode_event(event: KnownEvent) -> bytes:
    """`event` as one ASCII line with its newline. Raises ValueError over `EVENT_MAX_BYTES`."""
    line = json.dumps(event.to_wire(), ensure_ascii=True, separators=(",", ":"), allow_nan=False).replace(
        "\x7f", "\\u007f"
    )
    if len(line) > limits.EVENT_MAX_BYTES:
        raise ValueError(
            f"event {event.seq} ({event.type}) is {len(line)} bytes; at most {limits.EVENT_MAX_BYTES} are allowed"
        )
    return line.encode("ascii") + b"\n"


def _shown(line: bytes) -> str:
    text = line[: limits.UNREADABLE_SHOWN_MAX_CHARS].decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)[: limits.UNREADABLE_SHOWN_MAX_CHARS]


def unreadable(line: bytes, after: int, reason: str) -> Unreadable:
    """The row that stands for bytes nobody could read."""
    return Unreadable(after=after, reason=reason[: limits.EVENT_TITLE_MAX_CHARS], bytes=len(line), text=_shown(line))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _unknown(line: bytes, after: int) -> UnknownEvent | Unreadable:
    try:
        value: Any = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return unreadable(line, after, "not a JSON line")
    if not isinstance(value, dict):
        return unreadable(line, after, "not a JSON object")
    if isinstance(value.get("type"), str) and value["type"] in EVENT_TYPES:
        return unreadable(line, after, f"a {value['type']} event with unsound fields")
    try:
        kept = {name: value.get(name) for name in ("v", "run", "attempt", "seq", "ts", "type")}
        return UnknownEvent.model_validate({**kept, "raw": line.decode("utf-8", "backslashreplace")}, strict=True)
    except ValidationError:
        return unreadable(line, after, "no LogEvent")


def decode_event(line: bytes, after: int = 0) -> KnownEvent | UnknownEvent | Unreadable:
    """One line (without newline) as an event. Any bytes give a value; `after` is the last seq before it."""
    if len(line) > limits.EVENT_MAX_BYTES:
        return unreadable(line, after, f"a line of {len(line)} bytes; at most {limits.EVENT_MAX_BYTES} are read")
    try:
        event: KnownEvent = _validate_json(line, strict=True)  # "5" is no seq: others read the same line
    except ValidationError:
        return _unknown(line, after)
    return event
