"""Connections as the gateway keeps them: broken ones beside sound ones, restarts, and what is forgotten."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_gateway.adapters.connections import reach
from guildhall_gateway.adapters.guard import judged
from guildhall_gateway.adapters.room import Room, room_for
from guildhall_gateway.runs import ConnectionView, parse_connection
from guildhall_gateway.watch import decoded_secret
from support.connections import bench, connection, frozen, guild_of
from unit.gateway import kit

READ = "notes__read_note"


def statuses(cluster: kit.Cluster, name: str) -> list[dict[str, Any]]:
    return [status for one, status in cluster.connection_statuses if one == name]


@pytest.mark.parametrize(
    "spec",
    [{}, {"url": 3}, {"url": "ftp://x"}, {"url": "http://x/mcp", "tools": {"a": {"effect": "none"}}},
     {"url": "http://x/mcp", "kind": "other"}, {"url": "http://x/mcp", "surprise": 1}],
    ids=str,
)  # fmt: skip
async def test_one_broken_connection_disturbs_no_other(tmp_path: Path, spec: dict[str, Any]) -> None:
    async with bench(tmp_path) as made:
        made.cluster.tell("set", ConnectionView("connection-9", "team", "broken", 1, spec))
        await kit.until(lambda: statuses(made.cluster, "broken"))
        condition = statuses(made.cluster, "broken")[-1]["conditions"][0]
        assert (condition["status"], condition["reason"]) == ("False", "SpecInvalid")
        assert condition["message"].startswith("spec.")
        assert (await made.call(READ, {"number": 1})).json()["outcome"] == "done"
        assert made.served.gateway.healthy()


async def test_more_connections_than_may_be_say_so_and_wait_for_room(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        connections = made.served.gateway.connections
        connections._reach = replace(connections._reach, room=Room(1))
        made.cluster.tell("set", connection(made.server.url, name="more", uid="connection-2"))
        made.cluster.tell(
            "set", replace(connection(made.server.url, name="theirs", uid="connection-3"), namespace="other")
        )
        await made.ready(name="theirs")
        assert (await made.call(READ, {"number": 1})).json()["outcome"] == "done", "control: the first goes on"
        await kit.until(lambda: statuses(made.cluster, "more"))
        condition = statuses(made.cluster, "more")[-1]["conditions"][0]
        assert (condition["status"], condition["reason"]) == ("False", "TooMany")
        assert "1 Connections of this namespace" in condition["message"]
        assert connections.unseen("team") == set()
        connections._look_again()
        made.cluster.tell("set", replace(connection(made.server.url, name="more", uid="connection-2"), generation=2))
        await kit.until(lambda: len(statuses(made.cluster, "more")) == 2)
        assert statuses(made.cluster, "more")[-1]["conditions"][0]["observedGeneration"] == 2
        made.cluster.tell("gone", connection(made.server.url))
        await made.ready(name="more")


async def test_the_room_of_one_that_waited_and_went_is_not_kept(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        connections = made.served.gateway.connections
        connections._reach = replace(connections._reach, room=Room(1))
        for uid in ("connection-2", "connection-3"):
            made.cluster.tell("set", connection(made.server.url, name=f"n{uid[-1]}", uid=uid))
        made.cluster.tell("gone", connection(made.server.url, name="n2", uid="connection-2"))
        made.cluster.tell("gone", connection(made.server.url))
        await made.ready(name="n3")
        assert len(connections._kept) == 1
        assert len(connections._waiting) == 0


class Reluctant:
    """A cluster whose API server answers when it is let, and counts what is asked of it at once."""

    def __init__(self, cluster: kit.Cluster) -> None:
        self.cluster, self.open = cluster, asyncio.Event()
        self.asked: list[str] = []
        self.at_once = self.most = 0
        self.broken = False

    async def write_connection(self, item: ConnectionView, status: dict[str, Any]) -> None:
        self.asked.append(item.name)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await self.open.wait()
            if self.broken:
                raise OSError("no answer")
            await self.cluster.write_connection(item, status)
        finally:
            self.at_once -= 1


async def test_each_of_many_that_wait_is_told_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        connections = made.served.gateway.connections
        connections._reach = replace(connections._reach, room=Room(1))
        sink = connections._sink = Reluctant(made.cluster)  # type: ignore[assignment]
        names = [f"n{number}" for number in range(200)]
        for name in names:
            made.cluster.tell("set", connection(made.server.url, name=name, uid=f"uid-{name}"))
        await asyncio.sleep(0)
        assert len(connections._tasks) <= 200
        for name in names:  # each is heard of again while it is being told
            made.cluster.tell("set", connection(made.server.url, name=name, uid=f"uid-{name}"))
        assert len(connections._tasks) <= 200
        sink.open.set()
        await kit.until(lambda: len(made.cluster.connection_statuses) >= 200)
        connections._look_again()
        await kit.until(lambda: not connections._tasks)
        assert sorted(sink.asked) == sorted(names)
        assert 1 < sink.most <= limits.CONNECTIONS_TURNED_AWAY_AT_ONCE_MAX_COUNT
        assert statuses(made.cluster, "n7")[-1]["conditions"][0]["reason"] == "TooMany", "control: they are told"


async def test_one_that_could_not_be_told_is_told_later(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        connections = made.served.gateway.connections
        connections._reach = replace(connections._reach, room=Room(1))
        sink = connections._sink = Reluctant(made.cluster)  # type: ignore[assignment]
        sink.open.set()
        sink.broken = True
        made.cluster.tell("set", connection(made.server.url, name="more", uid="connection-2"))
        await kit.until(lambda: sink.asked == ["more"] and not connections._tasks)
        sink.broken = False
        connections._look_again()
        await kit.until(lambda: statuses(made.cluster, "more"))


async def test_no_more_than_so_many_wait_and_the_others_come_when_there_is_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS_WAITING_PER_NAMESPACE_MAX_COUNT", 2)
    async with bench(tmp_path) as made:
        connections = made.served.gateway.connections
        connections._reach = replace(connections._reach, room=Room(1))
        for number in range(2, 6):
            made.cluster.tell("set", connection(made.server.url, name=f"n{number}", uid=f"connection-{number}"))
        await kit.until(lambda: statuses(made.cluster, "n3"))
        assert len(connections._waiting) == 2
        assert statuses(made.cluster, "n4") == []
        made.cluster.tell("gone", connection(made.server.url))
        await made.ready(name="n2")
        connections._look_again()
        await kit.until(lambda: statuses(made.cluster, "n4"))
        assert statuses(made.cluster, "n5") == []
        assert [waiting.view.name for waiting in connections._waiting] == ["n3", "n4"]


def test_no_namespace_can_have_what_is_anothers() -> None:
    for count in (1, 2, 3, 5, 64, 100, 256):
        room = room_for(count)
        kept = ["greedy"] * 1_000
        assert not room.left(kept, "greedy")
        assert room.left(kept, "modest")
        assert room.each * count <= limits.CONNECTIONS_MAX_COUNT
        assert 1 <= room.each <= limits.CONNECTIONS_PER_NAMESPACE_MAX_COUNT
    assert Room(2).left(["a"], "a")
    assert not Room(2).left(["a", "b", "a"], "a")


async def test_an_unchanged_status_is_written_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        listings = len(made.server.told.methods)
        await kit.until(lambda: len(made.server.told.methods) >= listings + 8)  # listed again, and again
        assert len(statuses(made.cluster, "notes")) == 1
        made.cluster.tell("set", replace(made.cluster.connections()[0], generation=2))
        await kit.until(lambda: len(statuses(made.cluster, "notes")) == 2)
        first, second = (status["conditions"][0] for status in statuses(made.cluster, "notes"))
        assert second["observedGeneration"] == 2
        assert second["lastTransitionTime"] == first["lastTransitionTime"], "since when it is ready is kept"


async def test_since_when_it_is_ready_outlives_the_gateway(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        cluster = made.cluster
        view = replace(cluster.connections()[0], ready="True", since="2026-01-01T00:00:00Z")
        cluster.tell("set", view)
        where = made.served.gateway.connections._reach
        cluster.connection_statuses.clear()
        other = tmp_path / "other"
        other.mkdir()
        async with kit.serve(other, cluster, where=where):
            await kit.until(lambda: statuses(cluster, "notes"))
        assert statuses(cluster, "notes")[-1]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


async def test_a_server_that_is_away_keeps_its_tools_and_one_that_refuses_us_does_not(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        made.server.status = 503
        await kit.until(lambda: statuses(made.cluster, "notes")[-1]["conditions"][0]["status"] == "False")
        assert len(await made.get()) == 2
        made.server.status = 401
        await kit.until(lambda: statuses(made.cluster, "notes")[-1]["conditions"][0]["reason"] == "Unauthorized")
        assert await made.get() == []
        assert statuses(made.cluster, "notes")[-1]["face"] == "Not connected"
        made.server.status = 0
        await made.ready()
        assert len(await made.get()) == 2


async def test_what_was_accepted_of_deleted_connections_is_forgotten_at_the_next_start(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        assert await made.served.gateway.tools._store.connections() == ["connection-1"]
        cluster, run = made.cluster, made.run
    cluster._connections.clear()  # deleted while no gateway ran
    async with kit.serve(tmp_path, cluster) as served:
        async with asyncio.timeout(5):
            while await served.gateway.tools._store.connections():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert run.uid == "run-1"


async def test_in_another_namespace_there_is_no_such_tool(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        made.cluster.tell("set", replace(connection(made.server.url, name="theirs", uid="c-2"), namespace="other"))
        await kit.until(lambda: statuses(made.cluster, "theirs"))
        made.cluster.add_run("run-2", token="t2", **frozen(guild_of("theirs__read_note")))
        async with made.served.client("t2") as client:
            assert (await client.get("/v1/tools")).json()["tools"] == []
            body = {"callId": "c", "role": "coder", "arguments": {"number": 1}}
            assert (await client.post("/v1/tools/theirs__read_note", json=body)).status_code == 404
        assert made.server.told.calls == []


def test_the_api_server_is_out_of_reach_whatever_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    where = reach(["https://kubernetes.default.svc", "nonsense"])
    assert where.allowed == {"https://kubernetes.default.svc:443"}
    assert judged("10.96.0.1", where.forbidden) is None
    assert judged("10.96.0.2", where.forbidden) == "10.96.0.2"


@pytest.mark.parametrize("item", [None, {}, {"metadata": {}}, {"metadata": {"uid": "u", "namespace": "n", "name": 3}}])
def test_what_is_no_connection_is_none(item: Any) -> None:
    assert parse_connection(item) is None
    sound = {"metadata": {"uid": "u", "namespace": "n", "name": "x"}, "spec": [], "status": {"conditions": [3]}}
    assert parse_connection(sound) == ConnectionView("u", "n", "x", 0, {})


def test_a_secret_s_values_are_decoded_or_left_out() -> None:
    assert decoded_secret({"a": "eA==", "b": "no base64!", "c": 3, "d": ""}) == {"a": b"x", "d": b""}
