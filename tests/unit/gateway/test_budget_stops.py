"""Soft and hard stops: who may be asked, what an answer is worth, and that it is worth it once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.guild import Budget
from guildhall_gateway.budget import Grant, Over, Scope
from unit.gateway import kit

DOLLAR = {"promptMicroUSD": 1_000_000, "outputMicroUSD": 1_000_000}
STEP = {"reply": {"text": "hi"}, "usage": {"tokens": 900, "outputTokens": 100}}
ROOM_FOR_ONE = 1_800  # one call promises about 1,300 and costs 1,000


async def refusal(served: kit.Served, call_id: str) -> dict[str, Any]:
    async with served.client() as client:
        answer = await client.post("/v1/model", json=kit.request(call_id))
    assert answer.status_code == 402, answer.text
    error = answer.json()["error"]
    assert error["kind"] == "budget_exhausted"
    return dict(error)


async def ask(served: kit.Served, question: str, kind: str = "budget") -> None:
    body = {"id": question, "kind": kind, "role": "coder", "text": "continue?", "expiresSeconds": 60}
    async with served.client() as client:
        assert (await client.put(f"/v1/questions/{question}", json=body)).status_code == 204


async def answered(served: kit.Served, question: str, text: str, item: str) -> str:
    """What became of a person's answer."""
    run = served.cluster.run("run-1")
    assert run is not None
    served.cluster.intervene(item, run, answer={"questionId": question, "text": text})
    cursor = ""
    async with served.client() as client, asyncio.timeout(10):
        while item not in (states := dict(served.cluster.item_statuses)):
            cursor = (await client.get(f"/v1/mailbox?cursor={cursor}&waitSeconds=1")).json()["cursor"]
    return states[item]


def setting(folder: Path, steps: int = 12) -> None:
    kit.scenario(folder, "hi", [STEP] * steps, price=DOLLAR)


async def test_continue_raises_the_limit_once_for_each_question(tmp_path: Path) -> None:
    setting(tmp_path)
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run(budget={"cost_micro_usd": ROOM_FOR_ONE})
        await served.model(kit.request("c1"))
        stop = await refusal(served, "c2")
        assert stop["detail"] == {"stop": "soft", "limit": "cost", "moreMicroUSD": str(ROOM_FOR_ONE)}
        await ask(served, "q1")
        assert await answered(served, "q1", " Continue ", "i1") in ("Delivered", "Consumed")
        totals = (await served.model(kit.request("c2")))[-1]["reply"]["totals"]
        assert (totals["limitMicroUSD"], totals["leftMicroUSD"]) == (2 * ROOM_FOR_ONE, 2 * ROOM_FOR_ONE - 2_000)
        await served.model(kit.request("c3"))
        assert (await refusal(served, "c4"))["detail"]["stop"] == "soft"
        assert await answered(served, "q1", "continue", "i-again") == "Refused"
        assert (await refusal(served, "c4"))["detail"]["stop"] == "soft", "the same question is not answered twice"
        grant = await served.gateway.ledger.grant("run-1")
        assert grant is not None
        assert (grant.raises, grant.frozen.cost_micro_usd) == (1, ROOM_FOR_ONE)


@pytest.mark.parametrize(
    ("kind", "text"),
    [("budget", "stop"), ("budget", "yes, continue please"), ("budget", ""), ("question", "continue")],
    ids=["stop", "prose", "nothing", "an ordinary question"],
)
async def test_no_other_answer_raises_anything(tmp_path: Path, kind: str, text: str) -> None:
    setting(tmp_path)
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run(budget={"cost_micro_usd": ROOM_FOR_ONE})
        await served.model(kit.request("c1"))
        await ask(served, "q1", kind)
        await answered(served, "q1", text or "-", "i1")
        assert (await refusal(served, "c2"))["detail"]["stop"] == "soft"
        await ask(served, "q2")
        await answered(served, "q2", "continue", "i2")
        await served.model(kit.request("c2"))


@pytest.mark.parametrize("limit", ["scheduled", "namespace", "day", "steps"])
async def test_what_nobody_of_the_run_can_raise_is_a_hard_stop(tmp_path: Path, limit: str) -> None:
    setting(tmp_path)
    shared = {"namespace": {"namespacePerDayMicroUSD": ROOM_FOR_ONE}, "day": {"dayMicroUSD": ROOM_FOR_ONE}}
    async with kit.serve(tmp_path, budgets=shared.get(limit, {})) as served:
        own = {"scheduled": {"cost_micro_usd": ROOM_FOR_ONE}, "steps": {"steps": 1}}.get(limit)
        served.cluster.add_run(budget=own, attended=limit != "scheduled")
        await served.model(kit.request("c1"))
        assert (await refusal(served, "c2"))["detail"]["stop"] == "hard"


async def test_a_raise_does_not_pass_the_limits_of_the_day(tmp_path: Path) -> None:
    setting(tmp_path)
    async with kit.serve(tmp_path, budgets={"dayMicroUSD": ROOM_FOR_ONE + 100}) as served:
        served.cluster.add_run(budget={"cost_micro_usd": ROOM_FOR_ONE})
        await served.model(kit.request("c1"))
        assert (await refusal(served, "c2"))["detail"]["stop"] == "soft"
        await ask(served, "q1")
        await answered(served, "q1", "continue", "i1")
        stop = await refusal(served, "c2")
        assert stop["detail"]["stop"] == "hard"
        assert "all Runs today" in stop["message"]


async def test_a_raise_survives_the_gateway(tmp_path: Path) -> None:
    setting(tmp_path)
    cluster = kit.Cluster()
    async with kit.serve(tmp_path, cluster) as served:
        cluster.add_run(budget={"cost_micro_usd": ROOM_FOR_ONE})
        await served.model(kit.request("c1"))
        await ask(served, "q1")
        await answered(served, "q1", "continue", "i1")
    async with kit.serve(tmp_path, cluster) as served:
        await served.model(kit.request("c2"))
        await served.model(kit.request("c3"))
        assert (await refusal(served, "c4"))["detail"]["stop"] == "soft"


def test_raises_are_bounded_in_number_and_in_size() -> None:
    budget = Budget(cost_micro_usd=limits.BUDGET_COST_MAX_MICRO_USD // 2, tokens=10, steps=3, seconds=60)
    over, own = Over("cost", ""), Scope("run:r", "this Run")
    last = Grant(budget, limits.BUDGET_RAISES_MAX_COUNT, attended=True)
    assert last.budget == Budget(cost_micro_usd=limits.BUDGET_COST_MAX_MICRO_USD, tokens=90, steps=3, seconds=60)
    assert last.stop(own, over)["stop"] == "hard"
    before = Grant(budget, limits.BUDGET_RAISES_MAX_COUNT - 1, attended=True)
    assert before.stop(own, Over("tokens", ""))["stop"] == "soft"
    assert before.stop(own, over)["stop"] == "hard", "nobody is asked for a yes that would raise nothing: at its bound"
    assert Grant(budget, attended=True).stop(own, over)["stop"] == "soft", "control"
    nothing = Grant(Budget(cost_micro_usd=0, tokens=10), attended=True)
    assert nothing.stop(own, over)["stop"] == "hard", "nor one that raises nothing by nothing"
    assert Grant(budget, attended=True).stop(Scope("ns:n:d", "x"), over)["stop"] == "hard"
    assert Grant(budget, attended=True).stop(own, Over("price", ""))["stop"] == "hard"
    assert Grant(Budget(), attended=True).budget == Budget()
