"""A gateway that stops: no call begins in it, those that had begun end and are recorded, whatever else it closes."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from guildhall_gateway.adapters.connections import Connections
from guildhall_gateway.ledger import ELSEWHERE, Ledger
from guildhall_gateway.problems import Refusal, refusal
from guildhall_gateway.store import Store
from guildhall_gateway.tool_store import Before, CallRecord, ToolStore
from sqlalchemy import text
from support.connections import Bench, bench
from unit.gateway import kit

READ = "notes__read_note"


async def kept(folder: Path, query: str) -> list[Any]:
    """What the next gateway finds in the database, once this one let go of it."""
    store = Store(f"sqlite:///{folder}/gateway.db")
    await store.open()
    rows = await store.read(lambda connection: [tuple(row) for row in connection.execute(text(query))])
    await store.close()
    return rows


def refused(answer: httpx.Response) -> bool:
    """It is said that the gateway stops, in the shape an executor asks again after, on another connection."""
    assert answer.status_code == 503, answer.text
    body = answer.json()
    assert body["error"]["message"] == "the gateway is stopping; ask again"
    assert (body["error"]["kind"], body["error"]["retryable"]) == ("llm_unavailable", True)
    assert (answer.headers["retry-after"], body["retryAfterSeconds"]) == ("5", 5.0)
    return answer.headers["connection"] == "close"


@contextlib.contextmanager
def held(place: type, name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[asyncio.Event, asyncio.Event]]:
    """Calls of a method of `place` say that they have begun, by the first event, and go on with the second."""
    begun, go_on, inner = asyncio.Event(), asyncio.Event(), getattr(place, name)

    async def slowly(*values: Any) -> Any:
        begun.set()
        await go_on.wait()
        return await inner(*values)

    with monkeypatch.context() as patch:
        patch.setattr(place, name, slowly)
        yield begun, go_on


@pytest.mark.parametrize("when", ["a call goes on", "all is closed"])
async def test_a_model_call_that_comes_after_the_stop_began_is_refused_and_recorded_nowhere(
    tmp_path: Path, when: str
) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI | {"delaySeconds": 1.0}])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        served.cluster.add_run("run-2", token="private", private=True)
        async with served.client() as client, served.client("private") as private:
            assert (await client.get("/v1/mailbox")).status_code == 200, "control: both connections are kept alive"
            assert (await private.get("/v1/mailbox")).status_code == 200
            going_on = asyncio.create_task(served.model(kit.request("c1")))
            await kit.until(served.gateway.calls.busy)
            stopping = served.stop(5.0)
            await (asyncio.sleep(0.1) if when == "a call goes on" else stopping)
            assert stopping.done() == (when == "all is closed")
            assert refused(await client.post("/v1/model", json=kit.request("c2")))
            assert refused(await private.post("/v1/model", json=kit.request("c3")))
            assert (await going_on)[-1]["reply"]["text"] == "hi", "what had begun ends"
        await stopping
    assert await kept(tmp_path, "SELECT call_id, state FROM calls") == [("c1", "settled")]
    assert await kept(tmp_path, "SELECT uid FROM runs") == [("run-1",)], "no budget of the other"
    assert await kept(tmp_path, "SELECT run FROM keeping") == []


async def test_whoever_asks_again_for_a_call_that_goes_on_is_told_its_reply(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI | {"delaySeconds": 0.5}])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        first = asyncio.create_task(served.model(kit.request()))
        await kit.until(lambda: served.gateway.calls._live)
        stopping = served.stop(5.0)
        await asyncio.sleep(0.05)
        again = await served.model(kit.request())
        assert again[-1]["reply"]["text"] == (await first)[-1]["reply"]["text"] == "hi"
        await stopping


@pytest.mark.parametrize("step", ["grant", "reserve"])
async def test_a_model_call_that_was_admitted_just_before_is_made_and_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        with held(Ledger, step, monkeypatch) as (begun, go_on):
            call = asyncio.create_task(served.model(kit.request()))
            await begun.wait()
            stopping = served.stop(5.0)
            await asyncio.sleep(0.1)
            assert not stopping.done()
            go_on.set()
            assert (await call)[-1]["reply"]["text"] == "hi"
        await asyncio.wait_for(stopping, 5)
    assert await kept(tmp_path, "SELECT state FROM calls") == [("settled",)]


async def test_one_that_is_only_reserved_when_the_grace_is_over_is_cut_and_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit.scenario(tmp_path, "hi", [{"fault": "hang"}])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        with held(Ledger, "reserve", monkeypatch) as (begun, go_on):
            call = asyncio.create_task(served.model(kit.request()))
            await begun.wait()
            stopping = served.stop(0.05)
            await asyncio.sleep(0.2)
            go_on.set()
            failure = (await call)[-1]["failure"]["error"]
        assert (failure["kind"], failure["retryable"]) == ("llm_unavailable", True)
        await asyncio.wait_for(stopping, 5)
    assert await kept(tmp_path, "SELECT state FROM calls") == [("failed",)]


async def test_who_waits_for_another_gateway_s_model_call_is_sent_to_ask_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    async def reserve(*_: Any) -> Refusal:
        nonlocal asked
        asked += 1
        return refusal(409, "llm_unavailable", "it is being made", retry_after_seconds=1.0, detail=dict(ELSEWHERE))

    async with kit.serve(tmp_path) as served:
        kit.scenario(tmp_path, "hi", [kit.SAY_HI])
        served.cluster.add_run()
        monkeypatch.setattr(served.gateway.ledger, "reserve", reserve)
        async with served.client() as client:
            call = asyncio.create_task(client.post("/v1/model", json=kit.request()))
            await kit.until(lambda: asked)
            await asyncio.wait_for(served.stop(5.0), 5)
            assert refused(await call)


async def other(made: Bench, call_id: str) -> httpx.Response:
    return await made.call(READ, {"number": 1}, call_id=call_id)


@pytest.mark.parametrize("when", ["a call goes on", "all is closed"])
async def test_an_external_call_that_comes_after_the_stop_began_is_refused_and_recorded_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    async with bench(tmp_path) as made:
        with held(Connections, "call", monkeypatch) as (begun, go_on):
            going_on = asyncio.create_task(other(made, "c1"))
            await begun.wait()
            stopping = made.served.stop(5.0)
            await asyncio.sleep(0.1)
            if when == "all is closed":
                go_on.set()
                await stopping
            assert stopping.done() == (when == "all is closed")
            assert refused(await other(made, "c2"))
            go_on.set()
            assert (await going_on).json()["outcome"] == "done"
        await stopping
        assert len(made.server.told.calls) == 1
    assert await kept(tmp_path, "SELECT call_id, state FROM tool_calls") == [("c1", "ended")]


@pytest.mark.parametrize("step", ["before", "guild", "begin"])
async def test_an_external_call_that_was_admitted_just_before_is_made_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    async with bench(tmp_path) as made:
        with held(ToolStore, step, monkeypatch) as (begun, go_on):
            call = asyncio.create_task(other(made, "c1"))
            await begun.wait()
            stopping = made.served.stop(5.0)
            await asyncio.sleep(0.1)
            assert not stopping.done()
            go_on.set()
            assert (await call).json()["outcome"] == "done"
        await asyncio.wait_for(stopping, 5)
        assert len(made.server.told.calls) == 1
    assert await kept(tmp_path, "SELECT state FROM tool_calls") == [("ended",)]


async def test_a_cut_while_a_result_is_being_kept_takes_it_from_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path) as made:
        with held(ToolStore, "end", monkeypatch) as (begun, go_on):
            call = asyncio.create_task(other(made, "c1"))
            await begun.wait()
            stopping = made.served.stop(0.0)
            await asyncio.sleep(0.1)
            go_on.set()
            assert (await call).json()["outcome"] == "done"
        await asyncio.wait_for(stopping, 5)
    ((result,),) = await kept(tmp_path, "SELECT result FROM tool_calls")
    assert "note 1" in result


async def test_who_waits_for_another_gateway_s_call_is_sent_to_ask_again_and_its_outcome_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path) as made:
        looks = 0

        async def before(_: ToolStore, call: CallRecord) -> Before:
            nonlocal looks
            looks += 1
            return Before(call.request_sha256, None, elsewhere=True)

        monkeypatch.setattr(ToolStore, "before", before)
        call = asyncio.create_task(other(made, "c1"))
        await kit.until(lambda: looks > 1)
        await asyncio.wait_for(made.served.stop(5.0), 5)
        assert refused(await call)
        assert made.server.told.calls == []
