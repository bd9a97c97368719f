"""External tools between executor and gateway: what is offered, one call, its result. The server is not trusted.

`GET /v1/tools` answers ExternalTools; `POST /v1/tools/{name}` takes an ExternalCall and answers an ExternalResult. A
call is made at most once for each `callId`: the same call again gets the kept result. A refusal is a GatewayError whose
`detail.code` is an ExternalRefusal.
"""

from typing import Any, Literal

from pydantic import Field

from guildhall_contracts import limits
from guildhall_contracts.base import Record, RoleName, ToolName
from guildhall_contracts.content import Block
from guildhall_contracts.intervention import ItemId
from guildhall_contracts.policy import ToolPolicy

ExternalRefusal = Literal[
    "unknown_tool",  # no Connection offers it now, or the role does not list it
    "tool_denied",  # policy does not permit it in this Run
    "approval_needed",
    "approval_refused",  # the approval named is not one for this call, or is used, denied or expired
    "invalid_arguments",  # they do not fit the tool's schema, or have no canonical form
    "busy",  # too many calls of this Run are being made
]


class ExternalTool(Record):
    """A tool for the model. `description` and `parameters` are the server's words, cut and escaped, marked as such."""

    name: ToolName
    description: str = Field(max_length=limits.DESCRIPTION_MAX_CHARS)
    parameters: dict[str, Any]
    policy: ToolPolicy


class ExternalTools(Record):
    """Those that some role of the Run's Guild lists and this Run could ever be permitted."""

    tools: list[ExternalTool] = Field(default_factory=list, max_length=limits.EXTERNAL_TOOLS_PER_RUN_MAX_COUNT)


class ExternalCall(Record):
    """One call; `approvalId` names the approval it uses up."""

    call_id: ItemId
    role: RoleName
    arguments: dict[str, Any]
    approval_id: ItemId | None = None


class ExternalResult(Record):
    """What came of a call. *unknown*: it was begun and its answer never came, so it may have taken effect."""

    call_id: ItemId
    outcome: Literal["done", "error", "unknown"]
    content: list[Block] = Field(min_length=1, max_length=8)
    omitted_bytes: int = Field(0, ge=0)
    replayed: bool = False
