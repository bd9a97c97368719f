"""What a tool call came to, as the model is shown it. Deterministic: no times, no host paths."""

from dataclasses import dataclass
from typing import Annotated

from guildhall_contracts import limits
from guildhall_contracts.base import Record, Sha256
from guildhall_contracts.content import Block, Origin
from guildhall_contracts.frames import ErrorReply
from guildhall_contracts.visible import visible
from pydantic import Field

from guildhall_executor.tools.text import head_of

Path = Annotated[str, Field(min_length=1, max_length=limits.PATH_MAX_CHARS)]
"""A path as a model gives it; the workshop decides whether it is inside."""


class ToolResult(Record):
    """`blocks` are what the model reads. `errorCode` is set exactly when the call did not do what was asked."""

    blocks: list[Block] = Field(min_length=1, max_length=8)
    error_code: str | None = Field(None, max_length=64)
    exit_code: int | None = Field(None, ge=0, le=255)
    omitted_bytes: int = Field(0, ge=0)
    blob: Sha256 | None = None

    @property
    def is_error(self) -> bool:
        return self.error_code is not None

    @property
    def shown(self) -> str:
        """The text of all blocks, for the record."""
        return "\n".join(block.text for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Ran:
    """A result, and the longer text behind it (at most `BLOB_RESULT_MAX_BYTES`) when what is shown was cut."""

    result: ToolResult
    whole: bytes | None = None


def block(text: str, *, origin: Origin = "tool", label: str = "") -> Block:
    """A piece of data for the context, within the contract's bounds."""
    kept = head_of(text, limits.BLOB_RESULT_MAX_BYTES) if len(text) * 4 > limits.BLOB_RESULT_MAX_BYTES else text
    return Block(text=kept, origin=origin, authority="data", label=label[:200])


def done(text: str, *, origin: Origin = "tool", label: str = "") -> Ran:
    return Ran(ToolResult(blocks=[block(text, origin=origin, label=label)]))


def failed(code: str, message: str) -> ToolResult:
    """A call that did not happen, or failed: `code` for programs, `message` for the model."""
    return ToolResult(blocks=[block(f"{code}: {message}")], error_code=code)


def refused(reply: ErrorReply) -> Ran:
    """The workshop's refusal in its own words; they are the workspace's claim and shown as such."""
    text = f"{reply.code}: {visible(reply.message)[0]}"
    return Ran(ToolResult(blocks=[block(text, origin="workspace", label="error")], error_code=reply.code))
