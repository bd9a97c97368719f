"""How long Runs stay: a private one until its own time is over, whatever becomes of its resource meanwhile."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from guildhall_api import follower, report_status
from guildhall_api.history import History
from guildhall_api.records import StoredRun
from guildhall_api.retention import Retention, expiry_of_gone, private_end
from sqlalchemy import text
from support.api_run import UID, api_over, config_for, run_object, until
from support.kube_stub import KubeStub
from unit.api.test_keeper import ended_unread, execute, is_sealed

ENDED: float = 1_767_603_600  # 2026-01-05T09:00:00Z
HOUR: float = 3_600
DAY: float = 24 * HOUR


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "RETRY_FIRST_SECONDS", 0.01)
    monkeypatch.setattr(report_status, "REPORT_SECONDS", 0.05)
    monkeypatch.setattr(report_status, "TAIL_WAIT_SECONDS", 0.1)


def _ended(phase: str = "Succeeded", *, at: Any = "2026-01-05T09:00:00Z", **spec: Any) -> dict[str, Any]:
    run = run_object(phase=phase, **spec)
    run["status"]["completionTime"] = at
    return run


@pytest.mark.parametrize(
    ("run", "end"),
    [
        (_ended(), ENDED + HOUR),
        (_ended(retainSeconds=60), ENDED + 60),
        (_ended(retainSeconds="60"), ENDED + HOUR),
        (_ended(at=None, retainSeconds=60), ENDED + DAY + 60),
        (_ended(at="yesterday"), ENDED + DAY + HOUR),
    ],
)
def test_a_private_runs_time_begins_with_its_end(run: dict[str, Any], end: float) -> None:
    """Or, where nobody knows that, now."""
    assert private_end(run, int(HOUR), ENDED + DAY) == end


@pytest.mark.parametrize(
    ("private", "spec", "expires_at", "end"),
    [
        (False, {}, None, ENDED + 90 * DAY),
        (False, {"retainSeconds": 60}, None, ENDED + 90 * DAY),
        (True, {}, None, ENDED + HOUR),
        (True, {"retainSeconds": 60}, None, ENDED + 60),
        (True, {}, ENDED + 5, ENDED + 5),
        (True, {}, ENDED + DAY, ENDED + HOUR),
    ],
)
def test_a_run_that_is_gone_stays_no_longer_than_it_was_to_stay(
    private: bool, spec: dict[str, Any], expires_at: float | None, end: float
) -> None:
    stored = StoredRun(
        key=1, uid=UID, namespace="team", name="fix", live=True, sealed=True, private=private, summary={},
        detail={"spec": spec, "conditions": []}, last_seq=1, unreadable=0, intake={}, expires_at=expires_at,
    )  # fmt: skip
    assert expiry_of_gone(stored, int(90 * DAY), int(HOUR), ENDED) == end
    assert expiry_of_gone(replace(stored, detail={}), int(90 * DAY), int(HOUR), ENDED) >= ENDED, "whatever is kept"


@pytest.mark.parametrize(
    ("run", "after", "over"),
    [
        (_ended(private=True, retainSeconds=60), 61, True),
        (_ended(private=True, retainSeconds=60), 60, True),
        (_ended(private=True, retainSeconds=60), 59, False),
        (_ended("Failed", private=True), HOUR + 1, True),
        (_ended("Running", private=True), HOUR + 1, False),
        (_ended(), 1_000 * DAY, False),
    ],
)
async def test_only_a_private_run_that_has_ended_is_over_while_it_exists(
    tmp_path: Path, run: dict[str, Any], after: float, over: bool
) -> None:
    history = History(f"sqlite:///{tmp_path}/api.db")
    assert Retention(config_for(tmp_path), history, lambda: ENDED + after).is_over(run) == over
    await history.close()


def _private(age: timedelta) -> dict[str, Any]:
    run = run_object(phase="Succeeded", private=True)
    run["status"]["completionTime"] = (datetime.now(UTC) - age).isoformat(timespec="seconds")
    return run


async def _expiries(folder: Path) -> list[float | None]:
    history = History(f"sqlite:///{folder}/api.db")
    async with history.engine.connect() as connection:
        found = [row[0] for row in (await connection.execute(text("SELECT expires_at FROM runs"))).all()]
    await history.close()
    return found


async def _expires(folder: Path) -> bool:
    return None not in await _expiries(folder)


async def test_a_private_run_keeps_its_expiry_though_the_api_died_sealing_it(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub:
        await ended_unread(stub)
        await stub.put("runs", _private(timedelta(minutes=10)))
        async with api_over(stub, tmp_path) as api:
            await until(lambda: _expires(tmp_path))
        (first,) = await _expiries(tmp_path)
        await execute(tmp_path, "UPDATE runs SET expires_at = NULL")
        async with api_over(stub, tmp_path) as api:
            await until(lambda: _expires(tmp_path))
            assert await _expiries(tmp_path) == [first]
            await stub.delete("runs", "team", "fix")
            await until(lambda: UID not in api.services.keeper.runs)
            assert await _expiries(tmp_path) == [first]  # deleting it keeps it no longer


async def test_a_private_run_whose_time_is_over_does_not_come_back(tmp_path: Path) -> None:
    """Its resource and its pod's log may outlive it."""
    async with KubeStub().serving() as stub:
        await ended_unread(stub)
        await stub.put("runs", _private(timedelta(hours=2)))
        async with api_over(stub, tmp_path) as api:
            await asyncio.sleep(0.5)
            assert await _expiries(tmp_path) == []
            assert stub.logs["fix-pod"].opened == 0
            assert (await api.http.get("/api/runs/team.fix")).status_code == 404
            await stub.put("runs", _private(timedelta(minutes=10)))
            await until(lambda: is_sealed(api))
