"""The canary is believed only when it speaks."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from guildhall_operator import canary
from guildhall_operator.canary import answers, gate_targets, look, one_of_each_family
from guildhall_operator.observe import Surroundings
from unit.operator import kit


@asynccontextmanager
async def listener(words: bytes, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[int]:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(words)
        writer.close()

    server = await asyncio.start_server(talk, host, port)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_a_canary_that_speaks_answers() -> None:
    async with listener(b"canary\n") as port:
        assert await answers("127.0.0.1", port) == ""


async def test_one_that_hangs_up_or_is_not_there_does_not() -> None:
    async with listener(b"") as port:
        assert "without a word" in await answers("127.0.0.1", port)
    assert str(port) in await answers("127.0.0.1", port)


async def test_the_proof_has_its_time_and_a_failure_keeps_the_old_one() -> None:
    around = Surroundings()
    async with listener(b"canary\n") as port:
        config = kit.config(gateway={"service": "gw", "clusterIp": "127.0.0.1", "canaryPort": port})
        await look(config, around, lambda: 42.0)
    assert (around.gateway_ip, around.canary_at, around.canary_problem) == ("127.0.0.1", 42.0, "")
    await look(config, around, lambda: 50.0)
    assert around.canary_at == 42.0
    assert around.canary_problem


async def test_a_name_that_does_not_resolve_is_a_problem() -> None:
    around = Surroundings()
    await look(kit.config(gateway={"service": "gateway.invalid"}), around)
    assert "gateway.invalid" in around.canary_problem
    assert around.gateway_ip is None


def test_the_targets_are_the_canary_the_api_server_and_the_charts() -> None:
    extra = {"name": "metadata", "host": "192.0.2.9", "port": 80, "required": False}
    config = kit.config(
        apiServer={"name": "api-server", "host": "10.96.0.1", "port": 443}, isolation={"targets": [extra]}
    )
    found = gate_targets(config, ["10.96.0.50"])
    assert [(target.name, target.required) for target in found] == [
        ("canary", True),
        ("api-server", True),
        ("metadata", False),
    ]


def test_of_many_addresses_the_first_of_each_family_is_taken() -> None:
    assert one_of_each_family(["fd00::1", "10.0.0.1", "fd00::2", "10.0.0.2"]) == ("10.0.0.1", "fd00::1")
    assert one_of_each_family(["fd00::1"]) == ("fd00::1",)
    assert one_of_each_family([]) == ()


def test_each_family_has_its_own_required_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")

    def told(gateway: list[str], server: list[str]) -> list[tuple[str, str, int, bool]]:
        found = gate_targets(kit.config(), gateway, server)
        return [(target.name, target.host, target.port, target.required) for target in found]

    four = [("canary", "10.96.0.50", 8444, True), ("api-server", "10.96.0.1", 6443, True)]
    six = [("canary-ipv6", "fd00::50", 8444, True), ("api-server-ipv6", "fd00::1", 6443, True)]
    assert told(["10.96.0.50"], []) == four
    assert told(["10.96.0.50", "fd00::50"], ["10.96.0.1", "fd00::1"]) == [four[0], six[0], four[1], six[1]]
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert told(["fd00::50"], ["fd00::1"]) == [
        ("canary", "fd00::50", 8444, True),
        ("api-server", "fd00::1", 6443, True),
    ]


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")
async def test_the_canary_is_proven_by_every_family_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A denial over IPv6 proves nothing where nobody reaches the canary over it."""
    port = 0

    async def getaddrinfo(_: Any, name: str, *__: Any, **___: Any) -> list[Any]:
        hosts = {"gw": ("::1", "127.0.0.1")}.get(name, ())
        return [(None, None, None, "", (host, port)) for host in hosts]

    monkeypatch.setattr(type(asyncio.get_running_loop()), "getaddrinfo", getaddrinfo)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    around = Surroundings()
    async with AsyncExitStack() as both:
        port = await both.enter_async_context(listener(b"canary\n"))
        config = kit.config(gateway={"service": "gw", "canaryPort": port})
        await look(config, around, lambda: 1.0)
        assert (around.canary_at, around.gateway_ip) == (None, "127.0.0.1")
        assert f"::1:{port}" in around.canary_problem
        await both.enter_async_context(listener(b"canary\n", "::1", port))
        await look(config, around, lambda: 2.0)
    assert (around.canary_at, around.canary_problem) == (2.0, "")
    assert [(target.name, target.host) for target in around.targets] == [
        ("canary", "127.0.0.1"),
        ("canary-ipv6", "::1"),
    ]


async def test_an_api_server_whose_name_is_silent_keeps_the_addresses_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, ...] | OSError] = [("10.96.0.1", "fd00::1"), OSError("no answer")]

    async def addresses(name: str, _: int) -> tuple[str, ...]:
        assert name == "kubernetes.default.svc"
        found = said.pop(0)
        if isinstance(found, OSError):
            raise found
        return found

    monkeypatch.setattr(canary, "addresses", addresses)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    first = await canary.resolve_server(kit.config(), ())
    assert first == ("10.96.0.1", "fd00::1")
    assert await canary.resolve_server(kit.config(), first) == first
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    assert await canary.resolve_server(kit.config(), ()) == ()
    assert not said
