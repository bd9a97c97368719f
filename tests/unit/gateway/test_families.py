"""The gateway answers by each address family, and a peer's address reads as a pod's status has it."""

import asyncio
import socket
from contextlib import ExitStack, closing, suppress

import pytest
from guildhall_gateway import families
from guildhall_gateway.canary import ANSWER, Canary
from guildhall_gateway.doorway import Doorway

if families.hosts("") == [families.EVERY_IPV4]:
    pytest.skip("this machine has no IPv6", allow_module_level=True)


def test_one_address_is_one_place_and_none_is_all_of_them() -> None:
    assert families.hosts("127.0.0.1") == ["127.0.0.1"]
    assert families.hosts("") == [families.EVERY_IPV4, families.EVERY_IPV6]


def test_without_ipv6_the_other_family_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_six(family: int, kind: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError("address family not supported")
        return real(family, kind)

    real = socket.socket
    monkeypatch.setattr(families.socket, "socket", no_six)
    assert families.hosts("") == [families.EVERY_IPV4]


@pytest.fixture
def port() -> int:
    """A port that is free in both families."""
    with closing(socket.create_server(("127.0.0.1", 0))) as held:
        number: int = held.getsockname()[1]
    return number


async def test_the_canary_answers_by_both_families(port: int) -> None:
    canary = Canary()
    await canary.start("", port)
    for host in ("127.0.0.1", "::1"):
        reader, writer = await asyncio.open_connection(host, port)
        assert await asyncio.wait_for(reader.read(), 5) == ANSWER, host
        writer.close()
    await canary.stop()
    for host in ("127.0.0.1", "::1"):
        with pytest.raises(OSError, match="Connect call failed"):
            await asyncio.open_connection(host, port)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_peer_is_called_by_its_own_address(port: int, host: str) -> None:
    """One socket for both would call an IPv4 peer ::ffff:127.0.0.1, which is no pod's address."""
    doors = families.doors("", port)
    assert [door.getsockname()[1] for door in doors] == [port, port]
    called = []
    for door in doors:
        door.listen()
    with ExitStack() as open_ones, socket.create_connection((host, port)):
        for door in doors:
            open_ones.enter_context(door).settimeout(0.2)
            with suppress(TimeoutError):
                accepted, address = door.accept()
                open_ones.enter_context(accepted)
                called.append(address[0])
    assert called == [host]


async def test_the_tls_port_listens_in_each_family(port: int) -> None:
    doors = [Doorway().listen(host, port) for host in families.hosts("")]
    assert [door.getsockname()[:2] for door in doors] == [(families.EVERY_IPV4, port), (families.EVERY_IPV6, port)]
    for door in doors:
        door.close()
