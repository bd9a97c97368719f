"""Messages of a role's history. Each is serialised once, so that a step costs the same at message 10 and at 1,000."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from guildhall_contracts.content import Block
from guildhall_contracts.model_api import ModelReply

MessageKind = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message: `body` is its JSON as the gateway takes it; the other fields are what compaction needs to know."""

    kind: MessageKind
    body: bytes
    call: str = ""
    name: str = ""
    is_error: bool = False


def to_bytes(value: Any) -> bytes:
    """Compact JSON; a lone surrogate, which no sound input holds, becomes a question mark."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _blocks(blocks: tuple[Block, ...]) -> list[dict[str, str]]:
    return [{"text": b.text, "origin": b.origin, "authority": b.authority, "label": b.label} for b in blocks]


def system(*blocks: Block) -> Message:
    return Message("system", to_bytes({"kind": "system", "content": _blocks(blocks)}))


def user(*blocks: Block) -> Message:
    return Message("user", to_bytes({"kind": "user", "content": _blocks(blocks)}))


def assistant(reply: ModelReply) -> Message:
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
    value = {"kind": "assistant", "text": reply.text, "toolCalls": calls}
    return Message("assistant", to_bytes(value | {"carry": reply.carry} if reply.carry else value))


def tool(call: str, name: str, *blocks: Block, is_error: bool = False) -> Message:
    """The result of the call with id `call`; the gateway pairs it by that id."""
    value = {"kind": "tool", "call": call, "name": name, "content": _blocks(blocks), "isError": is_error}
    return Message("tool", to_bytes(value), call, name, is_error)
