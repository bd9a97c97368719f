"""No address can take every connection, and none may hold one without asking for something."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from guildhall_gateway.__main__ import server
from guildhall_gateway.config import Tls
from guildhall_gateway.doorway import Doorway
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from support.certificates import certificate
from unit.gateway import kit

Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def hello(_request: object) -> PlainTextResponse:
    return PlainTextResponse("hello")


@contextlib.asynccontextmanager
async def standing(doorway: Doorway, tls: Tls | None = None, **bounds: int) -> AsyncIterator[int]:
    door = doorway.listen("127.0.0.1", 0)
    listener = server(doorway.around(Starlette(routes=[Route("/", hello)])), "127.0.0.1", 0, tls, **bounds)
    task = asyncio.create_task(listener.serve([door]))
    await kit.until(lambda: listener.started)
    try:
        yield door.getsockname()[1]
    finally:
        listener.should_exit = listener.force_exit = True
        await task


async def dial(port: int, source: str) -> Wire:
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))


async def ended(wire: Wire, seconds: float) -> bool:
    """Whether the other side closes within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            over = await wire[0].read() == b""
    except TimeoutError:
        return False
    except ConnectionError:
        over = True
    await close(wire)
    return over


async def close(wire: Wire) -> None:
    wire[1].close()
    with contextlib.suppress(ConnectionError):
        await wire[1].wait_closed()


async def served(wire: Wire) -> bool:
    wire[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(5):
        return b"200" in await wire[0].readuntil(b"hello")


async def test_one_address_gets_so_many_connections_and_no_more() -> None:
    doorway = Doorway(per_peer=3, first_request_seconds=60)
    async with standing(doorway) as port:
        held = [await dial(port, "127.0.0.2") for _ in range(3)]
        assert await served(held[0])
        refused = [await dial(port, "127.0.0.2") for _ in range(5)]
        assert all([await ended(wire, 5) for wire in refused])
        other = await dial(port, "127.0.0.3")
        assert await served(other), "another address is not hindered"
        await close(held[1])
        await kit.until(lambda: doorway._open["127.0.0.2"] == 2)
        fourth = await dial(port, "127.0.0.2")
        assert await served(fourth), "what was given back can be had again"
        for wire in [*held, other, fourth]:
            await close(wire)
        await kit.until(lambda: not doorway._open)
        assert not doorway._silent


async def test_what_is_too_much_in_all_is_closed_without_a_word() -> None:
    doorway = Doorway(per_peer=3, in_all=4)
    async with standing(doorway) as port:
        held = [await dial(port, f"127.0.0.{2 + number // 2}") for number in range(4)]
        assert all([await served(wire) for wire in held])
        late = await dial(port, "127.0.0.9")
        with contextlib.suppress(ConnectionError):
            late[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await late[1].drain()
        assert await ended(late, 5), "not one byte"
        await close(held[0])
        await kit.until(lambda: doorway._count == 3)
        other = await dial(port, "127.0.0.9")
        assert await served(other), "what was given back can be had again"
        for wire in [*held[1:], other]:
            await close(wire)
        await kit.until(lambda: not doorway._open)
        assert doorway._count == 0


async def test_the_server_behind_the_doorway_has_no_bound_that_answers() -> None:
    """A bound of its own says 503, which a stranger is not to hear; the health port, without a doorway, has one."""
    assert server(Starlette(), "127.0.0.1", 0).config.limit_concurrency is None
    async with standing(Doorway(), at_once_max_count=2) as port:
        first, second = await dial(port, "127.0.0.2"), await dial(port, "127.0.0.3")
        second[1].write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(5):
            assert b" 503 " in await second[0].readline(), "control: that is what it would say"
        for wire in (first, second):
            await close(wire)


async def test_a_connection_must_ask_for_something_in_time() -> None:
    async with standing(Doorway(first_request_seconds=0.3)) as port:
        asks = await dial(port, "127.0.0.2")
        assert await served(asks)
        idle, slow = await dial(port, "127.0.0.2"), await dial(port, "127.0.0.2")
        started = time.monotonic()
        for byte in b"GET":
            slow[1].write(bytes([byte]))
            await asyncio.sleep(0.03)
        assert await ended(idle, 5)
        assert await ended(slow, 5)
        assert 0.25 < time.monotonic() - started < 3
        assert not await ended(asks, 0.1), "one that asked may stay"
        await close(asks)


async def test_a_handshake_that_never_comes_is_ended_too(tmp_path: Path) -> None:
    certificate(tmp_path)
    tls = Tls(cert=str(tmp_path / "tls.crt"), key=str(tmp_path / "tls.key"))
    doorway = Doorway(per_peer=2, first_request_seconds=0.5)
    context = ssl.create_default_context(cafile=tls.cert)
    async with standing(doorway, tls) as port:
        silent = [await dial(port, "127.0.0.1") for _ in range(2)]
        async with httpx.AsyncClient(verify=context, trust_env=False, timeout=5) as client:
            with pytest.raises(httpx.HTTPError):
                await client.get(f"https://localhost:{port}/")
            assert all([await ended(wire, 5) for wire in silent])
            await kit.until(lambda: not doorway._open)
            assert (await client.get(f"https://localhost:{port}/")).text == "hello"
            await asyncio.sleep(0.6)
            assert (await client.get(f"https://localhost:{port}/")).text == "hello"
            assert doorway._open["127.0.0.1"] == 1, "the same connection: one that asked may stay"


def test_a_port_that_is_taken_is_an_error() -> None:
    door = Doorway().listen("127.0.0.1", 0)
    door.listen()
    with pytest.raises(OSError, match="in use"):
        Doorway().listen("127.0.0.1", door.getsockname()[1])
    door.close()
