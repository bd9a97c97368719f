"""What stays of a Run that is gone: of a private one nothing, of another its money until that is due to go too."""

import asyncio
from pathlib import Path
from typing import Any

from guildhall_gateway import retention as module
from guildhall_gateway.retention import Retention
from guildhall_gateway.tables import METADATA
from sqlalchemy import text
from unit.gateway import kit

KEEP_SECONDS = 1_000.0


async def rows(served: kit.Served, run: str) -> dict[str, int]:
    """How many rows of each table tell of a Run."""

    def look(connection: Any) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, table in METADATA.tables.items():
            column = next((one for one in ("run", "uid", "scope") if one in table.columns), None)
            if column is not None:
                value = f"run:{run}" if column == "scope" else run
                counted = text(f"SELECT count(*) FROM {name} WHERE {column} = :value")  # noqa: S608  our own names
                found[name] = int(connection.execute(counted, {"value": value}).scalar_one())
        return {name: count for name, count in found.items() if count}

    return await served.gateway.store.read(look)


async def spends(served: kit.Served, run: str, token: str, **facts: Any) -> None:
    served.cluster.add_run(run, token=token, **facts)
    await served.model(kit.request(), token)
    body = {"id": "q1", "role": "coder", "text": "which?", "expiresSeconds": 600}
    async with served.client(token) as client:
        assert (await client.put("/v1/questions/q1", json=body)).status_code == 204


async def until_rows(served: kit.Served, run: str, names: set[str]) -> None:
    async with asyncio.timeout(5):
        while set(await rows(served, run)) != names:  # noqa: ASYNC110  the database knows nothing of tests
            await asyncio.sleep(0.01)


MONEY = {"runs", "calls", "totals"}


async def test_a_private_run_leaves_nothing_and_another_its_money(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        await spends(served, "secret", "one", private=True)
        await spends(served, "plain", "two")
        assert {"questions", *MONEY} <= set(await rows(served, "secret")), "control: there was something"
        for run in ("secret", "plain"):
            served.cluster.tell("gone", served.cluster.change_run(run))
        await until_rows(served, "secret", set())
        await until_rows(served, "plain", {*MONEY, "keeping"})


async def test_private_is_remembered_while_no_gateway_runs(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        await spends(served, "secret", "one", private=True)
        await spends(served, "plain", "two")
    async with kit.serve(tmp_path, kit.Cluster()) as served:
        await until_rows(served, "secret", set())
        await until_rows(served, "plain", {*MONEY, "keeping"})


async def test_money_goes_when_it_is_due_and_not_before(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        for number in range(3):
            await spends(served, f"run-{number}", f"t{number}")
        store, now = served.gateway.store, served.gateway.clock()
        kept = Retention(store, KEEP_SECONDS)
        await kept.gone("run-0", now)
        await kept.gone("run-1", now + 500)
        await kept.gone("run-0", now + 900)
        assert await kept.prune(now + KEEP_SECONDS - 1) == 0
        assert await kept.prune(now + KEEP_SECONDS + 1) == 0, "it looks now and then, not at each sweep"
        later = now + KEEP_SECONDS + module.PRUNE_EVERY_SECONDS
        assert await kept.prune(later) == 2
        assert await rows(served, "run-0") == {}, "gone is counted from the first time"
        assert set(await rows(served, "run-2")) >= MONEY, "control: one that is there stays"


async def test_sums_of_old_days_go_and_todays_stay(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        await spends(served, "plain", "one")
        day_seconds, now = 86_400.0, served.gateway.clock()

        def scopes(connection: Any) -> set[str]:
            found = connection.execute(text("SELECT scope FROM totals"))
            return {str(scope).partition(":")[0] for (scope,) in found}

        store = served.gateway.store
        await Retention(store, day_seconds).prune(now)
        assert await store.read(scopes) == {"run", "ns", "day"}
        await Retention(store, day_seconds).prune(now + 3 * day_seconds)
        assert await store.read(scopes) == {"run"}


async def test_an_open_calls_promise_is_not_lost_with_its_run(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        await spends(served, "secret", "one", private=True)
        store = served.gateway.store
        open_ = text("UPDATE calls SET state = :state WHERE run = 'secret'")
        await store.write(lambda connection: connection.execute(open_, {"state": "reserved"}))
        kept = Retention(store, KEEP_SECONDS)
        await kept.gone("secret", served.gateway.clock())
        assert "calls" in await rows(served, "secret")
        await store.write(lambda connection: connection.execute(open_, {"state": "settled"}))
        await kept.gone("secret", served.gateway.clock())
        assert await rows(served, "secret") == {}
