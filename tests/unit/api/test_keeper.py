"""What becomes of Runs when lists come late, changes get lost, and Runs are deleted, seen or unseen."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from guildhall_api import follower, report_status, watch
from guildhall_api.history import History
from sqlalchemy import text
from support.api_run import UID, Api, api_over, finish_line, pod_object, run_object, start_line, until, warn_line
from support.api_socket import served
from support.kube_stub import KubeStub
from unit.api.test_stream import hanging_up
from unit.api.test_stream import watch as watch_stream


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "RETRY_FIRST_SECONDS", 0.01)
    monkeypatch.setattr(report_status, "REPORT_SECONDS", 0.05)
    monkeypatch.setattr(report_status, "TAIL_WAIT_SECONDS", 0.1)


async def is_sealed(api: Api) -> bool:
    return bool((await api.http.get("/api/runs/team.fix")).json().get("sealed"))


async def _row(api: Api) -> dict[str, Any]:
    row: dict[str, Any] = (await api.http.get("/api/runs")).json()["runs"][0]
    return row


async def ended_unread(stub: KubeStub) -> None:
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
        await ended_unread(stub)
        _hold(stub, "pods", "team", 1.0)
        async with api_over(stub, tmp_path) as api:
            await until(lambda: is_sealed(api))
            assert await api.events() == [1, 2, 3]
            assert (await api.model())["run"]["status"] == "succeeded"
            assert [each for each in stub.statuses if "resendFrom" in each["archive"]] == []


async def test_the_list_of_one_namespace_says_nothing_about_another(tmp_path: Path) -> None:
    """Pods listed before their Run are kept, whatever is listed elsewhere in between."""
    async with KubeStub().serving() as stub:
        await ended_unread(stub)
        _hold(stub, "pods", "other", 0.3)
        _hold(stub, "runs", "team", 0.8)
        async with api_over(stub, tmp_path, runNamespaces=["team", "other"]) as api:
            await until(lambda: is_sealed(api))
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


async def _deleted_row(api: Api) -> dict[str, Any] | None:
    row = await _row(api)
    return row if not row["live"] else None


def _is_closed(row: dict[str, Any], model: dict[str, Any], stamp: str | None = None) -> None:
    assert (row["phase"], row["reason"]) == ("Cancelled", "Deleted")
    assert row["summary"] == "The Run was deleted before it had ended"
    assert model["run"]["status"] == "cancelled"
    assert model["run"]["endedAt"] == row["endedAt"]
    assert [operation["outcome"] for operation in model["operations"]] == ["cancelled"]
    assert stamp is None or row["endedAt"] == stamp


async def test_a_run_deleted_while_it_ran_is_closed(tmp_path: Path) -> None:
    """In lists, in the model, and for who watches."""
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api, served(api) as port:
        with hanging_up():
            await stub.put("runs", run_object())
            await stub.put("pods", pod_object())
            await stub.write("fix-pod", start_line(), warn_line(2))
            await until(lambda: _stored(api, 2))
            viewer = await watch_stream(port, after="2")
            assert (await viewer.frame())[1]["phase"] == "Running"
            await stub.delete("runs", "team", "fix")
            name, data = await viewer.frame()
            assert (name, data["phase"], data["reason"]) == ("status", "Cancelled", "Deleted")
            await stub.end_log("fix-pod")
            await stub.delete("pods", "team", "fix-pod")
            while name != "end":
                name, data = await viewer.frame()
            await until(lambda: _deleted_row(api))
            _is_closed(await _row(api), await api.model())
            flow = (await api.http.get("/api/runs/team.fix/flow")).json()
            assert flow["summary"] == await _row(api)
            assert (await api.http.get("/api/runs", params={"phase": "Running"})).json()["runs"] == []


async def _stored(api: Api, seq: int) -> bool:
    return (await api.events())[-1:] == [seq]


@pytest.mark.parametrize("live", [True, False])
async def test_a_run_deleted_while_no_api_was_there_is_closed(tmp_path: Path, live: bool) -> None:
    """`live` False: a row left by an api that did not close it."""
    async with KubeStub().serving() as stub:
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object())
        await stub.write("fix-pod", start_line(), warn_line(2))
        async with api_over(stub, tmp_path) as api:
            await until(lambda: _stored(api, 2))
            assert (await _row(api))["phase"] == "Running"
        await stub.delete("runs", "team", "fix")
        if not live:
            await execute(tmp_path, "UPDATE runs SET live = false")
        async with api_over(stub, tmp_path) as api:
            row = await _deleted_row(api)
            assert row is not None
            _is_closed(row, await api.model(), "2026-01-05T09:00:00.200Z")


async def execute(folder: Path, statement: str) -> None:
    history = History(f"sqlite:///{folder}/api.db")
    async with history.engine.begin() as connection:
        await connection.execute(text(statement))
    await history.close()


async def test_a_run_deleted_after_its_log_ended_is_what_the_log_says(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object())
        await stub.write("fix-pod", start_line(), finish_line(2))
        await until(lambda: is_sealed(api))
        await stub.delete("runs", "team", "fix")
        await until(lambda: _deleted_row(api))
        row = await _row(api)
        assert (row["phase"], row["reason"]) == ("Succeeded", "Completed")
        assert row["endedAt"] == (await api.model())["run"]["endedAt"]
