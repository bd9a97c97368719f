"""One small HTTP server, plain or over TLS: it keeps what it was asked and answers as the test says."""

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Write = Callable[[bytes], Awaitable[None]]
Behave = Callable[[Write], Awaitable[None]]
Event = tuple[str | None, Any]


@dataclass
class Provider:
    """What was asked, and how to answer next. `script` goes before `behave`, one answer for each request."""

    url: str
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    behave: Behave | None = None
    script: list[Behave] = field(default_factory=list)

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
async def provider(tls: ssl.SSLContext | None = None) -> AsyncIterator[Provider]:
    """A server that answers each connection's one request."""
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

            behave = made.script.pop(0) if made.script else made.behave
            assert behave is not None
            await behave(write)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=2**24)
    port = server.sockets[0].getsockname()[1]
    made = Provider(f"https://localhost:{port}" if tls else f"http://127.0.0.1:{port}")
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


def sse(*events: Event, then: str = "close") -> Behave:
    """A stream of server-sent events; `then` is `close`, `hang`, `reset` (cut without an end), or `short`, which a
    dialect leaves its own end out for: the body ends as HTTP has it, as one does that a proxy gave up."""

    async def behave(write: Write) -> None:
        await write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for name, data in events:
            value = data if isinstance(data, str) else json.dumps(data)
            text = (f"event: {name}\n" if name else "") + f"data: {value}\n\n"
            await write(f"{len(text.encode()):x}\r\n{text}\r\n".encode())
            await asyncio.sleep(0)
        if then == "hang":
            await asyncio.sleep(3_600)
        if then in ("close", "short"):
            await write(b"0\r\n\r\n")

    return behave


async def silence(_write: Write) -> None:
    await asyncio.sleep(3_600)


@contextlib.contextmanager
def deaf() -> Iterator[str]:
    """A URL where no connection is ever completed: its queue is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def flood(head: bytes, piece: bytes) -> Behave:
    """`piece` again and again, until the other side has had enough."""

    async def behave(write: Write) -> None:
        await write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + head)
        while True:
            await write(piece)

    return behave
