"""A Connection: an MCP server the gateway may call for Runs of its namespace. Guards what of it anyone gets to see.

Its name is the first part of each tool's name (`<connection>__<tool>`), so it is letters and digits only. Its status is
its public face: no token, no address, nothing a server said but names and short descriptions.
"""

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from guildhall_contracts import limits
from guildhall_contracts.base import Name, Record, Sha256, ToolName
from guildhall_contracts.policy import Effect, ToolPolicy

TOOL_PART_PATTERN: Final = r"^[a-z0-9_]+$"

ToolPart = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.EXTERNAL_TOOL_PART_MAX_CHARS, pattern=TOOL_PART_PATTERN)
]


class SecretRef(Record):
    """A Secret of the Connection's own namespace."""

    name: Name


class BearerAuth(Record):
    """A bearer token: the Secret's key `token`. Nothing is sent unless its key `host` names the URL's host and port."""

    secret_ref: SecretRef


class ConnectionSpec(Record):
    """`kind`, `url` and `auth` never change: another server or account is another Connection."""

    kind: Literal["mcp"] = "mcp"
    url: str = Field(min_length=8, max_length=limits.URL_MAX_CHARS, pattern=r"^https?://[A-Za-z0-9.:/_~%+=&-]+$")
    display_name: str = Field("", max_length=limits.LABEL_TEXT_MAX_CHARS)
    auth: BearerAuth | None = None
    ca_bundle: str | None = Field(None, min_length=1, max_length=limits.CA_BUNDLE_MAX_CHARS)
    tools: dict[ToolPart, ToolPolicy] = Field(default_factory=dict, max_length=limits.CONNECTION_TOOLS_MAX_COUNT)
    acknowledged: dict[ToolPart, Sha256] = Field(default_factory=dict, max_length=limits.CONNECTION_TOOLS_MAX_COUNT)


ConnectionReason = Literal[
    "Connected",
    "SpecInvalid",  # the spec cannot be read; the message names the field
    "TooMany",  # its namespace has its share of Connections already
    "HostNotAllowed",  # the chart's allow-list does not name the URL's scheme, host and port
    "SecretUnusable",  # it is missing, may not be read, or lacks a key
    "SecretForOtherHost",  # its key `host` does not name the URL's host and port
    "Unauthorized",  # the server refused the token
    "Unreachable",
    "ProtocolError",  # what answered does not speak MCP, or breaks a bound
]
ToolState = Literal[
    "offered",
    "changed",  # its schema or description is not what was accepted: held back until acknowledged
    "new",  # it was not there when the Connection was accepted: held back until acknowledged
    "unusable",  # its name, schema or size cannot be offered to a model
]


class ConnectionCondition(Record):
    """A Kubernetes condition; `Ready` is the only type."""

    type: Literal["Ready"]
    status: Literal["True", "False", "Unknown"]
    reason: ConnectionReason
    message: str = Field("", max_length=limits.STATUS_MESSAGE_MAX_CHARS)
    observed_generation: int = Field(0, ge=0)
    last_transition_time: str = Field(max_length=32)


class ConnectionTool(Record):
    """One tool as people see it. To acknowledge it, copy `schemaSHA256` into `spec.acknowledged` under `part`."""

    name: ToolName
    part: ToolPart
    description: str = Field("", max_length=limits.CONNECTION_TOOL_STATUS_MAX_CHARS)
    effect: Effect
    schema_sha256: Sha256
    state: ToolState
    message: str = Field("", max_length=limits.CONNECTION_TOOL_STATUS_MAX_CHARS)


class ConnectionStatus(Record):
    """Written by the gateway only."""

    observed_generation: int = Field(0, ge=0)
    conditions: list[ConnectionCondition] = Field(default_factory=list, max_length=4)
    face: str = Field("", max_length=limits.LABEL_TEXT_MAX_CHARS + 20)
    tools: list[ConnectionTool] = Field(default_factory=list, max_length=limits.CONNECTION_TOOLS_MAX_COUNT)
