"""Two gateways on one PostgreSQL, as in a rolling upgrade: nothing is paid, used or delivered twice, nothing is lost.

The executors' requests arrive at either of them, at once; both see the same cluster.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.canonical import arguments_hash
from guildhall_gateway.adapters.connections import Reach
from guildhall_gateway.adapters.guard import origin_of
from guildhall_gateway.approval_store import CLOCK_KEY
from sqlalchemy import text
from support.connections import QUICK, connection, frozen, guild_of
from support.mcp_server import mcp_server
from support.postgres import create_database
from unit.gateway import kit
from unit.gateway.test_mailbox import asked
from unit.gateway.test_model_route import DOLLAR

Two = tuple[kit.Served, kit.Served]


@contextlib.asynccontextmanager
async def both(
    postgres: str, folder: Path, steps: list[dict[str, Any]], where: Reach | None = None
) -> AsyncIterator[Two]:
    name = f"two{time.monotonic_ns()}"
    await create_database(postgres, name)
    cluster = kit.Cluster()
    async with contextlib.AsyncExitStack() as stack:
        made = []
        for place in (folder / "a", folder / "b"):
            place.mkdir()
            kit.scenario(place, "hi", steps, price=DOLLAR)
            serving = kit.serve(place, cluster, where=where, database_url=f"{postgres}/{name}")
            made.append(await stack.enter_async_context(serving))
        yield made[0], made[1]


async def posted(served: kit.Served, call_id: str) -> tuple[int, dict[str, Any]]:
    """Status and last line of a model call."""
    async with served.client() as client:
        answer = await client.post("/v1/model", json=kit.request(call_id))
    last = answer.json() if answer.status_code != 200 else json.loads(answer.text.splitlines()[-1])
    return answer.status_code, last


async def test_a_budget_is_not_overspent_and_the_ledger_is_the_sum_of_the_replies(
    postgres: str, tmp_path: Path
) -> None:
    step = kit.SAY_HI | {"usage": {"tokens": 100, "outputTokens": 100}, "delaySeconds": 0.05}
    async with both(postgres, tmp_path, [step]) as two:
        two[0].cluster.add_run(budget={"cost_micro_usd": 8_000, "tokens": 1_000_000})
        answers = await asyncio.gather(*(posted(two[n % 2], f"c{n}") for n in range(40)))
        replies = [last["reply"] for status, last in answers if status == 200]
        refused = {last["error"]["kind"] for status, last in answers if status != 200}
        spent = sum(reply["costMicroUSD"] for reply in replies)
        assert refused == {"budget_exhausted"}, "control: the limit was met"
        assert len(replies) >= 3
        assert spent <= 8_000
        totals = await two[0].gateway.ledger.totals("run-1")
        assert (totals.cost, totals.calls) == (spent, len(replies))
        assert (totals.cost_reserved, totals.calls_reserved, totals.tokens_reserved) == (0, 0, 0)
        used = {row.state for row in await two[1].gateway.ledger.calls("run-1")}
        assert used == {"settled", "refused"}


async def test_who_waits_at_one_gateway_for_what_a_call_of_the_other_holds_is_made_when_that_has_settled(
    postgres: str, tmp_path: Path
) -> None:
    step = kit.SAY_HI | {"usage": {"tokens": 100, "outputTokens": 100}, "delaySeconds": 1.0}
    async with both(postgres, tmp_path, [step]) as two:
        two[0].cluster.add_run(budget={"cost_micro_usd": 2_000})
        first = asyncio.create_task(posted(two[0], "c1"))
        await kit.until(lambda: two[0].gateway.calls._live)
        status, last = await posted(two[1], "c2")
        assert (status, last["reply"]["text"]) == (200, "hi")
        assert (await first)[0] == 200
        totals = await two[0].gateway.ledger.totals("run-1")
        assert (totals.calls, totals.cost, totals.cost_reserved) == (2, 600, 0)


async def test_one_call_asked_of_both_is_made_once_and_answered_by_both(postgres: str, tmp_path: Path) -> None:
    step = kit.SAY_HI | {"delaySeconds": 1.0}
    async with both(postgres, tmp_path, [step]) as two:
        two[0].cluster.add_run()
        first = asyncio.create_task(posted(two[0], "c1"))
        await kit.until(two[0].gateway.calls.busy)
        await asyncio.sleep(0.2)
        others = await asyncio.gather(*(posted(two[1], "c1") for _ in range(3)))
        answers = [await first, *others]
        good = [last["reply"]["text"] for status, last in answers if status == 200]
        assert good[0] == "hi"
        assert len(good) >= 2, "the other gateway waits for it and gives the same reply"
        assert {status for status, _ in answers} <= {200, 409}, "one request of a call id at a time"
        assert (await posted(two[1], "c1"))[1]["reply"]["replayed"] is True
        totals = await two[1].gateway.ledger.totals("run-1")
        assert (totals.calls, totals.cost) == (1, 14)


async def test_a_yes_is_used_once(postgres: str, tmp_path: Path) -> None:
    async with both(postgres, tmp_path, [kit.SAY_HI]) as two:
        run = two[0].cluster.add_run()
        for number in range(8):
            approval, arguments = f"a{number}", {"n": number}
            body = asked(approval_id=approval, arguments=arguments, arguments_hash=arguments_hash(arguments))
            async with two[0].client() as one, two[1].client() as other:
                assert (await one.put(f"/v1/approvals/{approval}", json=body)).status_code == 204
                decision = {"approvalId": approval, "argumentsHash": arguments_hash(arguments), "decision": "approve"}
                two[0].cluster.intervene(f"i{approval}", run, approval=decision)
                await taken(two, f"i{approval}")
                path = f"/v1/approvals/{approval}/consume"
                uses = await asyncio.gather(*(client.post(path, json=body) for client in (one, other) * 3))
            assert sorted(use.status_code for use in uses) == [204, *[409] * 5]
        assert {state for _, state in two[0].cluster.item_statuses} <= {"Delivered", "Consumed"}, "none was refused"


async def taken(two: Two, item: str) -> None:
    """Both gateways have looked at an Intervention, and it is in the box."""
    await kit.until(lambda: not any(one.gateway.courier._todo for one in two), 20)
    async with asyncio.timeout(20):
        while await two[0].gateway.inbox.state(item) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)  # the other one may be at it still


async def test_what_people_do_is_delivered_once_and_called_refused_by_neither(postgres: str, tmp_path: Path) -> None:
    async with both(postgres, tmp_path, [kit.SAY_HI]) as two:
        cluster = two[0].cluster
        run = cluster.add_run()
        async with two[0].client() as client:
            for number in range(20):
                body = {"id": f"q{number}", "role": "coder", "text": "?", "expiresSeconds": 600}
                assert (await client.put(f"/v1/questions/q{number}", json=body)).status_code == 204
        for number in range(20):
            cluster.intervene(f"answer-{number}", run, answer={"questionId": f"q{number}", "text": "yes"})
            cluster.intervene(f"stop-{number}", run, interrupt={"intent": "inquire", "message": "?"})
        late = cluster.intervene("late", run, answer={"questionId": "q1", "text": "no"})
        await taken(two, "stop-19")
        pages = []
        for served in two:
            found, cursor = [], ""
            async with served.client() as client, asyncio.timeout(10):
                while len(found) < 40:
                    page = (await client.get("/v1/mailbox", params={"cursor": cursor, "waitSeconds": "1"})).json()
                    found += [item["id"] for item in page["items"]]
                    cursor = page["cursor"]
            pages.append(found)
        assert pages[0] == pages[1], "one order, whichever is asked"
        assert len(set(pages[0])) == len(pages[0]) == 40
        await kit.until(lambda: ("late", "Refused") in cluster.item_statuses)
        said = {state for uid, state in cluster.item_statuses if uid != late.uid}
        assert said <= {"Delivered", "Consumed"}, "control: a second answer to one question is refused, and it alone"


def settled(two: Two) -> bool:
    """Neither gateway has anything to take in, to wait for or to write."""
    couriers = [one.gateway.courier for one in two]
    boxes = [box for each in couriers for box in (each._statuses, each.waiting._owners, each.waiting._questions)]
    return not any(each._todo or each.waiting.waits() for each in couriers) and not any(box._ready for box in boxes)


async def test_both_give_an_act_one_owner_and_refuse_it_once(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNKNOWN_WAIT_SECONDS", 0.2)
    async with both(postgres, tmp_path, [kit.SAY_HI]) as two:
        cluster = two[0].cluster
        run = cluster.add_run()
        nowhere = replace(run, uid="run-0", name="no-such")
        for number in range(10):
            cluster.intervene(f"here-{number}", run, interrupt={"intent": "inquire", "message": "?"})
            cluster.intervene(f"nowhere-{number}", nowhere, interrupt={"intent": "inquire", "message": "?"})
        await kit.until(lambda: len(cluster.item_owners) >= 10)
        await kit.until(lambda: len(dict(cluster.item_statuses)) >= 10, 20)
        await kit.until(lambda: settled(two), 20)
        written = list(cluster.item_statuses)
        cluster.intervene("nowhere-last", nowhere, interrupt={"intent": "inquire", "message": "?"})
        await kit.until(lambda: ("nowhere-last", "Refused") in cluster.item_statuses)
        await kit.until(lambda: settled(two), 20)
        later = {uid for uid, _ in cluster.item_statuses[len(written) :]}
        assert later == {"nowhere-last"}, "neither answers the other"
        assert sorted(uid for uid, _ in cluster.item_owners) == [f"here-{number}" for number in range(10)]
        assert {uid for uid, state in written if state == "Refused"} == {f"nowhere-{number}" for number in range(10)}


async def test_what_waits_is_listed_alike_by_both(postgres: str, tmp_path: Path) -> None:
    async with both(postgres, tmp_path, [kit.SAY_HI]) as two:
        two[0].cluster.add_run()
        async with two[0].client() as client:
            for number in range(3):
                body = {"id": f"q{number}", "role": "coder", "text": "?", "expiresSeconds": 600}
                assert (await client.put(f"/v1/questions/q{number}", json=body)).status_code == 204
                approval = asked(approval_id=f"a{number}")
                assert (await client.put(f"/v1/approvals/a{number}", json=approval)).status_code == 204
        for served in two:
            async with served.client(kit.API_TOKEN) as client:
                found = (await client.get("/internal/v1/awaiting", params={"namespace": "team"})).json()
                one = (await client.get("/internal/v1/awaiting", params={"run": "run-1", "id": "a1"})).json()
            assert [each["id"] for each in found["questions"]] == ["q0", "q1", "q2"]
            assert [each["approvalId"] for each in found["approvals"]] == ["a0", "a1", "a2"]
            assert [each["approvalId"] for each in one["approvals"]] == ["a1"]
            assert one["questions"] == []


async def test_an_external_call_asked_of_both_is_made_once_and_has_one_outcome(postgres: str, tmp_path: Path) -> None:
    tool, body = "notes__publish", {"callId": "c1", "role": "coder", "arguments": {"text": "hello"}}
    plain = {"effect": "read", "allowedInPrivate": True, "allowedWithoutUserPresent": True}
    async with mcp_server() as server:
        where = Reach(frozenset({origin_of(server.url)}), (), QUICK)
        async with both(postgres, tmp_path, [kit.SAY_HI], where) as two:
            cluster = two[0].cluster
            cluster.add_run(**frozen(guild_of(tool)))
            cluster.tell("set", connection(server.url, tools={"publish": plain}))
            await kit.until(lambda: all(one.gateway.connections.offers("team") for one in two))
            server.told.gate = asyncio.Event()
            async with two[0].client() as one, two[1].client() as other:
                asking = [
                    asyncio.create_task(client.post(f"/v1/tools/{tool}", json=body)) for client in (one, other) * 2
                ]
                await kit.until(lambda: server.told.calls)
                await asyncio.sleep(0.5)
                server.told.gate.set()
                answers = [answer.json() for answer in await asyncio.gather(*asking)]
            assert len(server.told.calls) == 1
            assert [answer["outcome"] for answer in answers] == ["done"] * 4
            assert {answer["content"][0]["text"] for answer in answers} == {"published hello"}


@pytest.mark.parametrize("behind", [3_600.0, 5.0])
async def test_a_gateway_whose_clock_is_behind_takes_no_time_back(postgres: str, tmp_path: Path, behind: float) -> None:
    async with both(postgres, tmp_path, [kit.SAY_HI]) as two:
        fast, slow = (one.gateway.approvals for one in two)
        slow.clock = lambda: time.time() - behind
        await asyncio.gather(*(each.expire() for each in (fast, slow) * 10))
        look = text("SELECT value FROM meta WHERE key = :key")
        latest = await two[0].gateway.store.read(lambda found: found.execute(look, {"key": CLOCK_KEY}).scalar_one())
        assert float(latest) >= time.time() - 2
