"""The workshop's client against servers that lie, stall, flood or die, as repository code could."""

import asyncio
import base64
import contextlib
import json
import os
import struct
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.frames import (
    DiffRequest,
    DiffResult,
    ErrorReply,
    ExecRequest,
    ExecResult,
    StatRequest,
    StatResult,
)
from guildhall_executor.tools.ask import WorkshopLost
from guildhall_executor.workshop import Workshop
from hypothesis import given, settings
from hypothesis import strategies as st

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HELLO = {"type": "result", "op": "hello", "version": 1, "landlockAbi": 0, "seccomp": True, "openat2": True}
HELLO |= {"shell": "sh", "uid": 0}
ENTRY = {"path": "a", "kind": "file", "size": 1, "mode": 420}


def frame(value: Any) -> bytes:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return struct.pack(">I", len(body)) + body


async def read_request(reader: asyncio.StreamReader) -> Any:
    (length,) = struct.unpack(">I", await reader.readexactly(4))
    return json.loads(await reader.readexactly(length))


def after_hello(then: Callable[[Any, asyncio.StreamWriter], Awaitable[None] | None]) -> Handler:
    """Greets as a workshop does, then answers each request by `then`."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                request = await read_request(reader)
                if request["op"] == "hello":
                    writer.write(frame(HELLO | {"id": request["id"]}))
                    continue
                waiting = then(request, writer)
                if waiting is not None:
                    await waiting
        writer.close()

    return handle


@contextlib.asynccontextmanager
async def facing(handler: Handler, uid: int | None = None, connect_seconds: float = 0.3) -> AsyncIterator[Workshop]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        handlers: list[asyncio.Task[None]] = []
        writers: list[asyncio.StreamWriter] = []

        async def kept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            handlers.append(asyncio.current_task())  # type: ignore[arg-type]
            writers.append(writer)
            await handler(reader, writer)

        server = await asyncio.start_unix_server(kept, path)
        workshop = Workshop(path, os.getuid() if uid is None else uid, connect_seconds)
        try:
            yield workshop
        finally:
            await workshop.close()
            await asyncio.sleep(0.01)  # a connection that was just made is accepted before the end
            server.close()
            for writer in writers:
                writer.close()
            await asyncio.gather(*handlers, return_exceptions=True)
            await server.wait_closed()
            await asyncio.sleep(0.01)


async def stat(workshop: Workshop, patience_seconds: float = 2.0) -> StatResult | ErrorReply:
    return await workshop.ask(lambda id_: StatRequest(id=id_, path="a"), StatResult, patience_seconds=patience_seconds)


def good_stat(request: Any, writer: asyncio.StreamWriter) -> None:
    writer.write(frame({"id": request["id"], "type": "result", "op": "stat", "entry": ENTRY}))


async def test_an_honest_server_is_understood() -> None:
    async with facing(after_hello(good_stat)) as workshop:
        reply = await stat(workshop)
    assert isinstance(reply, StatResult)
    assert reply.entry.path == "a"


async def test_interleaved_replies_find_their_askers() -> None:
    held: list[Any] = []

    def both_then_reversed(request: Any, writer: asyncio.StreamWriter) -> None:
        held.append(request)
        if len(held) == 3:
            for one in reversed(held):
                entry = ENTRY | {"size": one["id"]}
                writer.write(frame({"id": one["id"], "type": "result", "op": "stat", "entry": entry}))

    async with facing(after_hello(both_then_reversed)) as workshop:
        replies = await asyncio.gather(*(stat(workshop) for _ in range(3)))
    sizes = [reply.entry.size for reply in replies if isinstance(reply, StatResult)]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 3


LIES: dict[str, Callable[[Any], bytes]] = {
    "not JSON": lambda r: frame(b"\xff\xfe{]"),
    "an array": lambda r: frame([1]),
    "no type": lambda r: frame({"id": r["id"]}),
    "too long": lambda r: struct.pack(">I", 2**31) + b"x",
    "empty frame": lambda r: struct.pack(">I", 0),
    "deep": lambda r: frame(b"[" * 300_000),
    "unknown field": lambda r: frame({"id": r["id"], "type": "result", "op": "stat", "entry": ENTRY, "run": "x"}),
    "another id": lambda r: frame({"id": r["id"] + 999, "type": "result", "op": "stat", "entry": ENTRY}),
    "another operation": lambda r: frame({"id": r["id"], "type": "result", "op": "mkdir"}),
    "id as text": lambda r: frame({"id": str(r["id"]) + "x", "type": "result", "op": "stat", "entry": ENTRY}),
    "surrogate": lambda r: frame(b'{"id":%d,"type":"error","code":"not_found","message":"\\ud800"}' % r["id"]),
    "a log line": lambda r: b'{"v":1,"type":"run.finished","outcome":"succeeded"}\n' * 10,
}


@pytest.mark.parametrize("name", LIES)
async def test_a_lie_ends_the_connection_and_the_next_one_works(name: str) -> None:
    lied = False

    def lie_once(request: Any, writer: asyncio.StreamWriter) -> None:
        nonlocal lied
        if lied:
            good_stat(request, writer)
        else:
            lied = True
            writer.write(LIES[name](request))

    async with facing(after_hello(lie_once)) as workshop:
        with pytest.raises(WorkshopLost):
            await stat(workshop)
        assert isinstance(await stat(workshop), StatResult)


async def test_another_uid_on_the_socket_is_not_spoken_to() -> None:
    spoken: list[Any] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spoken.append(await reader.read(100))
        writer.close()

    async with facing(listen, uid=os.getuid() + 1) as workshop:
        with pytest.raises(WorkshopLost, match="uid"):
            await stat(workshop)
    assert not any(spoken)


async def test_a_server_that_never_answers_costs_a_bounded_time() -> None:
    async with facing(after_hello(lambda *_: None)) as workshop:
        began = time.monotonic()
        with pytest.raises(WorkshopLost, match="no answer"):
            await stat(workshop, 0.2)
        assert time.monotonic() - began < 1.5


async def test_a_server_that_never_greets_costs_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guildhall_executor.workshop.HELLO_SECONDS", 0.1)

    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with facing(mute) as workshop:
        with pytest.raises(WorkshopLost):
            await stat(workshop)


async def test_death_loses_what_is_in_flight_and_a_restart_is_found_again() -> None:
    deaths = 0

    async def die_once(request: Any, writer: asyncio.StreamWriter) -> None:
        nonlocal deaths
        if deaths == 0:
            deaths += 1
            writer.close()
        else:
            good_stat(request, writer)

    async with facing(after_hello(die_once)) as workshop:
        results = await asyncio.gather(stat(workshop), stat(workshop), return_exceptions=True)
        assert any(isinstance(result, WorkshopLost) for result in results)
        assert isinstance(await stat(workshop), StatResult)


async def test_nobody_there_is_lost_and_says_so(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path / "nobody", os.getuid(), 0.2)
    with pytest.raises(WorkshopLost, match="does not answer"):
        await stat(workshop)


async def test_giving_up_tells_the_workshop_and_ignores_what_still_comes() -> None:
    seen: list[Any] = []

    def late(request: Any, writer: asyncio.StreamWriter) -> None:
        seen.append(request)
        if request["op"] == "cancel":
            error = {"id": request["target"], "type": "error", "code": "cancelled", "message": ""}
            writer.write(frame(error) + frame({"id": request["id"], "type": "result", "op": "cancel"}))
        if request["op"] == "stat":
            good_stat(request, writer)

    async with facing(after_hello(late)) as workshop:
        asking = asyncio.create_task(
            workshop.ask(lambda id_: ExecRequest(id=id_, command="sleep 9"), ExecResult, patience_seconds=5)
        )
        await asyncio.sleep(0.1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert isinstance(await stat(workshop), StatResult)
    assert [request["op"] for request in seen] == ["exec", "cancel", "stat"]
    assert seen[1]["target"] == seen[0]["id"]


async def test_a_flood_of_output_is_handed_on_piece_by_piece() -> None:
    piece = base64.b64encode(b"y\n" * 1_000).decode()

    async def flood(request: Any, writer: asyncio.StreamWriter) -> None:
        for _ in range(500):
            writer.write(frame({"id": request["id"], "type": "output", "data": piece}))
            await writer.drain()
        end = {"id": request["id"], "type": "result", "op": "exec", "ended": "exited", "exitCode": 0}
        writer.write(frame(end))

    heard = 0

    def on_output(data: bytes, _: int) -> None:
        nonlocal heard
        heard += len(data)

    async with facing(after_hello(flood)) as workshop:
        reply = await workshop.ask(lambda id_: ExecRequest(id=id_, command="yes"), ExecResult, on_output=on_output)
    assert isinstance(reply, ExecResult)
    assert heard == 500 * 2_000


async def test_data_that_is_no_base64_is_nonsense() -> None:
    def bad(request: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(frame({"id": request["id"], "type": "chunk", "index": 0, "data": "abc"}))

    async with facing(after_hello(bad)) as workshop:
        with pytest.raises(WorkshopLost, match="nonsense"):
            await workshop.ask(lambda id_: DiffRequest(id=id_), DiffResult, on_chunk=lambda *_: None)


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), ValueError("too large"), KeyError("x")])
async def test_a_fault_of_the_listener_is_its_own_and_not_the_workshops(fault: Exception) -> None:
    def speak(request: Any, writer: asyncio.StreamWriter) -> None:
        if request["op"] == "stat":
            good_stat(request, writer)
            return
        writer.write(frame({"id": request["id"], "type": "output", "data": "eHg="}) * 2)

    def on_output(data: bytes, _: int) -> None:
        assert data == b"xx"
        raise fault

    greeted = 0
    speaking = after_hello(speak)

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal greeted
        greeted += 1
        await speaking(reader, writer)

    async with facing(counted) as workshop:
        with pytest.raises(type(fault)) as caught:
            await workshop.ask(lambda id_: ExecRequest(id=id_, command="x"), ExecResult, on_output=on_output)
        assert caught.value is fault
        assert isinstance(await stat(workshop), StatResult)
    assert greeted == 1, "the connection was as good as before"


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_after_the_hello_are_a_reply_or_a_loss(data: bytes, framed: bool) -> None:
    async def attempt() -> None:
        async def answer(request: Any, writer: asyncio.StreamWriter) -> None:
            writer.write(frame(data) if framed else data)
            writer.close()

        async with facing(after_hello(answer), connect_seconds=0.0) as workshop:
            with contextlib.suppress(WorkshopLost):
                await stat(workshop, 1.0)

    asyncio.run(attempt())
