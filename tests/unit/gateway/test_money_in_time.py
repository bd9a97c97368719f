"""Money while time passes: days end in UTC, prices and clocks move, providers count as they like."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.model_api import ModelRequest
from guildhall_gateway.gateway import Gateway
from guildhall_gateway.ledger_rows import totals_in
from guildhall_gateway.live import Timeouts
from guildhall_gateway.prices import Pricing, TokenCount, listed_pricing
from guildhall_gateway.providers.base import ProviderReply
from support.providers import server as wire
from support.providers.anthropic import anthropic
from unit.gateway import kit
from unit.gateway.asking import keys

BEFORE_MIDNIGHT = datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()
DOLLAR = {"promptMicroUSD": 1_000_000, "outputMicroUSD": 1_000_000}
STEP = {"reply": {"text": "hi"}, "usage": {"tokens": 900, "outputTokens": 100}}


class Wall:
    """A wall clock that a test moves; the gateway must not wait by it."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def on(served: kit.Served, wall: Wall) -> None:
    gateway: Gateway = served.gateway
    gateway.clock = wall
    gateway.calls._clock = wall


async def cost_of(served: kit.Served, scope: str) -> int:
    totals = await served.gateway.ledger.totals("unused")
    assert totals.calls == 0
    return (await served.gateway.store.read(lambda connection: totals_in(connection, scope))).cost


async def status_of(served: kit.Served, call_id: str, **more: Any) -> int:
    async with served.client() as client:
        return (await client.post("/v1/model", json=kit.request(call_id, **more))).status_code


async def test_a_day_ends_at_midnight_utc_and_a_call_is_paid_by_the_day_that_promised_it(tmp_path: Path) -> None:
    slow = STEP | {"delaySeconds": 0.5}
    kit.scenario(tmp_path, "hi", [slow, *[STEP] * 5], price=DOLLAR)
    async with kit.serve(tmp_path, budgets={"dayMicroUSD": 1_800}) as served:
        served.cluster.add_run()
        wall = Wall(BEFORE_MIDNIGHT)
        on(served, wall)
        first = asyncio.create_task(served.model(kit.request("c1")))
        await kit.until(served.gateway.calls.busy)
        assert await status_of(served, "c2") == 402, "the first one has promised the day's money"
        wall.now += 2
        assert await status_of(served, "c2") == 200, "a new day has money of its own"
        await first
        assert await cost_of(served, "day:2026-12-31") == 1_000
        assert await cost_of(served, "day:2027-01-01") == 1_000
        wall.now -= 2
        assert await status_of(served, "c3") == 402, "a clock set back finds the old day as it was"


@pytest.mark.parametrize("jump", [-10 * 365 * 86_400.0, 10 * 365 * 86_400.0], ids=["back", "forward"])
async def test_a_jump_of_the_clock_neither_ends_nor_prolongs_a_call(tmp_path: Path, jump: float) -> None:
    kit.scenario(tmp_path, "hi", [STEP | {"delaySeconds": 0.3}, {"fault": "hang"}], price=DOLLAR)
    async with kit.serve(tmp_path, timeouts=Timeouts(idle=1.0, call=30, heartbeat=0.2)) as served:
        served.cluster.add_run(budget={"cost_micro_usd": 10**6})
        wall = Wall(BEFORE_MIDNIGHT)
        on(served, wall)
        call = asyncio.create_task(served.model(kit.request("c1")))
        await kit.until(served.gateway.calls.busy)
        wall.now += jump
        assert await served.gateway.ledger.settle_orphans(wall.now, served.gateway.calls.busy) == []
        assert (await call)[-1]["type"] == "reply"
        history = [{"kind": "user", "content": [kit.block("do it")]}, {"kind": "assistant", "text": "hi"}]
        began = asyncio.get_running_loop().time()
        lines = await served.model(kit.request("c2", messages=history))
        assert "silent" in lines[-1]["failure"]["error"]["message"]
        assert 0.9 < asyncio.get_running_loop().time() - began < 10
        rows = [(row.call_id, row.state) for row in await served.gateway.ledger.calls("run-1")]
        assert sorted(rows) == [("c1", "settled"), ("c2", "failed")]


class Moody:
    """A provider whose price list changes whenever it is asked for, and which counts what it likes."""

    def __init__(self, count: TokenCount) -> None:
        self.count, self.asked = count, 0
        self.go_on = asyncio.Event()

    async def close(self) -> None:
        """It holds nothing."""

    def pricing(self, _request: ModelRequest) -> Pricing:
        self.asked += 1
        factor = 1 if self.asked == 1 else 1_000
        return lambda count: factor * (count.prompt + count.output)

    async def stream(self, _request: ModelRequest, _attempt: int) -> AsyncIterator[str | ProviderReply]:
        await self.go_on.wait()
        yield ProviderReply("hi", count=self.count)


async def one_moody(tmp_path: Path, moody: Moody, then: Callable[[kit.Served], Any]) -> Any:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run(budget={"cost_micro_usd": 1_000_000})
        served.gateway.calls._providers = lambda _model: moody
        moody.go_on.set()
        reply = (await served.model(kit.request("c1")))[-1]["reply"]
        return await then(served), reply


async def test_a_price_that_changes_in_between_is_not_charged(tmp_path: Path) -> None:
    async def after(served: kit.Served) -> Any:
        return await served.gateway.ledger.totals("run-1")

    totals, reply = await one_moody(tmp_path, Moody(TokenCount(prompt=10, output=2)), after)
    assert (totals.cost, reply["costMicroUSD"], totals.cost_reserved) == (12, 12, 0), "as it was promised"


async def test_a_provider_that_counts_more_than_was_possible_is_booked_and_stops_the_run(tmp_path: Path) -> None:
    """Its bill is what it is: it is shown, and nothing more is spent."""

    async def after(served: kit.Served) -> Any:
        return await served.gateway.ledger.totals("run-1"), await status_of(served, "c2")

    (totals, status), _ = await one_moody(tmp_path, Moody(TokenCount(prompt=2_000_000, output=2)), after)
    assert totals.cost == 2_000_002
    assert status == 402


def test_prices_that_change_with_the_hour_are_those_of_the_call() -> None:
    night, day = (datetime(2025, 3, 1, hour, tzinfo=UTC) for hour in (20, 8))
    count = TokenCount(prompt=1_000_000)
    cheap, plain = (listed_pricing("deepseek:deepseek-chat", at)(count) for at in (night, day))
    assert cheap is not None
    assert plain is not None
    assert 0 < cheap <= plain


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    ("written", "read", "expected"),
    [(80_000, 0, 5 * 3 + 80_000 * 3.75 + 90 * 15), (0, 80_000, 5 * 3 + 80_000 * 0.3 + 90 * 15)],
    ids=["cache write", "cache read"],
)
async def test_cb01_caches_are_counted_the_same_in_reply_status_and_ledger(
    tmp_path: Path, written: int, read: int, expected: float
) -> None:
    async with wire.provider() as server:
        server.behave = anthropic(
            ({"type": "text", "text": ""}, [{"type": "text_delta", "text": "hi"}]),
            input_tokens=5,
            cache_creation_input_tokens=written,
            cache_read_input_tokens=read,
            output_tokens=90,
        )
        keys(tmp_path)
        urls, allow = {"anthropic": server.url}, {"allow": ["anthropic:*"]}
        async with kit.serve(tmp_path, base_urls=urls, models=allow) as served:
            served.cluster.add_run(budget={"cost_micro_usd": 10**9})
            reply = (await served.model(kit.request(model="anthropic:claude-sonnet-4-5")))[-1]["reply"]
            async with served.client(kit.API_TOKEN) as client:
                ledger = (await client.get("/internal/v1/runs/run-1/ledger")).json()
            await kit.until(lambda: served.cluster.run_statuses, 10)
            status = served.cluster.run_statuses[-1][1]
    cost = round(expected)
    assert abs(reply["costMicroUSD"] - cost) <= 1
    assert reply["costMicroUSD"] == ledger["totals"]["costMicroUSD"] == status["usage"]["costMicroUSD"]
    assert reply["usage"]["tokens"] == ledger["totals"]["tokens"] == status["usage"]["tokens"] == 80_005
    assert reply["usage"]["cachedPromptTokens"] == status["usage"]["cachedPromptTokens"] == read
    assert json.dumps(ledger["calls"]).count('"settled"') == 1
