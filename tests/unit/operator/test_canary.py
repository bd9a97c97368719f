"""The canary is believed only when it speaks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from guildhall_operator.canary import answers, gate_targets, look
from guildhall_operator.observe import Surroundings
from unit.operator import kit


@asynccontextmanager
async def listener(words: bytes) -> AsyncIterator[int]:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(words)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
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
    found = gate_targets(config, "10.96.0.50")
    assert [(target.name, target.required) for target in found] == [
        ("canary", True),
        ("api-server", True),
        ("metadata", False),
    ]
