"""What becomes of Runs when lists come late, changes get lost, and Runs are deleted, seen or unseen."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from guildhall_api import follower, report_status, watch
from guildhall_api.watch import WATCH_SECONDS, watch_seconds
from support.api_run import UID, Api, api_over, finish_line, pod_object, run_object, start_line, until, warn_line
from support.kube_stub import KubeStub


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "RETRY_FIRST_SECONDS", 0.01)
    monkeypatch.setattr(follower, "RETRY_MAX_SECONDS", 0.1)
    monkeypatch.setattr(report_status, "REPORT_SECONDS", 0.05)
    monkeypatch.setattr(report_status, "TAIL_WAIT_SECONDS", 0.1)


async def _sealed(api: Api) -> bool:
    return bool((await api.http.get("/api/runs/team.fix")).json().get("sealed"))


async def _row(api: Api) -> dict[str, Any]:
    row: dict[str, Any] = (await api.http.get("/api/runs")).json()["runs"][0]
    return row


async def _ended_unread(stub: KubeStub) -> None:
    """A Run that ended while no api was there to read its log."""
    await stub.put("runs", run_object(phase="Succeeded"))
    await stub.put("pods", pod_object(state="terminated"))
    await stub.write("fix-pod", start_line(), warn_line(2), finish_line(3))
    await stub.end_log("fix-pod")


def _hold(stub: KubeStub, kind: str, namespace: str, seconds: float) -> None:
    event = stub.listable[kind, namespace]
    event.clear()
    asyncio.get_running_loop().call_later(seconds, event.set)


async def test_no_log_is_taken_for_read_before_its_pods_are_known(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub:
        await _ended_unread(stub)
        _hold(stub, "pods", "team", 1.0)
        async with api_over(stub, tmp_path) as api:
            await until(lambda: _sealed(api))
            assert await api.events() == [1, 2, 3]
            assert (await api.model())["run"]["status"] == "succeeded"
            assert [each for each in stub.statuses if "resendFrom" in each["archive"]] == []


async def test_the_list_of_one_namespace_says_nothing_about_another(tmp_path: Path) -> None:
    """Pods listed before their Run are kept, whatever is listed elsewhere in between."""
    async with KubeStub().serving() as stub:
        await _ended_unread(stub)
        _hold(stub, "pods", "other", 0.3)
        _hold(stub, "runs", "team", 0.8)
        async with api_over(stub, tmp_path, runNamespaces=["team", "other"]) as api:
            await until(lambda: _sealed(api))
            assert await api.events() == [1, 2, 3]


async def test_what_a_watch_lost_is_found_by_the_next_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "RELIST_SECONDS", 2.0)
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        stub.hidden_changes.add(("runs", "DELETED"))
        await stub.put("runs", run_object())
        await until(lambda: UID in api.services.keeper.runs)
        await stub.delete("runs", "team", "fix")
        await asyncio.sleep(0.1)
        assert UID in api.services.keeper.runs
        await until(lambda: UID not in api.services.keeper.runs, 5)


@pytest.mark.parametrize(("left", "seconds"), [(600.0, WATCH_SECONDS), (119.2, 120), (0.3, 1), (-5.0, 1)])
def test_no_watch_outlasts_the_next_list(left: float, seconds: int) -> None:
    assert watch_seconds(left) == seconds
