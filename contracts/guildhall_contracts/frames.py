"""The frames between executor and workshop; every reply is the workspace's claim and is parsed as hostile input.

A frame is a 4-byte big-endian length and that many bytes of UTF-8 JSON, at most `FRAME_MAX_BYTES`. The executor sends
requests with a fresh positive `id`; replies name it and may interleave. Every request ends in exactly one `result` or
`error` reply; `chunk` and `output` replies may come before it. Paths are relative to `/workspace`; a name that is not
UTF-8 travels in `pathB64`. Bytes travel as base64 (`data`).
"""

import json
import struct
from typing import Any, Final

from pydantic import Field, TypeAdapter, ValidationError

from guildhall_contracts import limits
from guildhall_contracts.base import Record, first_problem
from guildhall_contracts.frame_replies import (
    AnyReply,
    AnyResult,
    ChunkReply,
    DiffResult,
    DoneResult,
    EditResult,
    Entry,
    ErrorReply,
    ExecResult,
    FileMode,
    FrameErrorCode,
    HelloResult,
    JobsResult,
    JobState,
    ListResult,
    Match,
    OutputReply,
    ReadResult,
    Reply,
    SearchResult,
    StatResult,
    WriteResult,
)
from guildhall_contracts.frame_requests import (
    PROTOCOL_VERSION,
    AnyRequest,
    Base64Data,
    CancelRequest,
    DeleteRequest,
    DiffRequest,
    EditRequest,
    ExecRequest,
    HelloRequest,
    JobsRequest,
    KillRequest,
    ListRequest,
    MkdirRequest,
    PathB64,
    PathRequest,
    ReadRequest,
    Request,
    RequestId,
    SearchRequest,
    StatRequest,
    StdinRequest,
    WirePath,
    WriteRequest,
)

__all__ = [
    "PROTOCOL_VERSION",
    "AnyReply",
    "AnyRequest",
    "AnyResult",
    "Base64Data",
    "CancelRequest",
    "ChunkReply",
    "DeleteRequest",
    "DiffRequest",
    "DiffResult",
    "DoneResult",
    "EditRequest",
    "EditResult",
    "Entry",
    "ErrorReply",
    "ExecRequest",
    "ExecResult",
    "FileMode",
    "FrameErrorCode",
    "FrameRefused",
    "HelloRequest",
    "HelloResult",
    "JobState",
    "JobsRequest",
    "JobsResult",
    "KillRequest",
    "ListRequest",
    "ListResult",
    "Match",
    "MkdirRequest",
    "OutputReply",
    "PathB64",
    "PathRequest",
    "ReadRequest",
    "ReadResult",
    "Reply",
    "Request",
    "RequestId",
    "SearchRequest",
    "SearchResult",
    "StatRequest",
    "StatResult",
    "StdinRequest",
    "WirePath",
    "WriteRequest",
    "WriteResult",
    "decode_reply",
    "decode_request",
    "encode_frame",
    "frame_length",
]

_LENGTH: Final = struct.Struct(">I")

_REQUESTS: TypeAdapter[AnyRequest] = TypeAdapter(AnyRequest)
_RESULTS: TypeAdapter[AnyResult] = TypeAdapter(AnyResult)
_OTHERS: Final[dict[str, TypeAdapter[Any]]] = {
    "error": TypeAdapter(ErrorReply),
    "output": TypeAdapter(OutputReply),
    "chunk": TypeAdapter(ChunkReply),
}


class FrameRefused(Record):
    """Why bytes were not a frame: the connection cannot be trusted any further and is closed."""

    reason: str = Field(max_length=500)


def encode_frame(record: Record) -> bytes:
    """`record` as one frame. Raises ValueError when it is larger than `FRAME_MAX_BYTES`."""
    body = record.model_dump_json(by_alias=True, exclude_none=True).encode()
    if len(body) > limits.FRAME_MAX_BYTES:
        raise ValueError(f"frame of {len(body)} bytes; at most {limits.FRAME_MAX_BYTES} are allowed")
    return _LENGTH.pack(len(body)) + body


def frame_length(head: bytes) -> int | FrameRefused:
    """The body length announced by a 4-byte head, or why it is refused."""
    if len(head) != _LENGTH.size:
        return FrameRefused(reason=f"frame head of {len(head)} bytes; 4 are needed")
    length: int = _LENGTH.unpack(head)[0]
    if not 2 <= length <= limits.FRAME_MAX_BYTES:
        return FrameRefused(reason=f"frame length {length} is outside 2..{limits.FRAME_MAX_BYTES}")
    return length


def _load(body: bytes) -> dict[str, Any] | FrameRefused:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        return FrameRefused(reason=f"frame is not JSON: {type(error).__name__}")
    if not isinstance(value, dict):
        return FrameRefused(reason="frame is not a JSON object")
    return value


def _refusal(error: ValidationError) -> FrameRefused:
    where, words = first_problem(error)
    return FrameRefused(reason=f"frame does not fit the protocol at '{where[:200]}': {words[:200]}")


def decode_request(body: bytes) -> AnyRequest | FrameRefused:
    """Any bytes give a request or a typed refusal, never an exception."""
    value = _load(body)
    if isinstance(value, FrameRefused):
        return value
    try:
        return _REQUESTS.validate_python(value, strict=True)
    except ValidationError as error:
        return _refusal(error)


def decode_reply(body: bytes) -> AnyResult | ErrorReply | OutputReply | ChunkReply | FrameRefused:
    """Any bytes give a reply or a typed refusal, never an exception."""
    value = _load(body)
    if isinstance(value, FrameRefused):
        return value
    kind = value.get("type")
    adapter: TypeAdapter[Any] | None = (
        _RESULTS if kind == "result" else _OTHERS.get(kind) if isinstance(kind, str) else None
    )
    if adapter is None:
        return FrameRefused(reason="frame has no known 'type'")
    try:
        reply: AnyResult | ErrorReply | OutputReply | ChunkReply = adapter.validate_python(value, strict=True)
    except ValidationError as error:
        return _refusal(error)
    return reply
