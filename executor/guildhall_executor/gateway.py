"""The client of the one service this process may reach. Guards against a stream that stalls, floods or talks nonsense.

Names come from the hosts file alone, the certificate is checked against the service's name, the token is read again
for every call because it rotates.
"""

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.model_api import (
    MODEL_LINES,
    FailureLine,
    GatewayError,
    MailboxPage,
    ModelReply,
    ReplyLine,
    TextDelta,
)
from pydantic import ValidationError

from guildhall_executor import retry
from guildhall_executor.effects import CallModel
from guildhall_executor.hosts import address_of
from guildhall_executor.places import Patience, Places
from guildhall_executor.retry import Failure, GiveUp, unavailable

LINE_MAX_BYTES: Final = limits.MODEL_REQUEST_MAX_BYTES
ERROR_BODY_MAX_BYTES: Final = 64 * 1024
PAGE_MAX_BYTES: Final = 2 * limits.MIB
_JITTER: Final = random.SystemRandom().random


@dataclass(frozen=True, slots=True)
class _Door:
    """The gateway's address, and the name it must prove."""

    url: str
    headers: dict[str, str]
    extensions: dict[str, str]


def _door(url: str, hosts_text: str) -> _Door | None:
    parsed = httpx.URL(url)
    address = address_of(parsed.host, hosts_text)
    if address is None:
        return None
    extensions = {"sni_hostname": parsed.host} if parsed.scheme == "https" else {}
    return _Door(str(parsed.copy_with(host=address)).rstrip("/"), {"Host": parsed.netloc.decode()}, extensions)


def _client(url: str, ca: Path, patience: Patience) -> httpx.AsyncClient:
    verify: ssl.SSLContext | bool = False
    if url.startswith("https:"):
        verify = ssl.create_default_context(cafile=str(ca))
    timeout = httpx.Timeout(60.0, connect=patience.connect_seconds, read=patience.stream_idle_seconds)
    return httpx.AsyncClient(verify=verify, timeout=timeout, trust_env=False, follow_redirects=False)


class Gateway:
    """One connection pool to the gateway; every method is total: a value or an ErrorInfo, never an exception."""

    def __init__(self, url: str, places: Places, patience: Patience, jitter: Callable[[], float] = _JITTER) -> None:
        self._places = places
        self._patience = patience
        self._jitter = jitter
        self._name = httpx.URL(url).host
        self._door = _door(url, places.hosts.read_text(errors="replace"))
        self._http = _client(url, places.ca, patience)

    async def close(self) -> None:
        await self._http.aclose()

    def _request(self, method: str, path: str, **more: object) -> httpx.Request | Failure:
        if self._door is None:
            return _unreachable(f"the gateway's name {self._name} is not in the hosts file")
        try:
            token = self._places.token.read_text().strip()
        except (OSError, UnicodeError) as error:
            return _unreachable(f"the gateway token cannot be read ({type(error).__name__})")
        headers = {**self._door.headers, "Authorization": f"Bearer {token}"}
        try:
            return self._http.build_request(
                method,
                self._door.url + path,
                headers=headers,
                extensions=self._door.extensions,
                **more,  # type: ignore[arg-type]
            )
        except (httpx.HTTPError, ValueError, UnicodeError):
            return _unreachable("the gateway token holds characters no token has")

    async def model(
        self, call: CallModel, on_text: Callable[[str], None], on_retry: Callable[[ErrorInfo, float], None]
    ) -> ModelReply | ErrorInfo:
        """The reply to `call`, asked again under its own id where that can help, within bounds."""
        body = call.body()
        tries = stalls = 0
        while True:
            outcome = await self._try_model(call.call_id, body, on_text)
            if isinstance(outcome, ModelReply):
                return outcome
            tries, stalls = tries + 1, stalls + outcome.stalled
            decision = retry.decide(
                outcome,
                tries=tries,
                stalls=stalls,
                base_seconds=self._patience.retry_base_seconds,
                longest_seconds=self._patience.retry_after_max_seconds,
                jitter=self._jitter(),
            )
            if isinstance(decision, GiveUp):
                return decision.error
            on_retry(outcome.error, decision.seconds)
            await asyncio.sleep(decision.seconds)

    async def _try_model(self, call_id: str, body: bytes, on_text: Callable[[str], None]) -> ModelReply | Failure:
        request = self._request("POST", "/v1/model", content=body)
        if isinstance(request, Failure):
            return request
        request.headers["Content-Type"] = "application/json"
        try:
            async with asyncio.timeout(self._patience.model_call_seconds):
                return await self._stream(request, call_id, on_text)
        except TimeoutError:
            return unavailable(f"the model call took over {self._patience.model_call_seconds:.0f} seconds")
        except httpx.ReadTimeout:
            idle = self._patience.stream_idle_seconds
            return unavailable(f"model stream stalled: nothing came for {idle:g} seconds", stalled=True)
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            return unavailable(f"the connection to the gateway failed ({type(error).__name__})")

    async def _stream(
        self, request: httpx.Request, call_id: str, on_text: Callable[[str], None]
    ) -> ModelReply | Failure:
        response = await self._http.send(request, stream=True)
        try:
            if response.status_code != 200:
                return _refusal(response.status_code, await _bounded_body(response, ERROR_BODY_MAX_BYTES))
            async for line in lines_of(response.aiter_bytes(), LINE_MAX_BYTES):
                outcome = _read_line(line, call_id, on_text)
                if outcome is not None:
                    return outcome
        finally:
            await response.aclose()
        return unavailable("the gateway's answer ended without a reply")

    async def mailbox(self, cursor: str, wait_seconds: int) -> MailboxPage | ErrorInfo:
        """The next page; waits up to `wait_seconds` there for something to arrive."""
        params = {"cursor": cursor, "waitSeconds": str(wait_seconds)}
        body = await self._plain("GET", "/v1/mailbox", PAGE_MAX_BYTES, wait_seconds + 15.0, params=params)
        if isinstance(body, ErrorInfo):
            return body
        try:
            return MailboxPage.model_validate_json(body)
        except ValidationError:
            return error_info("llm_unavailable", "the gateway's mailbox answered something that is no page")

    async def put_blob(self, sha256: str, data: bytes) -> ErrorInfo | None:
        """Stores `data` under its hash; None when it is there."""
        answer = await self._plain("PUT", f"/v1/blobs/{sha256}", ERROR_BODY_MAX_BYTES, 60.0, content=data)
        return answer if isinstance(answer, ErrorInfo) else None

    async def _plain(
        self, method: str, path: str, max_bytes: int, patience_seconds: float, **more: object
    ) -> bytes | ErrorInfo:
        request = self._request(method, path, **more)
        if isinstance(request, Failure):
            return request.error
        try:
            async with asyncio.timeout(patience_seconds):
                response = await self._http.send(request, stream=True)
                try:
                    body = await _bounded_body(response, max_bytes)
                finally:
                    await response.aclose()
        except (httpx.HTTPError, httpx.StreamError, OSError, TimeoutError) as error:
            return error_info("llm_unavailable", f"the gateway does not answer {path} ({type(error).__name__})")
        return body if response.is_success else _refusal(response.status_code, body).error


def _unreachable(message: str) -> Failure:
    return Failure(error_info("internal", f"{message}; the platform team has to look at the run pod"))


def _read_line(line: bytes, call_id: str, on_text: Callable[[str], None]) -> ModelReply | Failure | None:
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


def _refusal(status: int, body: bytes) -> Failure:
    """An answer other than 2xx: the gateway's own words when they are sound, else what the status means."""
    try:
        return retry.from_gateway(GatewayError.model_validate_json(body))
    except ValidationError:
        pass
    if status in (408, 425, 429) or status >= 500:
        return unavailable(f"the gateway answered {status}")
    return Failure(error_info("internal", f"the gateway refused the call with status {status} and no reason"))


async def _bounded_body(response: httpx.Response, max_bytes: int) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
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
