"""One session with one MCP server. Guards against servers that stall, flood, restart or answer nonsense.

Every method ends in bounded time, in a value or a Problem. A call is sent at most once; it is sent again, in a new
session, only when it is certain that the server did not take it.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any, Final

import httpx2
from guildhall_contracts import limits
from guildhall_contracts.connection import ConnectionReason
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    Implementation,
    PaginatedRequestParams,
    RequestParamsMeta,
)

from guildhall_gateway.adapters.guard import CALL_META, Fate, Forbidden, GuardedTransport, TooMuch
from guildhall_gateway.adapters.listing import Found
from guildhall_gateway.adapters.redact import Redactor
from guildhall_gateway.adapters.schema import shown_text
from guildhall_gateway.adapters.target import Problem, Said, Target, Times

PAGES_MAX_COUNT: Final = 8
OK: Final = 200
CLOSE_MAX_SECONDS: Final = 3.0
SAID_MAX_CHARS: Final = 500
_OURS: Final = frozenset({CONNECTION_CLOSED, INVALID_REQUEST, PARSE_ERROR, REQUEST_TIMEOUT})
"""Errors the package makes when no answer came; any other one is the server's own answer to the call."""
_US: Final = Implementation(name="guildhall", version="1")


class Session:
    """Open until `close`, or until the server ends it. One task holds it; any task may call."""

    def __init__(self, target: Target, times: Times) -> None:
        self._target = target
        self._times = times
        self._without_token = Redactor(target.token).redact
        self._transport: GuardedTransport | None = None
        self._client: Client | None = None
        self._ready = asyncio.Event()
        self._closing = asyncio.Event()
        self._failure: BaseException | None = None
        self._holder: asyncio.Task[None] | None = None
        self.used_at = 0.0

    @property
    def usable(self) -> bool:
        return self._client is not None and self._holder is not None and not self._holder.done()

    async def open(self) -> None:
        """Connect and agree on a version. Raises Problem; nothing was called then."""
        self._holder = asyncio.create_task(self._hold())
        try:
            async with asyncio.timeout(2 * self._times.connect):
                await self._ready.wait()
        except TimeoutError:
            self._failure = TimeoutError()
        if self._client is None:
            await self.close()
            raise self._problem(self._failure or MCPError(0, "the session ended at once"))

    async def close(self) -> None:
        """End the session, politely for a moment."""
        self._closing.set()
        if self._holder is None:
            return
        await asyncio.wait([self._holder], timeout=CLOSE_MAX_SECONDS)
        self._holder.cancel()
        await asyncio.gather(self._holder, return_exceptions=True)

    async def _hold(self) -> None:
        try:
            async with contextlib.AsyncExitStack() as stack:
                client = await self._connect(stack)
                self._client = client
                self._ready.set()
                await self._closing.wait()
        except Exception as error:  # noqa: BLE001  kept for whoever waits; groups of exceptions among them
            self._failure = error
        finally:
            self._client = None
            self._ready.set()

    async def _connect(self, stack: contextlib.AsyncExitStack) -> Client:
        self._transport = GuardedTransport(self._target.url, _tls(self._target.ca_bundle), self._target.forbidden)
        headers = {"Authorization": f"Bearer {self._target.token}"} if self._target.token else {}
        timeout = httpx2.Timeout(self._times.connect, read=self._times.call)
        http = httpx2.AsyncClient(transport=self._transport, headers=headers, timeout=timeout, trust_env=False)
        await stack.enter_async_context(http)
        wire = streamable_http_client(
            self._target.url, http_client=http, max_sse_event_size=limits.EXTERNAL_REPLY_MAX_BYTES
        )
        client = Client(wire, client_info=_US, cache=None, read_timeout_seconds=self._times.connect)
        await stack.enter_async_context(client)
        # A server's output schema is a program of its own choice; results are taken as text, so it is not run here.
        setattr(client.session, "validate_tool_result", _taken_as_it_is)  # noqa: B010
        return client

    async def tools(self) -> list[Found]:
        """The server's tools, bounded. Raises Problem."""
        found: list[Found] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(2 * self._times.connect):
                for _ in range(PAGES_MAX_COUNT):
                    page = await self._live().session.list_tools(params=PaginatedRequestParams(cursor=cursor))
                    found += await asyncio.to_thread(lambda tools: [self._found(one) for one in tools], page.tools)
                    cursor = page.next_cursor
                    if not cursor or len(found) > limits.CONNECTION_TOOLS_MAX_COUNT:
                        break
        except Exception as error:
            raise self._problem(error) from error
        return found

    async def call(self, call_id: str, tool: str, arguments: dict[str, Any]) -> Said:
        """What the tool answered. Raises Problem."""
        try:
            async with asyncio.timeout(self._times.call):
                result = await self._live().call_tool(
                    tool, arguments, read_timeout_seconds=self._times.call, meta=_meta(call_id)
                )
                plain = await asyncio.to_thread(self._without_token, result.model_dump(mode="json", by_alias=True))
        except Exception as error:
            fate = self._fate(call_id)
            if isinstance(error, MCPError) and error.code not in _OURS and fate.status == OK:
                return Said([{"type": "text", "text": self._without_token(error.message)}], None, is_error=True)
            raise self._problem(error, fate, taken=not fate.unsent) from error
        finally:
            if self._transport is not None:
                self._transport.forget(call_id)
        return Said(plain.get("content") or [], plain.get("structuredContent"), bool(plain.get("isError")))

    def _fate(self, call: str = "") -> Fate:
        return self._transport.fate(call) if self._transport else Fate()

    def _live(self) -> Client:
        if self._client is None:
            raise self._problem(self._failure or MCPError(0, "the session has ended"))
        return self._client

    def _problem(self, error: BaseException, fate: Fate | None = None, *, taken: bool = False) -> Problem:
        if isinstance(error, Problem):
            return error
        fate = fate or self._fate()
        reason, message = explained(error, fate.failure or self._failure, fate.status, self._without_token)
        return Problem(reason, message, taken=taken)

    def _found(self, tool: Any) -> Found:
        hints = tool.annotations.model_dump(mode="json", by_alias=True, exclude_none=True) if tool.annotations else {}
        said = self._without_token([tool.name, tool.description or "", tool.input_schema, hints])
        return Found(*said)


def explained(
    error: BaseException, behind: BaseException | None, status: int, without_token: Callable[[str], str]
) -> tuple[ConnectionReason, str]:
    """The reason and words for people; a server's own words lose our token, then are cut and escaped."""
    causes = [*_flat(error), *_flat(behind)]
    if status in (401, 403):
        return "Unauthorized", f"the server answered {status}: it does not accept the token, or wants one"
    for cause in causes:
        if isinstance(cause, Forbidden | TooMuch):
            return "HostNotAllowed" if isinstance(cause, Forbidden) else "ProtocolError", str(cause)
        if isinstance(cause, TimeoutError | httpx2.TimeoutException):
            return "Unreachable", "the server did not answer in time"
        if isinstance(cause, httpx2.TransportError | OSError):
            return "Unreachable", f"the server cannot be reached ({type(cause).__name__})"
    said = next((cause.message for cause in causes if isinstance(cause, MCPError)), "")
    words = shown_text(without_token(said), SAID_MAX_CHARS) or type(error).__name__
    return "ProtocolError", f"the server answered {status or 'nothing'} and said: {words}"


def _flat(error: BaseException | None) -> list[BaseException]:
    """An exception, those in its group, and what they came from."""
    if error is None:
        return []
    inner = [found for one in error.exceptions for found in _flat(one)] if isinstance(error, BaseExceptionGroup) else []
    return [error, *inner, *_flat(error.__cause__)]


def _tls(ca_bundle: str) -> ssl.SSLContext:
    """Trusts the public authorities, or instead of them those of the bundle. Raises ssl.SSLError for a bad one."""
    return ssl.create_default_context(cadata=ca_bundle or None)


async def _taken_as_it_is(*_: Any) -> None:
    return None


def _meta(call_id: str) -> RequestParamsMeta:
    """Lets our transport tell calls apart, and a server that cares refuse a second one."""
    return {CALL_META: call_id}  # type: ignore[typeddict-unknown-key]
