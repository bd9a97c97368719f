"""Promise: with a Connection, or its Secret, go its tools and what the gateway holds of the token. The Secret stays.

Control in each test: before that, the tool was called with the token, and the token was found in the gateway's memory.
"""

import gc
import types
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from guildhall_gateway.adapters.connections import Reach
from guildhall_gateway.adapters.guard import origin_of
from support.connections import QUICK, Bench, connection, frozen, guild_of
from support.mcp_server import mcp_server
from unit.gateway import kit

READ = "notes__read_note"
AUTH = {"secretRef": {"name": "notes-token"}}
PLACE = ("team", "notes-token")
FRAMES = (types.FrameType, types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType)


class Held(Bench):
    token: str

    def holders(self) -> set[str]:
        """Kinds of objects of this process that hold the token, but for the test's own."""
        secrets, known = dict(self.cluster.secrets), self.server.token
        self.cluster.secrets.clear()  # the server and the cluster are made to forget it for this moment
        self.server.token = ""
        self.server.told.headers.clear()
        gc.collect()
        try:
            return {
                type(one).__name__ for one in gc.get_objects() if not isinstance(one, (Held, *FRAMES)) and self._in(one)
            }
        finally:
            self.cluster.secrets.update(secrets)
            self.server.token = known

    def _in(self, one: object) -> bool:
        text, data = self.token, self.token.encode()
        return any(
            (type(each) is str and text in each) or (type(each) is bytes and data in each)
            for each in gc.get_referents(one)
        )


@asynccontextmanager
async def connected(folder: Path) -> AsyncIterator[Held]:
    token = f"token-{uuid.uuid4().hex}"
    async with mcp_server(token=token) as server:
        where = Reach(frozenset({origin_of(server.url)}), (), QUICK)
        async with kit.serve(folder, where=where) as served:
            host = origin_of(server.url).partition("://")[2]
            served.cluster.secrets[PLACE] = {"host": host.encode(), "token": token.encode()}
            run = served.cluster.add_run(**frozen(guild_of(READ)))
            served.cluster.tell("set", connection(server.url, auth=AUTH))
            made = Held(served, server, run)
            made.token = token
            await made.ready()
            assert (await made.call(READ, {"number": 1})).json()["outcome"] == "done"
            assert f"Bearer {token}" in [headers.get("authorization") for headers in server.told.headers]
            assert "Target" in made.holders(), "control: an open session has it"
            yield made


async def nothing_left(made: Held) -> None:
    assert await made.get() == [], "no model request offers it"
    assert (await made.call(READ, {"number": 2}, call_id="c2")).status_code == 404
    await kit.until(lambda: not made.holders())
    assert [call for _, call in made.server.told.calls] == [{"number": 1}]


async def test_a_deleted_connection_leaves_no_token_and_its_secret_alone(tmp_path: Path) -> None:
    async with connected(tmp_path) as made:
        made.cluster.tell("gone", made.cluster.connections()[0])
        await nothing_left(made)
        assert PLACE in made.cluster.secrets, "what people made is theirs"


@pytest.mark.parametrize("left", [None, {"host": b"elsewhere.example", "token": b"t"}])
async def test_with_the_secret_goes_what_was_held_of_it(tmp_path: Path, left: dict[str, bytes] | None) -> None:
    async with connected(tmp_path) as made:
        del made.cluster.secrets[PLACE]
        if left is not None:
            made.cluster.secrets[PLACE] = left
        kept = next(iter(made.served.gateway.connections._kept.values()))
        await kit.until(lambda: kept.reason.startswith("Secret"))
        await nothing_left(made)


async def test_a_cluster_that_does_not_answer_takes_nothing_away(tmp_path: Path) -> None:
    async with connected(tmp_path) as made:

        async def silent(*_: str) -> None:
            raise OSError("no answer")

        connections = made.served.gateway.connections
        answering, made.cluster.secret = made.cluster.secret, silent  # type: ignore[method-assign,assignment]
        kept = next(iter(connections._kept.values()))
        await kit.until(lambda: kept.reason == "Unreachable")
        assert [tool["name"] for tool in await made.get()] == [READ]
        assert len(connections._pool) == 1
        made.cluster.secret = answering  # type: ignore[method-assign]
        await kit.until(lambda: kept.reason == "Connected")
        assert (await made.call(READ, {"number": 2}, call_id="c2")).json()["outcome"] == "done"
