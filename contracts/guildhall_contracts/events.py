"""LogEvents: the record of a Run, one JSON line each; and the codec. Any bytes decode to a value or a typed refusal.

Guards the api and the console against whatever reaches an executor's stdout.
"""

import json
from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from guildhall_contracts import limits
from guildhall_contracts.base import (
    EventText,
    Message,
    OpId,
    Record,
    RoleName,
    Sha256,
    Summary,
    Task,
    Timestamp,
    Title,
    ToolOutput,
    Uid,
)
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.guild import Budget
from guildhall_contracts.intervention import ItemId
from guildhall_contracts.model_api import CallUsage, StopReason
from guildhall_contracts.policy import Effect

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


class RoleFace(Record):
    """A role as the console draws it before anything has run."""

    name: RoleName
    label: str = Field(max_length=limits.LABEL_TEXT_MAX_CHARS)
    kind: Literal["role", "handler"]
    tools: list[WireToolName] = Field(max_length=limits.TOOLS_PER_ROLE_MAX_COUNT + 1)
    delegates: list[RoleName] = Field(default_factory=list, max_length=limits.DELEGATES_PER_ROLE_MAX_COUNT)


class RunStarted(Opening):
    """Opens the task operation, human to entry role. A resumed attempt writes it again with `resumedFrom`."""

    type: Literal["run.started"] = "run.started"
    guild: str = Field("", max_length=limits.NAME_MAX_CHARS)
    guild_digest: Sha256
    entry_role: RoleName
    roles: list[RoleFace] = Field(min_length=1, max_length=limits.ROLES_MAX_COUNT)
    task: Task
    mode: Literal["interactive", "scheduled"]
    private: bool = False
    budget: Budget
    isolation: Literal["verified", "not_required", "unknown"] = "unknown"
    resumed_from: int | None = Field(None, ge=1)


class RunSummarized(Event):
    """One plain line for lists."""

    type: Literal["run.summarized"] = "run.summarized"
    summary: Summary


class RunFinished(Opening):
    """Opens and ends the result operation (parent: the task, which ends too, with every operation still open)."""

    type: Literal["run.finished"] = "run.finished"
    outcome: Literal["succeeded", "failed", "cancelled"]
    result: EventText = ""
    artifacts: list[Title] = Field(default_factory=list, max_length=limits.EVENT_ARTIFACTS_MAX_COUNT)
    error: ErrorInfo | None = None


class RoleStarted(Opening):
    """A role begins. The entry role's `op` is the task operation; any other opens a delegation from its caller."""

    type: Literal["role.started"] = "role.started"
    brief: EventText = ""
    call: str | None = Field(None, max_length=128)


class RoleFinished(Event):
    """A role ends. For a delegation it ends the operation; the entry role's ends with the Run."""

    type: Literal["role.finished"] = "role.finished"
    op: OpId
    outcome: Outcome
    summary: EventText = ""


class ModelStarted(Opening):
    """Opens a model call; source and destination are the role itself."""

    type: Literal["model.started"] = "model.started"
    call_id: str = Field(max_length=64)
    model: str = Field(max_length=128)


class ModelText(Event):
    """A piece of the reply while it streams; `model.finished` has it whole."""

    type: Literal["model.text"] = "model.text"
    op: OpId
    text: EventText


class CallHead(Record):
    call: str = Field(max_length=128)
    name: WireToolName


class ModelFinished(Event):
    type: Literal["model.finished"] = "model.finished"
    op: OpId
    outcome: Outcome
    stop_reason: StopReason | None = None
    text: EventText = ""
    text_cut: bool = False
    calls: list[CallHead] = Field(default_factory=list, max_length=limits.TOOL_CALLS_PER_REPLY_MAX_COUNT)
    usage: CallUsage = CallUsage()
    cost_micro_usd: int | None = Field(None, ge=0)
    scripted: bool = False
    error: ErrorInfo | None = None


class ToolStarted(Opening):
    """Opens a tool call, role to `tool:<name>`. `arguments` is JSON text, cut when `argumentsCut`."""

    type: Literal["tool.started"] = "tool.started"
    call: str = Field(max_length=128)
    tool: WireToolName
    effect: Effect | None = None
    arguments: EventText
    arguments_sha256: Sha256 | None = None
    arguments_cut: bool = False


class ToolProgress(Event):
    type: Literal["tool.progress"] = "tool.progress"
    op: OpId
    text: EventText


class ToolFinished(Event):
    """Ends a tool call. `output` is what the model was shown, cut to the event's bound; the blob has more."""

    type: Literal["tool.finished"] = "tool.finished"
    op: OpId
    outcome: Outcome
    output: ToolOutput = ""
    omitted_bytes: int = Field(0, ge=0)
    blob: Sha256 | None = None
    exit_code: int | None = Field(None, ge=0, le=255)
    error_code: str | None = Field(None, max_length=64)


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


class PlanItem(Record):
    text: str = Field(max_length=limits.EVENT_PLAN_ITEM_MAX_CHARS)
    status: Literal["pending", "active", "done", "dropped"]


class PlanUpdated(Opening):
    """Opens and ends a plan operation, role to itself; the items replace the plan."""

    type: Literal["plan.updated"] = "plan.updated"
    items: list[PlanItem] = Field(max_length=limits.EVENT_PLAN_ITEMS_MAX_COUNT)


class BudgetWarned(Event):
    type: Literal["budget.warned"] = "budget.warned"
    kind: Literal["cost", "tokens", "steps", "seconds"]
    used: int = Field(ge=0)
    limit: int = Field(ge=0)


class ChangedFile(Record):
    """One file of the patch; `willRun` marks hooks, CI files, build files and agent instructions.

    `generated` is a hint that a tool made it: a build's output, a lock file, minified text.
    """

    path: str = Field(max_length=limits.PATH_MAX_CHARS)
    status: Literal["added", "modified", "deleted", "renamed"]
    added: int = Field(0, ge=0)
    removed: int = Field(0, ge=0)
    binary: bool = False
    will_run: bool = False
    generated: bool = False


class ChangesUpdated(Event):
    """The whole change set so far, derived from the patch by the executor; `patchSHA256` names the blob."""

    type: Literal["changes.updated"] = "changes.updated"
    patch_sha256: Sha256 | None = None
    patch_bytes: int = Field(0, ge=0)
    files: list[ChangedFile] = Field(default_factory=list, max_length=limits.EVENT_CHANGED_FILES_MAX_COUNT)
    files_total: int = Field(0, ge=0)
    added: int = Field(0, ge=0)
    removed: int = Field(0, ge=0)
    omitted: list[Title] = Field(default_factory=list, max_length=100)


class ErrorRaised(Event):
    type: Literal["error.raised"] = "error.raised"
    error: ErrorInfo


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
EVENT_TYPES: Final = frozenset(
    {
        "run.started", "run.summarized", "run.finished", "role.started", "role.finished", "model.started", "model.text",
        "model.finished", "tool.started", "tool.progress", "tool.finished", "question.asked", "question.answered",
        "approval.requested", "approval.decided", "interrupt.received", "interrupt.answered", "interrupt.triggered",
        "plan.updated", "budget.warned", "changes.updated", "error.raised",
    }
)  # fmt: skip


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
