"""What calls under way hold is no reason to stop: who finds no room waits for it, for a bounded time, and nobody spends
more than there is."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import FailureLine, ModelReply, ModelRequest, ReplyLine
from guildhall_gateway import calls, ledger_room
from guildhall_gateway.budget import Grant, Scope, Totals, Worst, over_budget, scopes
from guildhall_gateway.config import Budgets
from guildhall_gateway.ledger import Claim, Held, Ledger, Reserved
from guildhall_gateway.ledger_room import Room
from guildhall_gateway.ledger_rows import Outcome, day_of, raise_budget, totals_in
from guildhall_gateway.live import BROKEN, LiveCall
from guildhall_gateway.prices import Pricing, TokenCount
from guildhall_gateway.problems import Refusal, Refused, gateway_error
from guildhall_gateway.providers.base import ProviderFailure, ProviderReply
from guildhall_gateway.store import Store
from hypothesis import given
from hypothesis import strategies as st
from unit.gateway import kit
from unit.gateway.test_ledger import RUN, SILENCE, claim, killed_after_reserving, request, reserved, settled

AMOUNT = st.integers(0, 1_000)


@given(limit=AMOUNT, spent=AMOUNT, promised=AMOUNT, wanted=AMOUNT, kind=st.sampled_from(["cost", "tokens", "steps"]))
def test_only_what_is_spent_is_a_reason_to_stop(limit: int, spent: int, promised: int, wanted: int, kind: str) -> None:
    totals, worst = {
        "cost": (Totals(cost=spent, cost_reserved=promised), Worst(0, wanted)),
        "tokens": (Totals(tokens=spent, tokens_reserved=promised), Worst(wanted, 0)),
        "steps": (Totals(calls=spent, calls_reserved=promised), Worst(0, 0)),
    }[kind]
    wanted = 1 if kind == "steps" else wanted
    scope = Scope("k", "this Run", **{"cost": {"cost_micro_usd": limit}}.get(kind, {kind: limit}))
    over = over_budget(scope, totals, worst)
    assert (over is None) == (spent + promised + wanted <= limit)
    if over is not None:
        assert over.held == (spent + wanted <= limit)
        assert ("calls under way" in over.why) == over.held


def test_an_unknown_price_is_not_waited_for() -> None:
    over = over_budget(Scope("k", "this Run", 100), Totals(cost_reserved=100), Worst(0, None))
    assert over is not None
    assert (over.limit, over.held) == ("price", False)


PAYERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "run, cost": ({"cost_micro_usd": 150}, {}),
    "run, tokens": ({"tokens": 15}, {}),
    "run, steps": ({"steps": 1}, {}),
    "namespace": ({}, {"namespace_per_day_micro_usd": 150}),
    "day": ({}, {"day_micro_usd": 150}),
}


def wanting(name: str, call_id: str) -> tuple[str, Claim]:
    """A call that costs 100 at most, of the Run or, where others pay too, of another one."""
    own, shared = PAYERS[name]
    run = RUN if own else f"run-of-{call_id}"
    namespace = "team" if name != "day" else f"ns-of-{call_id}"
    grant = Grant(Budget(**own), attended=True)
    paying = scopes(run, namespace, "2026-01-01", grant.budget, Budgets(**shared))
    return run, Claim(request(call_id), "d" * 64, paying, Worst(10, 100), grant)


@pytest.mark.parametrize("name", PAYERS)
async def test_what_another_call_holds_is_waited_for_and_what_it_spent_is_a_stop(store: Store, name: str) -> None:
    ledger = Ledger(store)
    first, second = wanting(name, "c1"), wanting(name, "c2")
    assert isinstance(await ledger.reserve(*first, 1.0), Reserved)
    answer = await ledger.reserve(*second, 2.0)
    assert isinstance(answer, Held), answer
    assert (answer.status, answer.error.error.kind, answer.error.error.retryable) == (402, "budget_exhausted", True)
    assert answer.scope in {scope.key for scope in second[1].scopes}
    assert "stop" not in answer.error.error.detail
    assert [row.call_id for row in await ledger.calls(second[0])] == ["c1"][: first[0] == second[0]], "nothing recorded"
    totals = await ledger.totals(second[0])
    assert totals.calls_reserved == (first[0] == second[0]), "and nothing of it is held"

    free = Outcome("failed", TokenCount(), 0, "llm_unavailable", counts_as_call=False)
    await ledger.settle(first[0], "c1", 1, free, 3.0)
    assert isinstance(await ledger.reserve(*second, 4.0), Reserved), "the money is there again"
    dear = Outcome("failed", TokenCount(prompt=10), 100, "llm_unavailable")
    await ledger.settle(second[0], "c2", 1, dear, 5.0)
    stop = await ledger.reserve(*wanting(name, "c3"), 6.0)
    assert isinstance(stop, Refusal)
    assert not isinstance(stop, Held)
    soft = name in ("run, cost", "run, tokens")
    assert (stop.error.error.retryable, stop.error.error.detail["stop"]) == (False, "soft" if soft else "hard")


async def test_what_can_never_fit_is_a_stop_whoever_holds_what(store: Store) -> None:
    ledger = Ledger(store)
    await reserved(ledger, claim("c1", cost=10, cost_micro_usd=150))
    answer = await ledger.reserve(RUN, claim("c2", cost=151, cost_micro_usd=150), 1.0)
    assert not isinstance(answer, Held)
    assert isinstance(answer, Refusal)


async def test_a_call_refused_before_is_waited_for_and_then_made(store: Store) -> None:
    ledger = Ledger(store)
    assert isinstance(await ledger.reserve(RUN, claim("c2", cost_micro_usd=99), 1.0), Refusal)
    await reserved(ledger, claim("c1", cost_micro_usd=150))
    assert isinstance(await ledger.reserve(RUN, claim("c2", cost_micro_usd=150), 2.0), Held)
    await ledger.settle(RUN, "c1", 1, settled("c1", 10), 3.0)
    assert (await reserved(ledger, claim("c2", cost_micro_usd=150))).attempt == 1


async def test_what_a_gateway_held_that_was_killed_is_waited_for_until_it_is_settled(store_url: str) -> None:
    await killed_after_reserving(store_url)
    store = Store(store_url)
    await store.open()
    try:
        ledger = Ledger(store)
        second = claim("c2", cost_micro_usd=150)
        assert isinstance(await ledger.reserve(RUN, second, 1.0), Held), "nobody knows yet whether it was spent"
        await store.write(lambda connection: connection.execute(SILENCE))
        assert await ledger.settle_orphans(2.0) == [RUN]
        answer = await ledger.reserve(RUN, second, 3.0)
        assert isinstance(answer, Refusal)
        assert answer.error.error.detail["stop"] == "hard", "it counts as spent"
        assert await ledger.totals(RUN) == Totals(calls=1, tokens=10, cost=100)
    finally:
        await store.close()


# In line


async def test_those_in_line_are_woken_one_by_one_in_the_order_they_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_room, "LOOK_SECONDS", 30.0)
    room, woken = Room(), []

    async def wait(name: str, ticket: int, scope: str = "a") -> None:
        await room.wait(scope, ticket)
        woken.append(name)

    first, second = room.ticket(), room.ticket()
    other = asyncio.create_task(wait("other", room.ticket(), "b"))
    tasks = [asyncio.create_task(wait("second", second)), asyncio.create_task(wait("first", first))]
    await asyncio.sleep(0)
    for expected in (["first"], ["first", "second"], ["first", "second"]):
        room.changed(["a", "nobody's"])
        await asyncio.sleep(0.01)
        assert woken == expected
    await asyncio.gather(*tasks)
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
    assert room._lines == {}, "nobody is left behind, not even one who went away"


async def test_two_who_settle_at_once_wake_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_room, "LOOK_SECONDS", 30.0)
    room = Room()
    waiting = [asyncio.create_task(room.wait("a", room.ticket())) for _ in range(2)]
    await asyncio.sleep(0)
    room.changed(["a"])
    room.changed(["a"])
    await asyncio.wait_for(asyncio.gather(*waiting), 5)


async def test_who_hears_nothing_looks_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_room, "LOOK_SECONDS", 0.05)
    await asyncio.wait_for(Room().wait("a", 1), 5)


# With the calls themselves


@dataclass
class Chancy:
    """A provider whose calls take a moment, use some of what they might, and sometimes fail."""

    chance: random.Random
    seconds: float = 0.02
    under_way: int = 0
    most: int = 0
    spent: list[int] = field(default_factory=list)

    async def close(self) -> None:
        """It holds nothing."""

    def pricing(self, _request: ModelRequest) -> Pricing:
        return lambda count: count.prompt + count.output

    async def stream(self, _request: ModelRequest, _attempt: int) -> AsyncGenerator[str | ProviderReply, None]:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(self.chance.uniform(0, self.seconds))
            if self.chance.random() < 0.1:
                billed: Any = self.chance.choice(["nothing", "unknown"])
                raise ProviderFailure(gateway_error("llm_unavailable", "no"), billed)
            yield ProviderReply("hi", count=TokenCount(prompt=self.chance.randint(1, 900), output=1))
        finally:
            self.under_way -= 1


def asked(call_id: str) -> ModelRequest:
    return ModelRequest.model_validate(kit.request(call_id))


async def one_call(served: kit.Served, run: str, call_id: str) -> str:
    """What came of a call, asked again like an executor where that is said to help."""
    view = served.cluster.run(run)
    assert view is not None
    while True:
        try:
            call = await served.gateway.start_call(view, asked(call_id))
        except Refused as refused:
            error = refused.refusal.error.error
            assert error.kind == "budget_exhausted"
            if not error.retryable:
                return error.detail["stop"]
            continue
        if isinstance(call, ModelReply):
            return "made"
        assert isinstance(call, LiveCall)
        last = [line async for line in served.gateway.calls.follow(call)][-1]
        assert isinstance(last, ReplyLine | FailureLine)
        assert last != FailureLine(failure=BROKEN)
        return "made" if isinstance(last, ReplyLine) else "failed"


WORST = 1_300  # a call of `kit.request` may cost a little less
SHARED = {
    "the Run": ({"cost_micro_usd": 9_000}, {}),
    "its tokens": ({"tokens": 9_000}, {}),
    "the namespace": ({}, {"namespacePerDayMicroUSD": 9_000}),
    "the day": ({}, {"dayMicroUSD": 9_000}),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("who", SHARED)
async def test_however_many_ask_at_once_nothing_is_overspent_and_nobody_stops_early(
    store_url: str, tmp_path: Path, who: str, seed: int
) -> None:
    """Twelve tellers of eight calls each, in one Run or in a Run each, with room for six calls at once at most."""
    own, shared = SHARED[who]
    budget = own | ({"steps": 1_000} if own else {"cost_micro_usd": 10**9})
    provider, ends, stopped_at = Chancy(random.Random(seed)), [], []  # noqa: S311
    async with kit.serve(tmp_path, database_url=store_url, budgets=shared) as served:
        served.gateway.calls._providers = lambda _model: provider
        runs = ["run-1"] * 12 if own else [f"run-{number}" for number in range(12)]
        for run in dict.fromkeys(runs):
            served.cluster.add_run(run, token=run, budget=budget, attended=False)

        async def teller(run: str, number: int) -> None:
            for turn in range(8):
                ends.append(await one_call(served, run, f"t{number}-{turn}"))
                if ends[-1] == "hard":
                    stopped_at.append(spent(await scope_totals(served, who), who))

        tellers = asyncio.gather(*(teller(run, number) for number, run in enumerate(runs)))
        while not tellers.done():
            sums = await scope_totals(served, who)
            assert spent(sums, who) + promised(sums, who) <= 9_000
            await asyncio.sleep(0.01)
        await tellers
        sums = await scope_totals(served, who)
    assert provider.most > 1, "control: they were made side by side"
    assert promised(sums, who) == 0
    assert ends.count("made") > 3
    assert stopped_at, "control: the limit was met"
    assert min(stopped_at) > 9_000 - WORST, "while what was spent left room for a call, nobody was stopped"


async def scope_totals(served: kit.Served, who: str) -> Totals:
    today = day_of(served.gateway.clock())
    scope = {"the namespace": f"ns:team:{today}", "the day": f"day:{today}"}.get(who, "run:run-1")
    return await served.gateway.store.read(lambda connection: totals_in(connection, scope))


def spent(totals: Totals, who: str) -> int:
    return totals.tokens + totals.output if who == "its tokens" else totals.cost


def promised(totals: Totals, who: str) -> int:
    return totals.tokens_reserved if who == "its tokens" else totals.cost_reserved


async def test_who_waits_is_woken_at_once_and_does_not_ask_over_and_over(tmp_path: Path) -> None:
    provider = Chancy(random.Random(0))  # noqa: S311
    gate = asyncio.Event()

    async def gated(_request: ModelRequest, _attempt: int) -> AsyncGenerator[str | ProviderReply, None]:
        await gate.wait()
        yield ProviderReply("hi", count=TokenCount(prompt=5, output=1))

    provider.stream = gated  # type: ignore[method-assign]
    async with kit.serve(tmp_path) as served:
        served.gateway.calls._providers = lambda _model: provider
        served.cluster.add_run(budget={"cost_micro_usd": 2_000})
        ledger, looks, reserve = served.gateway.ledger, [], served.gateway.ledger.reserve

        async def counted(*args: Any) -> Any:
            looks.append(time.monotonic())
            return await reserve(*args)

        ledger.reserve = counted  # type: ignore[method-assign]
        asking = [asyncio.create_task(one_call(served, "run-1", f"c{number}")) for number in range(4)]
        await asyncio.sleep(1.0)
        assert len(looks) == 4, "each looked once and waits"
        opened = time.monotonic()
        gate.set()
        assert await asyncio.wait_for(asyncio.gather(*asking), 10) == ["made"] * 4
        assert time.monotonic() - opened < ledger_room.LOOK_SECONDS, "nobody had to look by the clock"
        assert len(looks) <= 4 + 2 * 4


async def test_the_wait_is_bounded_and_told_as_one_that_may_be_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "ELSEWHERE_WAIT_SECONDS", 0.3)
    monkeypatch.setattr(ledger_room, "LOOK_SECONDS", 0.1)
    kit.scenario(tmp_path, "hi", [kit.SAY_HI | {"delaySeconds": 30}], price={"promptMicroUSD": 1_000_000})
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run(budget={"cost_micro_usd": 2_000})
        first = asyncio.create_task(served.model(kit.request("c1")))
        await kit.until(served.gateway.calls.busy)
        await asyncio.sleep(0.1)
        began = time.monotonic()
        async with served.client() as client:
            answer = await client.post("/v1/model", json=kit.request("c2"))
        assert 0.3 <= time.monotonic() - began < 5
        assert (answer.status_code, answer.headers["retry-after"]) == (402, "1")
        error = answer.json()["error"]
        assert (error["kind"], error["retryable"], error["detail"]) == ("budget_exhausted", True, {})
        served.cluster.change_run(cancelled=True)
        await first


async def test_a_raise_is_heard_by_who_waits_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit grows under a call that waits for another: it goes on without that one."""
    monkeypatch.setattr(calls, "ELSEWHERE_WAIT_SECONDS", 0.3)
    monkeypatch.setattr(ledger_room, "LOOK_SECONDS", 0.1)
    gate = asyncio.Event()

    async def gated(request_: ModelRequest, _attempt: int) -> AsyncGenerator[str | ProviderReply, None]:
        if request_.call_id == "c1":
            await gate.wait()
        yield ProviderReply("hi", count=TokenCount(prompt=5, output=1))

    provider = Chancy(random.Random(0))  # noqa: S311
    provider.stream = gated  # type: ignore[method-assign]
    async with kit.serve(tmp_path) as served:
        served.gateway.calls._providers = lambda _model: provider
        served.cluster.add_run(budget={"cost_micro_usd": 2_000})
        first = asyncio.create_task(one_call(served, "run-1", "c1"))
        await kit.until(lambda: served.gateway.calls._live)
        second = asyncio.create_task(one_call(served, "run-1", "c2"))
        await asyncio.sleep(0.1)
        await served.gateway.store.write(lambda connection: raise_budget(connection, "run-1"))
        assert await asyncio.wait_for(second, 10) == "made"
        assert not first.done()
        gate.set()
        assert await first == "made"
