"""What waits for a person, as the gateway keeps it: the only account of it that may be shown as fact and acted on."""

from typing import Annotated, Literal

from pydantic import Field

from guildhall_contracts import limits
from guildhall_contracts.base import Record, RoleName, Sha256, ToolName, Uid
from guildhall_contracts.intervention import ItemId
from guildhall_contracts.policy import Effect

Standing = Literal["open", "answered", "withdrawn", "approved", "denied", "consumed", "expired"]
Stamp = Annotated[str, Field(max_length=32)]


class AwaitingQuestion(Record):
    """A question of a Run and where it stands; `text` and `context` are Markdown."""

    run: Uid
    id: ItemId
    kind: Literal["question", "budget"] = "question"
    role: RoleName
    text: str = Field(max_length=16_384)
    context: str = Field("", max_length=16_384)
    options: list[Annotated[str, Field(max_length=limits.EVENT_TITLE_MAX_CHARS)]] = Field(
        default_factory=list, max_length=limits.QUESTION_OPTIONS_MAX_COUNT
    )
    state: Standing
    asked_at: Stamp
    expires_at: Stamp


class AwaitingApproval(Record):
    """A call that waits for a yes. `arguments` is the whole RFC 8785 text, never a part of it: absent in a list where
    it is longer than `LISTED_ARGUMENTS_MAX_BYTES`, there when one approval is asked for by its id."""

    run: Uid
    approval_id: ItemId
    call_id: ItemId
    role: RoleName
    tool: ToolName
    effect: Effect
    arguments: str | None = Field(None, max_length=limits.APPROVAL_ARGUMENTS_MAX_BYTES)
    arguments_bytes: int = Field(ge=0)
    arguments_hash: Sha256
    state: Standing
    asked_at: Stamp
    expires_at: Stamp


class AwaitingView(Record):
    """`GET /internal/v1/awaiting` for the api's account. With `namespace` (any number of times): what is open in the
    Runs there, a share for each namespace; with `run`, in that one; with `run` and `id`, that one question or approval
    however it stands."""

    questions: list[AwaitingQuestion] = Field(default_factory=list, max_length=limits.AWAITING_MAX_COUNT)
    approvals: list[AwaitingApproval] = Field(default_factory=list, max_length=limits.AWAITING_MAX_COUNT)
