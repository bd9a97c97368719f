"""The ledger on both databases: one settlement for each call, no overspending in parallel, nothing lost to kill -9."""

import asyncio
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import LedgerTotals, ModelReply, ModelRequest
from guildhall_gateway.budget import Grant, Scope, Totals, Worst, scopes
from guildhall_gateway.config import Budgets
from guildhall_gateway.ledger import Claim, Ledger, Replay, Reserved
from guildhall_gateway.ledger_rows import Outcome
from guildhall_gateway.prices import TokenCount
from guildhall_gateway.problems import Refusal
from guildhall_gateway.store import Store, StoreError, database_url
from guildhall_gateway.tables import METADATA
from sqlalchemy import Connection, TextClause, text
from unit.gateway import kit

RUN = "run-1"
DAY = "2026-01-01"
SILENCE = text("UPDATE instances SET seen_at = seen_at - 60")


def request(call_id: str = "c1") -> ModelRequest:
    return ModelRequest.model_validate(kit.request(call_id))


def claim(call_id: str = "c1", *, cost: int | None = 100, tokens: int = 10, **budget: Any) -> Claim:
    paying = scopes(RUN, "team", DAY, Budget(**budget), Budgets())
    return Claim(request(call_id), "d" * 64, paying, Worst(tokens, cost))


def settled(call_id: str = "c1", cost: int | None = 40) -> Outcome:
    count = TokenCount(prompt=5, cached=2, output=1)
    reply = ModelReply.model_validate(
        {
            "callId": call_id,
            "stopReason": "end",
            "usage": {},
            "model": "scripted:hi",
            "totals": LedgerTotals().to_wire(),
        }
    )
    return Outcome("settled", count, cost, reply=reply)


async def reserved(ledger: Ledger, wanted: Claim) -> Reserved:
    answer = await ledger.reserve(RUN, wanted, 1.0)
    assert isinstance(answer, Reserved), answer
    return answer


async def test_reserve_and_settle_move_the_money_once(store: Store) -> None:
    ledger = Ledger(store)
    await reserved(ledger, claim(cost_micro_usd=1_000))
    assert await ledger.totals(RUN) == Totals(calls_reserved=1, tokens_reserved=10, cost_reserved=100)
    after = await ledger.settle(RUN, "c1", 1, settled(), 2.0)
    assert after == Totals(calls=1, tokens=5, cached=2, output=1, cost=40)
    assert await ledger.settle(RUN, "c1", 1, settled(cost=999), 3.0) == after, "a second settlement changes nothing"
    for scope in (f"run:{RUN}", f"ns:team:{DAY}", f"day:{DAY}"):
        assert (await ledger.totals(scope.removeprefix("run:"))).cost == (40 if scope.startswith("run:") else 0)
    answer = await ledger.reserve(RUN, claim(), 4.0)
    assert isinstance(answer, Replay)
    assert answer.reply.call_id == "c1"


@pytest.mark.parametrize("limit", ["cost", "tokens", "steps", "namespace", "day"])
async def test_fifty_parallel_calls_cannot_overspend(store: Store, limit: str) -> None:
    """Room for ten; fifty ask at once; exactly ten get it, and the ledger never promises more than the limit."""
    ledger = Ledger(store)
    budget = {"cost": {"cost_micro_usd": 1_050}, "tokens": {"tokens": 109}, "steps": {"steps": 10}}.get(limit, {})
    shared = Budgets(
        namespace_per_day_micro_usd=1_050 if limit == "namespace" else None,
        day_micro_usd=1_050 if limit == "day" else None,
    )

    async def one(number: int) -> Reserved | Replay | Refusal:
        run = f"run-{number}" if limit in ("namespace", "day") else RUN
        namespace = f"ns-{number}" if limit == "day" else "team"
        paying = scopes(run, namespace, DAY, Budget(**budget), shared)
        return await ledger.reserve(run, Claim(request(f"c{number}"), "d" * 64, paying, Worst(10, 100)), 1.0)

    answers = await asyncio.gather(*(one(number) for number in range(50)))
    assert sum(isinstance(answer, Reserved) for answer in answers) == 10
    refusals = [answer for answer in answers if isinstance(answer, Refusal)]
    assert {(refused.status, refused.error.error.kind) for refused in refusals} == {(402, "budget_exhausted")}
    assert all("left" in refused.error.error.message or "steps" in refused.error.error.message for refused in refusals)


async def test_a_refused_call_is_shown_and_may_be_asked_again_when_there_is_room(store: Store) -> None:
    ledger = Ledger(store)
    assert isinstance(await ledger.reserve(RUN, claim(cost_micro_usd=99), 1.0), Refusal)
    assert [(row.state, row.error_kind) for row in await ledger.calls(RUN)] == [("refused", "budget_exhausted")]
    assert await ledger.totals(RUN) == Totals(), "nothing stays promised"
    await reserved(ledger, claim(cost_micro_usd=100))
    assert [row.state for row in await ledger.calls(RUN)] == ["reserved"]


async def test_an_unknown_price_with_a_cost_budget_is_refused_and_without_one_is_not(store: Store) -> None:
    ledger = Ledger(store)
    answer = await ledger.reserve(RUN, claim("c1", cost=None, cost_micro_usd=10**9), 1.0)
    assert isinstance(answer, Refusal)
    assert "price" in answer.error.error.message
    await reserved(ledger, claim("c2", cost=None))
    await ledger.settle(RUN, "c2", 1, settled("c2", None), 2.0)
    assert (await ledger.totals(RUN)).unpriced == 1


async def test_an_orphan_is_settled_at_worst_case_and_retried_once(store: Store) -> None:
    ledger = Ledger(store)
    await reserved(ledger, claim())
    assert await ledger.settle_orphans(2.0, lambda: {(RUN, "c1")}) == [], "a call in flight is no orphan"
    assert await ledger.settle_orphans(2.0) == [RUN]
    assert await ledger.totals(RUN) == Totals(calls=1, tokens=10, cost=100)
    assert (await reserved(ledger, claim())).attempt == 2
    assert await ledger.settle_orphans(3.0) == [RUN]
    assert await ledger.totals(RUN) == Totals(calls=2, tokens=20, cost=200)
    answer = await ledger.reserve(RUN, claim(), 4.0)
    assert isinstance(answer, Refusal)
    assert answer.error.error.retryable is False
    assert [(row.call_id, row.state, row.cost_micro_usd) for row in await ledger.calls(RUN)] == [
        ("c1", "failed", 100),
        ("c1", "failed", 100),
    ]


async def test_a_failed_call_gives_back_what_was_not_used_and_may_be_tried_again(store: Store) -> None:
    ledger = Ledger(store)
    await reserved(ledger, claim())
    free = Outcome("failed", TokenCount(), 0, "llm_unavailable", counts_as_call=False)
    assert await ledger.settle(RUN, "c1", 1, free, 2.0) == Totals()
    assert (await reserved(ledger, claim())).attempt == 2


async def test_a_frozen_budget_stays(store: Store) -> None:
    ledger = Ledger(store)
    first = await ledger.freeze_budget(RUN, "team", "name", Budget(steps=3), 1.0)
    assert await ledger.freeze_budget(RUN, "team", "name", Budget(steps=300), 2.0) == first == Grant(Budget(steps=3))


async def test_replies_are_deleted_when_a_run_is_over(store: Store) -> None:
    ledger = Ledger(store)
    await reserved(ledger, claim())
    await ledger.settle(RUN, "c1", 1, settled(), 2.0)
    await ledger.forget_replies(RUN)
    query = text("SELECT count(*) FROM replies")
    assert await store.read(lambda connection: connection.execute(query).scalar_one()) == 0
    assert (await ledger.totals(RUN)).cost == 40, "the money stays recorded"


RESERVE_AND_HANG = """
import asyncio, sys
from guildhall_gateway.ledger import Ledger
from guildhall_gateway.store import Store
from unit.gateway.test_ledger import RUN, claim, reserved

async def main():
    store = Store(sys.argv[1])
    await store.open()
    await Ledger(store).beat()
    await reserved(Ledger(store), claim())
    print("reserved", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def killed_after_reserving(url: str) -> None:
    tests = str(Path(__file__).parents[2])
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", RESERVE_AND_HANG, url, stdout=asyncio.subprocess.PIPE, env={"PYTHONPATH": tests}
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        assert (await process.stdout.readline()).strip() == b"reserved"
    process.send_signal(signal.SIGKILL)
    await process.wait()


async def test_kill_dash_nine_between_reserve_and_settle_loses_no_money(store_url: str) -> None:
    await killed_after_reserving(store_url)
    store = Store(store_url)
    await store.open()
    try:
        ledger = Ledger(store)
        assert (await ledger.totals(RUN)).cost_reserved == 100, "the promise was on disk before the call"
        await store.write(lambda connection: connection.execute(SILENCE))
        assert await ledger.settle_orphans(100.0) == [RUN]
        assert await ledger.totals(RUN) == Totals(calls=1, tokens=10, cost=100)
        assert (await reserved(ledger, claim())).attempt == 2
        await ledger.settle(RUN, "c1", 2, settled(), 101.0)
        assert await ledger.totals(RUN) == Totals(calls=2, tokens=15, cached=2, output=1, cost=140)
        states = [row.state for row in await ledger.calls(RUN)]
        assert sorted(states) == ["failed", "settled"]
    finally:
        await store.close()


async def test_a_living_gateways_calls_are_left_alone(postgres: str, tmp_path: Path) -> None:
    """On PostgreSQL two gateways may overlap: only what a gateway that fell silent had reserved is closed."""
    from support.postgres import create_database

    await create_database(postgres, "overlap")
    first, second = Store(f"{postgres}/overlap"), Store(f"{postgres}/overlap")
    await asyncio.gather(first.open(), second.open())
    try:
        await Ledger(first).beat()
        await reserved(Ledger(first), claim())
        for clock in (1_010.0, -1e9, 1e12):
            assert await Ledger(second).settle_orphans(clock) == [], "whatever our clock says"
        answer = await Ledger(second).reserve(RUN, claim(), 1_010.0)
        assert isinstance(answer, Refusal)
        assert answer.error.error.retryable is True
        await second.write(lambda connection: connection.execute(SILENCE))
        assert await Ledger(second).settle_orphans(1_010.0) == [RUN]
    finally:
        await first.close()
        await second.close()


async def test_one_sqlite_file_serves_one_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/gateway.db"
    first = Store(url)
    await first.open()
    monkeypatch.setattr("guildhall_gateway.store.LOCK_WAIT_SECONDS", 1)
    second = Store(url)
    with pytest.raises(StoreError, match="another gateway"):
        await second.open()
    await second.close()
    await first.close()
    third = Store(url)
    await third.open()
    await third.close()


def _one(query: TextClause, connection: Connection) -> object:
    return connection.execute(query).scalar_one()


async def test_sqlite_syncs_every_commit(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/gateway.db")
    await store.open()
    for pragma, value in (("journal_mode", "wal"), ("synchronous", 2)):
        query = text(f"PRAGMA {pragma}")
        assert await store.write(partial(_one, query)) == value
    await store.close()


async def test_a_newer_schema_is_not_touched(store_url: str) -> None:
    store = Store(store_url)
    await store.open()
    newer = text("INSERT INTO schema_version (version) VALUES (99)")
    await store.write(lambda connection: connection.execute(newer))
    await store.close()
    late = Store(store_url)
    with pytest.raises(StoreError, match="upgrade the gateway"):
        await late.open()
    await late.close()


@pytest.mark.parametrize("url", ["", "mysql://x", "sqlite://", "not a url", "sqlite:///:memory:"])
async def test_databases_that_cannot_hold_a_ledger_are_refused(url: str) -> None:
    with pytest.raises(StoreError):
        await Store(url).open()


def test_a_password_is_not_in_the_error() -> None:
    assert database_url("postgresql://u:secret@h/d").render_as_string().count("secret") == 0


def test_every_table_says_who_may_see_it() -> None:
    secret = {"body", "text", "request_sha256", "owner", "budget"}
    for table in METADATA.tables.values():
        assert table.info["face"] in ("server-only", "public")
        assert set(table.info["public"]) <= {column.name for column in table.columns}
        meant_for_people = {"text"} if table.name == "questions" else set()
        assert not (set(table.info["public"]) & secret - meant_for_people)
        assert bool(table.info["public"]) == (table.info["face"] == "public")


def test_scopes_are_locked_in_one_order() -> None:
    made = scopes("r", "n", DAY, Budget(cost_micro_usd=5), Budgets(day_micro_usd=7))
    assert [scope.key for scope in made] == ["run:r", f"ns:n:{DAY}", f"day:{DAY}"]
    assert made[0] == Scope("run:r", "this Run", 5, None, None)
