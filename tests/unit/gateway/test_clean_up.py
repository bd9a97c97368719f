"""A Run that is over is cleaned up after once: also by a gateway that started later, also when the first try fails."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from guildhall_gateway import gateway as gateways
from guildhall_gateway.ledger_rows import Outcome
from guildhall_gateway.store import StoreError
from sqlalchemy import text
from unit.gateway import kit
from unit.gateway.test_mailbox import question

NOBODY: dict[str, int] = {"questions": 0, "approvals": 0}


async def replies(served: kit.Served) -> set[str]:
    query = text("SELECT run FROM replies")
    return await served.gateway.store.read(lambda found: {str(row.run) for row in found.execute(query)})


async def only(served: kit.Served, runs: set[str]) -> None:
    """Wait until no other Runs' replies are kept."""
    async with asyncio.timeout(5):
        while await replies(served) != runs:  # noqa: ASYNC110  the database knows nothing of tests
            await asyncio.sleep(0.01)


def told(cluster: kit.Cluster, run: str) -> list[dict[str, Any]]:
    return [status for uid, status in cluster.run_statuses if uid == run]


async def test_a_run_that_ended_while_no_gateway_ran_is_cleaned_up_after(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        served.cluster.add_run("goes-on", token="other")
        await served.model(kit.request())
        await served.model(kit.request(), "other")
        await question(served)
        assert await replies(served) == {"run-1", "goes-on"}
    after = kit.Cluster()
    after.add_run(finished=True, awaits=True)
    after.add_run("goes-on", token="other")
    after.add_run("long-over", token="third", finished=True)
    async with kit.serve(tmp_path, after) as served:
        await kit.until(lambda: told(after, "run-1"))
        assert told(after, "run-1")[-1]["awaiting"] == NOBODY
        assert told(after, "run-1")[-1]["usage"]["calls"] == 1
        await only(served, {"goes-on"})
        assert told(after, "long-over") == [], "nothing is written about what was put right long ago"


@pytest.mark.parametrize("left", ["a reply", "a count"])
async def test_either_leftover_alone_is_enough(tmp_path: Path, left: str) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        if left == "a reply":
            await served.model(kit.request())
    after = kit.Cluster()
    async with kit.serve(tmp_path, after) as served:
        after.add_run(awaits=left == "a count")
        after.change_run(finished=True)
        await kit.until(lambda: told(after, "run-1"))
        assert told(after, "run-1")[-1]["awaiting"] == NOBODY
        await only(served, set())


async def test_it_is_done_once_and_again_when_it_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "CLEAN_AGAIN_SECONDS", 0.02)
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        await served.model(kit.request())
        forget, tries = served.gateway.ledger.forget_replies, 0

        async def at_the_third(run: str) -> bool:
            nonlocal tries
            tries += 1
            if tries < 3:
                raise StoreError("the database is away")
            return await forget(run)

        served.gateway.ledger.forget_replies = at_the_third  # type: ignore[method-assign]
        served.cluster.change_run(finished=True)
        await kit.until(lambda: tries == 3)
        for number in range(5):
            served.cluster.change_run(stored_seq=number + 1)
        await asyncio.sleep(0.1)
        assert tries == 3
        await only(served, set())
        assert served.gateway.healthy()


async def test_a_reply_that_is_settled_after_its_run_was_over_does_not_stay(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        ledger, settling, go_on = served.gateway.ledger, asyncio.Event(), asyncio.Event()
        settle = ledger.settle

        async def slowly(run: str, call_id: str, attempt: int, outcome: Outcome, now: float) -> Any:
            settling.set()
            await go_on.wait()
            return await settle(run, call_id, attempt, outcome, now)

        ledger.settle = slowly  # type: ignore[method-assign]
        call = asyncio.create_task(served.model(kit.request()))
        await settling.wait()
        served.cluster.change_run(finished=True)
        await asyncio.sleep(0.1)
        go_on.set()
        assert (await call)[-1]["type"] == "reply", "the control: there was a reply to keep"
        await only(served, set())
        assert [row.state for row in await ledger.calls("run-1")] == ["settled"]


async def test_a_deleted_runs_leftovers_are_looked_for_until_the_database_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateways, "CLEAN_AGAIN_SECONDS", 0.02)
    monkeypatch.setattr(gateways, "READY_CHECK_SECONDS", 0.02)
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        await served.model(kit.request())
    after = kit.Cluster()
    after.ready = lambda: False  # type: ignore[method-assign]
    async with kit.serve(tmp_path, after) as served:
        look, failures = served.gateway.store.runs_with_content, [StoreError("away"), StoreError("away")]

        async def sometimes() -> list[str]:
            if failures:
                raise failures.pop()
            return await look()

        served.gateway.store.runs_with_content = sometimes  # type: ignore[method-assign]
        assert await replies(served) == {"run-1"}, "nothing is deleted before the cluster was seen"
        after.ready = lambda: True  # type: ignore[method-assign]
        await only(served, set())
        assert failures == []
