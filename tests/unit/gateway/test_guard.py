"""Where a request to a tool server really goes: to each judged address of its name in turn, and to no other."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx2
import pytest
from guildhall_gateway.adapters import guard
from guildhall_gateway.adapters.guard import Forbidden, GuardedTransport
from guildhall_gateway.adapters.session import Session
from guildhall_gateway.adapters.target import Target, Times
from support.mcp_server import Running, mcp_server
from support.repositories import certificate

NAME = "notes.test"
GOOD, DEAD, HOLE, OTHER_HOLE = "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"
ANYWHERE = ssl.create_default_context()


@dataclass
class Names:
    """What the resolver says of any name, and which it was asked for."""

    addresses: list[str]
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    made = Names([GOOD])

    async def getaddrinfo(_: Any, host: str, port: int, **__: Any) -> list[Any]:
        made.asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in made.addresses]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    return made


@contextlib.contextmanager
def black_holes(port: int) -> Iterator[None]:
    """Packets to the two are taken at `port` and not answered: their queues of connections are full."""
    with contextlib.ExitStack() as stack:
        for address in (HOLE, OTHER_HOLE):
            listener = stack.enter_context(socket.socket())
            listener.bind((address, port))
            listener.listen(0)
            for _ in range(4):
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex((address, port))
        yield


def port_of(server: Running) -> int:
    return int(server.url.rsplit(":", 1)[1].partition("/")[0])


@contextlib.asynccontextmanager
async def client(
    port: int, tls: ssl.SSLContext | None = None, forbidden: Any = (), connect_seconds: float = 4.0
) -> AsyncIterator[httpx2.AsyncClient]:
    url = f"{'https' if tls else 'http'}://{NAME}:{port}"
    transport = GuardedTransport(url, tls or ANYWHERE, forbidden)
    timeout = httpx2.Timeout(5.0, connect=connect_seconds)
    async with httpx2.AsyncClient(transport=transport, base_url=url, timeout=timeout, trust_env=False) as made:
        yield made


async def answers(_scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"here"})


async def test_an_address_that_refuses_is_followed_by_the_next(names: Names) -> None:
    async with mcp_server(answers) as server, client(port_of(server)) as http:
        names.addresses = [DEAD, "::1", GOOD]
        answer = await http.post("/mcp", json={"n": 1})
        assert answer.text == "here"
        assert server.told.pieces == [b'{"n":1}'], "the whole request, once"
        assert server.told.headers[0]["host"] == f"{NAME}:{port_of(server)}", "and by its name"


async def test_an_address_that_says_nothing_takes_its_share_of_the_time_and_no_more(names: Names) -> None:
    loop = asyncio.get_running_loop()
    async with mcp_server(answers) as server, client(port_of(server), connect_seconds=4.0) as http:
        names.addresses = [HOLE, GOOD]
        with black_holes(port_of(server)):
            begun = loop.time()
            assert (await http.post("/mcp")).text == "here"
            assert 1.9 < loop.time() - begun < 3.9, "half of the time for each of two"
            begun = loop.time()
            assert (await http.post("/mcp")).text == "here"
            assert loop.time() - begun < 1.9, "the one that answered is asked first from now on"
        assert names.asked == [NAME, NAME], "though its name is looked up and judged each time"


async def test_a_session_is_opened_with_a_server_whose_first_address_leads_nowhere(names: Names) -> None:
    async with mcp_server() as server:
        names.addresses = [HOLE, GOOD]
        session = Session(Target(server.url.replace(GOOD, "localhost"), ()), Times(connect=4.0))
        with black_holes(port_of(server)):
            await session.open()
            assert len(await session.tools()) == 2
            await session.close()


async def test_where_no_address_answers_the_time_to_connect_is_not_prolonged(names: Names) -> None:
    async with mcp_server(answers) as server:
        port = port_of(server)
    names.addresses = [HOLE, DEAD, OTHER_HOLE]
    with black_holes(port):
        async with client(port, connect_seconds=1.5) as http, asyncio.timeout(2.8):
            with pytest.raises((httpx2.ConnectError, httpx2.ConnectTimeout)):
                await http.post("/mcp")
            transport = http._transport
            assert isinstance(transport, GuardedTransport)
            assert transport.fate().unsent, "it is certain that nobody took it"


async def test_one_forbidden_address_refuses_them_all(names: Names) -> None:
    async with mcp_server(answers) as server:
        for addresses in ([GOOD, "169.254.169.254"], ["169.254.169.254", GOOD], [GOOD, "x"], []):
            names.addresses = addresses
            async with client(port_of(server), forbidden=[ip_network("169.254.0.0/16")]) as http:
                with pytest.raises(Forbidden):
                    await http.post("/mcp")
        assert server.told.headers == [], "nothing was sent"
        names.addresses = [GOOD]
        async with client(port_of(server), forbidden=[ip_network("169.254.0.0/16")]) as http:
            assert (await http.post("/mcp")).text == "here", "positive control"


async def test_a_name_that_moves_is_judged_anew_and_what_answered_before_is_no_longer_tried(names: Names) -> None:
    async with mcp_server(answers) as server, client(port_of(server)) as http:
        assert (await http.post("/mcp")).text == "here"
        names.addresses = [DEAD]
        with pytest.raises(httpx2.ConnectError):
            await http.post("/mcp")
        assert len(server.told.headers) == 1


async def test_so_many_addresses_of_one_name_are_tried(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "ADDRESSES_TRIED_MAX_COUNT", 3)
    async with mcp_server(answers) as server, client(port_of(server)) as http:
        names.addresses = [DEAD, DEAD, "127.0.0.5", GOOD]
        assert (await http.post("/mcp")).text == "here", "the same one is not counted twice"
        names.addresses = [DEAD, "127.0.0.5", "127.0.0.6", GOOD]
        async with client(port_of(server)) as other:
            with pytest.raises(httpx2.ConnectError):
                await other.post("/mcp")


@pytest.mark.parametrize(("named", "believed"), [(f"DNS:{NAME}", True), (f"IP:{GOOD}", False)])
async def test_whichever_address_answers_must_prove_the_name(
    tmp_path: Path, names: Names, named: str, believed: bool
) -> None:
    ca, cert, key = await asyncio.to_thread(certificate, tmp_path, named)
    tls = ssl.create_default_context(cafile=str(ca))
    async with mcp_server(answers, tls=(cert, key)) as server, client(port_of(server), tls) as http:
        names.addresses = [DEAD, GOOD]
        if believed:
            assert (await http.post("/mcp")).text == "here"
        else:
            with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                await http.post("/mcp")
            assert server.told.headers == [], "nothing was said to who is only at the address"
