"""What a provider wants back with its own message: reasoning with its signature, and marks on calls. Pure.

Guards the history against growing a second voice: reasoning is never text. It leaves the gateway as one opaque string
and is believed on its way back only if it fits the message and the model it came with; anything else is left out.
"""

import json
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.base import Record
from guildhall_contracts.guild import GatewayModel
from guildhall_contracts.model_api import AssistantMessage
from pydantic import Field, ValidationError
from pydantic_ai import messages as theirs

_MARKS: Final = ("thought_signature", "extra_content", "raw_content")  # what adapters read when they send a part back
_TAGGED_TEXT: Final = "content"  # reasoning that was taken out of the text by its tags: no provider wants it back


class _Piece(Record):
    """One part in its place: `chars` of the text, the call with number `call`, or reasoning."""

    chars: int | None = Field(None, ge=0)
    call: int | None = Field(None, ge=0)
    thought: str | None = None
    id: str | None = None
    signature: str | None = None
    marks: dict[str, Any] | None = None


class _Carried(Record):
    model: GatewayModel
    provider: str | None = None
    system: str | None = None
    pieces: list[_Piece] = Field(max_length=1_000)


def carry_of(response: theirs.ModelResponse, model: str) -> str:
    """The opaque string of a reply that asks for calls; empty where its provider wants nothing back."""
    pieces, wanted, calls = [], False, 0
    for part in response.parts:
        marks = {key: value for key, value in (part.provider_details or {}).items() if key in _MARKS} or None
        if isinstance(part, theirs.TextPart):
            pieces.append(_Piece(chars=len(part.content), marks=marks))
        elif isinstance(part, theirs.ToolCallPart):
            pieces.append(_Piece(call=calls, marks=marks))
            calls += 1
        elif isinstance(part, theirs.ThinkingPart) and (part.signature or marks or _is_field(part)):
            pieces.append(_Piece(thought=part.content, id=part.id, signature=part.signature, marks=marks))
        else:
            continue
        wanted = wanted or marks is not None or pieces[-1].thought is not None
    if not wanted or not calls:
        return ""
    return _packed(_Carried(model=model, provider=_provider(response), system=response.canonical_system, pieces=pieces))


def _is_field(part: theirs.ThinkingPart) -> bool:
    return bool(part.id) and part.id != _TAGGED_TEXT


def _provider(response: theirs.ModelResponse) -> str | None:
    named = [part.provider_name for part in response.parts if part.provider_name]
    return response.provider_name or (named[0] if named else None)


def _packed(carried: _Carried) -> str:
    """As JSON in ASCII; nothing when it is larger than a message may carry."""
    text = json.dumps(carried.model_dump(exclude_none=True), ensure_ascii=True, separators=(",", ":"), default=str)
    return text if len(text) <= limits.MODEL_CARRY_MAX_BYTES else ""


def restored(message: AssistantMessage, model: str) -> theirs.ModelResponse | None:
    """The reply as its provider gave it, or None when nothing was carried or it does not fit `message` and `model`."""
    if not message.carry:
        return None
    try:
        carried = _Carried.model_validate_json(message.carry)
    except (ValidationError, RecursionError):
        return None
    if carried.model != model or not _fits(carried, message):
        return None
    parts: list[theirs.ModelResponsePart] = []
    at = 0
    for piece in carried.pieces:
        parts.append(_part(piece, carried, message, at))
        at += piece.chars or 0
    return theirs.ModelResponse(
        parts=parts, provider_name=carried.provider, canonical_system=carried.system, finish_reason="tool_call"
    )


def _fits(carried: _Carried, message: AssistantMessage) -> bool:
    chars = sum(piece.chars or 0 for piece in carried.pieces)
    calls = [piece.call for piece in carried.pieces if piece.call is not None]
    return chars == len(message.text) and calls == list(range(len(message.tool_calls)))


def _part(piece: _Piece, carried: _Carried, message: AssistantMessage, at: int) -> theirs.ModelResponsePart:
    provider = carried.provider
    if piece.call is not None:
        call = message.tool_calls[piece.call]
        return theirs.ToolCallPart(
            call.name, call.arguments, call.id, provider_name=provider, provider_details=piece.marks
        )
    if piece.chars is not None:
        text = message.text[at : at + piece.chars]
        return theirs.TextPart(text, provider_name=provider, provider_details=piece.marks)
    return theirs.ThinkingPart(
        piece.thought or "",
        id=piece.id,
        signature=piece.signature,
        provider_name=provider,
        provider_details=piece.marks,
    )
