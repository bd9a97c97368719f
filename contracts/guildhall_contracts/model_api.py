"""The gateway as an executor sees it: model calls, blobs and the mailbox. Provider-neutral.

`POST /v1/model` takes a ModelRequest and answers `application/x-ndjson`: any number of Heartbeat and TextDelta lines,
then exactly one ReplyLine or FailureLine. `GET /v1/mailbox?cursor=&waitSeconds=` answers a MailboxPage.
`PUT /v1/blobs/{sha256}` takes the bytes and answers 201 (or 200 when they are there already).
Every answer other than 2xx is a GatewayError. All calls carry `Authorization: Bearer <projected token>`.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, TypeAdapter

from guildhall_contracts import limits
from guildhall_contracts.approvals import ApprovalDecision
from guildhall_contracts.base import (
    ArgumentsText,
    BlobText,
    EventText,
    Record,
    RoleName,
    Sha256,
    ToolName,
    within_bytes,
)
from guildhall_contracts.content import Block
from guildhall_contracts.errors import ErrorInfo, ErrorKind
from guildhall_contracts.guild import GatewayModel
from guildhall_contracts.intervention import Answer, Interrupt, ItemId

TOKEN_AUDIENCE: Final = "guildhall-gateway"  # noqa: S105  an audience, not a token

CallId = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")]
ProviderCallId = Annotated[str, Field(min_length=1, max_length=128)]


class ToolSpec(Record):
    """A tool as the model is shown it; `parameters` is a JSON Schema object."""

    name: ToolName
    description: str = Field(max_length=limits.DESCRIPTION_MAX_CHARS)
    parameters: dict[str, Any]


class ToolCall(Record):
    """A call the model asks for. `arguments` is its JSON as text, which may be malformed or cut."""

    id: ProviderCallId
    name: str = Field(max_length=200)
    arguments: ArgumentsText


class SystemMessage(Record):
    kind: Literal["system"] = "system"
    content: list[Block] = Field(min_length=1, max_length=64)


class UserMessage(Record):
    kind: Literal["user"] = "user"
    content: list[Block] = Field(min_length=1, max_length=64)


CarryText = Annotated[str, Field(max_length=limits.MODEL_CARRY_MAX_BYTES), within_bytes(limits.MODEL_CARRY_MAX_BYTES)]
"""What a provider wants back with its own message (reasoning, signatures): opaque to all but the gateway."""


class AssistantMessage(Record):
    """A reply of the model as it goes back to it; `carry` is the reply's, unchanged."""

    kind: Literal["assistant"] = "assistant"
    text: BlobText = ""
    carry: CarryText = ""
    tool_calls: list[ToolCall] = Field(default_factory=list, max_length=limits.TOOL_CALLS_PER_REPLY_MAX_COUNT)


class ToolMessage(Record):
    """The result of one call, paired by id, in the order of the calls."""

    kind: Literal["tool"] = "tool"
    call: ProviderCallId
    name: str = Field(max_length=200)
    content: list[Block] = Field(min_length=1, max_length=8)
    is_error: bool = False


AnyMessage = Annotated[SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="kind")]


class ModelRequest(Record):
    """One model call. `callId` makes it idempotent: a settled id replays its stored reply."""

    call_id: CallId
    role: RoleName
    model: GatewayModel
    messages: list[AnyMessage] = Field(min_length=1, max_length=limits.MODEL_MESSAGES_MAX_COUNT)
    tools: list[ToolSpec] = Field(default_factory=list, max_length=limits.TOOLS_PER_ROLE_MAX_COUNT + 1)
    max_output_tokens: int = Field(
        limits.MODEL_OUTPUT_TOKENS_DEFAULT_COUNT, ge=1, le=limits.MODEL_OUTPUT_TOKENS_MAX_COUNT
    )


class CallUsage(Record):
    """Tokens of one call: `tokens` are all of the prompt's, `cachedPromptTokens` those of them read from a cache."""

    tokens: int = Field(0, ge=0)
    cached_prompt_tokens: int = Field(0, ge=0)
    output_tokens: int = Field(0, ge=0)


class LedgerTotals(Record):
    """What the ledger holds for the Run after a call, its limits with what people added, and what is left of them."""

    calls: int = Field(0, ge=0)
    tokens: int = Field(0, ge=0)
    cached_prompt_tokens: int = Field(0, ge=0)
    output_tokens: int = Field(0, ge=0)
    cost_micro_usd: int | None = Field(None, ge=0)
    limit_micro_usd: int | None = Field(None, ge=0)  # absent: no such limit
    limit_tokens: int | None = Field(None, ge=0)
    left_micro_usd: int | None = Field(None, ge=0)
    left_tokens: int | None = Field(None, ge=0)


StopReason = Literal["end", "tool_calls", "max_tokens", "refusal", "content_filter", "other"]


class ModelReply(Record):
    call_id: CallId
    text: BlobText = ""
    tool_calls: list[ToolCall] = Field(default_factory=list, max_length=limits.TOOL_CALLS_PER_REPLY_MAX_COUNT)
    stop_reason: StopReason
    carry: CarryText = ""
    usage: CallUsage
    cost_micro_usd: int | None = Field(None, ge=0)
    model: GatewayModel
    scripted: bool = False
    replayed: bool = False
    totals: LedgerTotals


MADE_ELSEWHERE: Final = "made_by_another_gateway"
"""`detail.cause` of a call that is being made already: it is waited for as long as a call may take."""

GATEWAY_STOPPING: Final = "gateway_stopping"
"""`detail.cause` of a refusal by a gateway that ends: the next one is waited for as for one that is away."""

STALLED: Final = "stalled"
"""`detail.cause` of a call whose provider went silent: it is asked once more and no oftener."""


class GatewayError(Record):
    """Why the gateway refused or failed. `error` is for the Run's record; `retryAfterSeconds` when waiting helps."""

    error: ErrorInfo
    retry_after_seconds: float | None = Field(None, ge=0)


class Heartbeat(Record):
    type: Literal["heartbeat"] = "heartbeat"


class TextDelta(Record):
    type: Literal["text"] = "text"
    text: EventText


class ReplyLine(Record):
    type: Literal["reply"] = "reply"
    reply: ModelReply


class FailureLine(Record):
    type: Literal["failure"] = "failure"
    failure: GatewayError


AnyLine = Annotated[Heartbeat | TextDelta | ReplyLine | FailureLine, Field(discriminator="type")]
MODEL_LINES: TypeAdapter[AnyLine] = TypeAdapter(AnyLine)


class MailboxItem(Record):
    """One thing for the executor, delivered at least once; `id` makes it idempotent. Exactly one body."""

    id: ItemId
    author: str = Field("", max_length=256)
    answer: Answer | None = None
    approval: ApprovalDecision | None = None
    interrupt: Interrupt | None = None
    cancel: bool = False


class MailboxPage(Record):
    """`cursor` goes into the next call; `storedSeq` acknowledges events, `resendFrom` asks for them again."""

    items: list[MailboxItem] = Field(default_factory=list, max_length=limits.MAILBOX_PAGE_MAX_COUNT)
    cursor: str = Field(max_length=64)
    stored_seq: int = Field(0, ge=0)
    resend_from: int | None = Field(None, ge=1)


BUDGET_CONTINUE: Final = "continue"
"""The answer to a question of kind `budget` that raises the Run's limits; any other text leaves them."""


class AskedItem(Record):
    """`PUT /v1/questions/{id}` and its withdrawal by DELETE: what a person is asked, so that status can say so.

    `budget`: the Run stopped at its own limit; the answer `continue` lets it spend once more what it was given.
    """

    id: ItemId
    kind: Literal["question", "budget"] = "question"
    role: RoleName
    text: str = Field(max_length=16_384)
    context: str = Field("", max_length=16_384)
    options: list[Annotated[str, Field(max_length=limits.EVENT_TITLE_MAX_CHARS)]] = Field(
        default_factory=list, max_length=limits.QUESTION_OPTIONS_MAX_COUNT
    )
    expires_seconds: int = Field(ge=1, le=7 * 24 * 3600)


class BlobRef(Record):
    sha256: Sha256
    size: int = Field(ge=0, le=limits.BLOB_MAX_BYTES)


class LedgerCall(Record):
    """One row of the ledger as the api and people see it; no prompt, no reply."""

    call_id: CallId
    role: RoleName
    model: GatewayModel
    state: Literal["reserved", "settled", "refused", "failed"]
    usage: CallUsage
    cost_micro_usd: int | None = Field(None, ge=0)
    reserved_micro_usd: int = Field(0, ge=0)
    error_kind: ErrorKind | None = None
    started_at: str = Field(max_length=32)
    settled_at: str | None = Field(None, max_length=32)


class LedgerView(Record):
    """`GET /internal/v1/runs/{uid}/ledger` for the api's account: totals and the last calls."""

    totals: LedgerTotals
    calls: list[LedgerCall] = Field(default_factory=list, max_length=limits.PAGE_MAX_COUNT)
    scripted: bool = False
