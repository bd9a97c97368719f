"""Providers of our own on loopback that speak the wire formats, well or badly, as each test says."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

Write = Callable[[bytes], Awaitable[None]]
Behave = Callable[[Write], Awaitable[None]]


@dataclass
class Provider:
    """What was asked, and how to answer next."""

    url: str
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    behave: Behave | None = None

    @property
    def last(self) -> Any:
        return self.requests[-1][2]


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.split("\r\n")
    headers = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in lines if ":" in line}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return first, headers, json.loads(body) if body else None


@contextlib.asynccontextmanager
async def provider() -> AsyncIterator[Provider]:
    """A server that answers each connection's one request as `behave` does."""
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            made.requests.append(await _read_request(reader))

            async def write(data: bytes) -> None:
                writer.write(data)
                await writer.drain()

            assert made.behave is not None
            await made.behave(write)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    made = Provider(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    try:
        yield made
    finally:
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        server.close()
        await server.wait_closed()


def status(code: int, body: object = "", **headers: str) -> Behave:
    """A plain answer with a JSON body (or the text given)."""
    text = body if isinstance(body, str) else json.dumps(body)

    async def behave(write: Write) -> None:
        lines = [f"HTTP/1.1 {code} X", "Content-Type: application/json", f"Content-Length: {len(text.encode())}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await write(("\r\n".join([*lines, "Connection: close", "", ""]) + text).encode())

    return behave


def sse(*events: tuple[str | None, Any], then: str = "close") -> Behave:
    """A stream of server-sent events; `then` is `close`, `hang`, or `reset` (cut without an end)."""

    async def behave(write: Write) -> None:
        await write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for name, data in events:
            text = (
                f"event: {name}\n" if name else ""
            ) + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
            await write(f"{len(text.encode()):x}\r\n{text}\r\n".encode())
            await asyncio.sleep(0)
        if then == "hang":
            await asyncio.sleep(3_600)
        if then == "close":
            await write(b"0\r\n\r\n")

    return behave


async def silence(_write: Write) -> None:
    await asyncio.sleep(3_600)


def chat(
    *deltas: dict[str, Any], finish: str = "stop", usage: dict[str, Any] | None = None, then: str = "close"
) -> Behave:
    """OpenAI chat chunks."""

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    events: list[tuple[str | None, Any]] = [(None, chunk(delta)) for delta in deltas]
    if then == "close":
        events.append((None, chunk({}, finish)))
        if usage is not None:
            events.append((None, chunk({}) | {"choices": [], "usage": usage}))
        events.append((None, "[DONE]"))
    return sse(*events, then=then)


def piece(index: int | None, identity: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    """One piece of a streamed tool call."""
    function = {"arguments": arguments} | ({"name": name} if name else {})
    call = {"function": function, "type": "function"} | ({"id": identity} if identity else {})
    return {"tool_calls": [call | ({"index": index} if index is not None else {})]}


def anthropic(*blocks: tuple[dict[str, Any], list[dict[str, Any]]], stop: str = "end_turn", **usage: int) -> Behave:
    """An Anthropic message stream; each block is its start and its deltas."""
    start = {"input_tokens": 5, "output_tokens": 1} | {
        key: value for key, value in usage.items() if key != "output_tokens"
    }
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [], "usage": start}
    events: list[tuple[str | None, Any]] = [
        ("message_start", {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}})
    ]
    for index, (block, deltas) in enumerate(blocks):
        opening = {"type": "content_block_start", "index": index, "content_block": block}
        events.append(("content_block_start", opening))
        events += [
            ("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas
        ]
        events.append(("content_block_stop", {"type": "content_block_stop", "index": index}))
    ending = {"stop_reason": stop, "stop_sequence": None}
    out = {"output_tokens": usage.get("output_tokens", 9)}
    events.append(("message_delta", {"type": "message_delta", "delta": ending, "usage": out}))
    events.append(("message_stop", {"type": "message_stop"}))
    return sse(*events)
