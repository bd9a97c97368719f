"""What the gateway answers, read as it comes. Guards against lines without end and answers to another call.

Every outcome is a value: a reply, or a Failure that says whether asking again can help.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.errors import error_info
from guildhall_contracts.model_api import MODEL_LINES, FailureLine, GatewayError, ModelReply, ReplyLine, TextDelta
from pydantic import ValidationError

from guildhall_executor import retry
from guildhall_executor.http1 import Answer, HttpFault
from guildhall_executor.retry import Failure, unavailable

LINE_MAX_BYTES: Final = limits.MODEL_REQUEST_MAX_BYTES
ERROR_BODY_MAX_BYTES: Final = 64 * 1024
READ_OUT_SECONDS: Final = 0.5


async def read_model_answer(answer: Answer, call_id: str, on_text: Callable[[str], None]) -> ModelReply | Failure:
    """Reads lines up to the one that ends the call. Raises HttpFault."""
    if answer.status != 200:
        body = await bounded_body(answer, ERROR_BODY_MAX_BYTES)
        return refusal(answer.status, body, answer.retry_after_seconds)
    lines = lines_of(answer.pieces(), LINE_MAX_BYTES)
    async for line in lines:
        outcome = read_line(line, call_id, on_text)
        if outcome is not None:
            await _read_out(lines)
            return outcome
    return unavailable("the gateway's answer ended without a reply")


def read_line(line: bytes, call_id: str, on_text: Callable[[str], None]) -> ModelReply | Failure | None:
    """One line of the stream; None for heartbeats and text, which are not the end."""
    try:
        value = MODEL_LINES.validate_json(line)
    except ValidationError:
        return unavailable("the gateway answered a line that is no part of its protocol")
    match value:
        case ReplyLine(reply=reply) if reply.call_id == call_id:
            return reply
        case ReplyLine():
            return unavailable("the gateway answered a different call")
        case FailureLine(failure=failure):
            return retry.from_gateway(failure)
        case TextDelta(text=text):
            on_text(text)
    return None


def refusal(status: int, body: bytes, wait_seconds: float | None = None) -> Failure:
    """An answer other than 2xx: the gateway's own words when they are sound, else what the status means."""
    try:
        said = retry.from_gateway(GatewayError.model_validate_json(body))
    except ValidationError:
        pass
    else:
        return said if said.retry_after_seconds is not None else replace(said, retry_after_seconds=wait_seconds)
    if status in (408, 425, 429) or status >= 500:
        return unavailable(f"the gateway answered {status}", wait_seconds)
    return Failure(error_info("internal", f"the gateway refused the call with status {status} and no reason"))


async def _read_out(lines: AsyncIterator[bytes]) -> None:
    """Reads an answer to its end, which should be here: only then can the connection serve the next call."""
    with contextlib.suppress(TimeoutError, HttpFault):
        async with asyncio.timeout(READ_OUT_SECONDS):
            async for _ in lines:
                return


async def bounded_body(answer: Answer, max_bytes: int) -> bytes:
    body = bytearray()
    async for piece in answer.pieces():
        body += piece
        if len(body) > max_bytes:
            break
    return bytes(body[:max_bytes])


async def lines_of(pieces: AsyncIterator[bytes], max_bytes: int) -> AsyncIterator[bytes]:
    """Lines without their newline, blank ones left out; one over `max_bytes` is handed on cut and ends the stream."""
    parts: list[bytes] = []
    size = 0
    async for piece in pieces:
        *ends, rest = piece.split(b"\n")
        for end in ends:
            line = b"".join((*parts, end))
            parts, size = [], 0
            if line.strip():
                yield line
        parts.append(rest)
        size += len(rest)
        if size > max_bytes:
            break
    last = b"".join(parts)[:max_bytes]
    if last.strip():
        yield last
