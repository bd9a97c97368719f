"""Following real HTTP logs through every mishap: the stored events are each of those written, once, in order."""

import json  # noqa: I001
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from guildhall_api import follower, keeper, report_status, watch
from guildhall_api.report_status import Reporter
from guildhall_contracts import limits

from support.api_run import (
    UID,
    Api,
    api_over,
    finish_line,
    line,
    pod_object,
    run_object,
    start_line,
    until,
    warn_line,
)
from support.kube_stub import KubeStub, log_stamp


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "RETRY_FIRST_SECONDS", 0.01)
    monkeypatch.setattr(report_status, "REPORT_SECONDS", 0.05)
    monkeypatch.setattr(report_status, "TAIL_WAIT_SECONDS", 0.3)


pytestmark = pytest.mark.usefixtures("_quick")


async def _started(stub: KubeStub) -> None:
    await stub.put("runs", run_object())
    await stub.put("pods", pod_object())


async def _sealed(api: Api) -> bool:
    return bool((await api.http.get("/api/runs/team.fix")).json().get("sealed"))


async def test_a_run_is_followed_from_first_line_to_seal(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await _started(stub)
        await stub.write("fix-pod", start_line(), warn_line(2))
        await until(lambda: _has(api, [1, 2]))
        assert (await api.model())["run"]["status"] == "running"
        await stub.write("fix-pod", line(3, "run.summarized", summary="Fixed the parser"), finish_line(4))
        await until(lambda: _sealed(api))
        assert (await api.model())["run"]["status"] == "succeeded"
        assert await api.events() == [1, 2, 3, 4]
        last = stub.statuses[-1]
        assert last["archive"] == {"storedSeq": 4}
        assert last["result"] == {"outcome": "succeeded", "summary": "Done."}
        assert last["summary"] == "Fixed the parser"
        rows = (await api.http.get("/api/runs")).json()["runs"]
        assert [(row["label"], row["summary"]) for row in rows] == [("Fix it", "Fixed the parser")]


async def _has(api: Api, seqs: list[int]) -> bool:
    return await api.events() == seqs


@pytest.mark.parametrize("piece", [1, 7, 4096])
async def test_ls06_pieces_cut_anywhere_change_no_character(tmp_path: Path, piece: int) -> None:
    text = "caf\u00e9 \U0001f9ea \u202e \x7f end"
    raw = line(2, "run.summarized", summary=text)
    utf8 = json.dumps(json.loads(raw) | {"seq": 3}, ensure_ascii=False).encode()
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        stub.logs["fix-pod"].piece_bytes = piece
        await _started(stub)
        await stub.write("fix-pod", start_line(), raw, utf8)
        await until(lambda: _has(api, [1, 2, 3]))
        answer = await api.http.get("/api/runs/team.fix/events")
        assert [event.get("summary") for event in answer.json()["events"]][1:] == [text, text]
        assert answer.content.isascii()  # nothing a terminal or an event stream could take for control
        assert answer.json()["unreadable"] == []


async def test_ls09_resuming_within_one_second_neither_loses_nor_doubles(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        log = stub.logs["fix-pod"]
        lines = [start_line(), *(warn_line(seq) for seq in range(2, 51))]
        log.cuts = [sum(len(each) + 32 for each in lines[:23]) + 11, 40, 0]
        for each in lines:
            log.write(each)
        await _started(stub)
        await until(lambda: _has(api, list(range(1, 51))))
        assert log.opened >= 3  # it was cut, and asked again
        assert log.since[-1] is not None
        await stub.write("fix-pod", warn_line(51))
        await until(lambda: _has(api, list(range(1, 52))))


async def test_ls05_bytes_nobody_can_read_stand_where_they_stood_once(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        log = stub.logs["fix-pod"]
        log.cuts = [700]
        await _started(stub)
        await stub.write(
            "fix-pod", start_line(), b"caf\xe9 \x1b[2J\r boom", b"", warn_line(2), b'{"v":1,"run":"0b', warn_line(3)
        )
        await until(lambda: _has(api, [1, 2, 3]))
        page = (await api.http.get("/api/runs/team.fix/events")).json()
        assert [row["after"] for row in page["unreadable"]] == [1, 1, 2]
        assert "\x1b" not in page["unreadable"][0]["text"]
        assert log.opened >= 2
        assert (await api.model())["run"]["unreadable"] == 3


async def test_the_kubelets_own_words_are_no_part_of_the_log(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        log = stub.logs["fix-pod"]
        log.kubelet_says = [
            b"unable to retrieve container logs for containerd://abc",
            b"failed to create fsnotify watcher",
        ]
        log.first_errors = [(400, "container is waiting to start"), (500, "oops")]
        await _started(stub)
        await stub.write("fix-pod", start_line(), warn_line(2))
        await until(lambda: _has(api, [1, 2]))
        assert log.opened >= 5
        assert (await api.model())["run"]["unreadable"] == 0


async def test_foreign_lines_are_not_taken_in(tmp_path: Path) -> None:
    """X2: an event of another Run or attempt, however well formed, is shown as unreadable and folded by nobody."""
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await _started(stub)
        forged = finish_line(2, run="ffffffff-0000-4000-8000-000000000000")
        await stub.write("fix-pod", start_line(), forged, warn_line(2, attempt=2), warn_line(2))
        await until(lambda: _has(api, [1, 2]))
        model = await api.model()
        assert model["run"]["status"] == "running"
        assert model["run"]["unreadable"] == 2
        rows = (await api.http.get("/api/runs/team.fix/events")).json()["unreadable"]
        assert [row["reason"] for row in rows] == [
            "an event of another Run",
            "an event of attempt 2 in the log of attempt 1",
        ]


async def test_only_the_recorded_pod_is_believed(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await stub.put("runs", run_object())
        await stub.put("pods", pod_object("impostor", uid="99999999-2222-4333-8444-555555555555"))
        await stub.write("impostor", start_line(), finish_line(2))
        await stub.put("pods", pod_object())
        await stub.write("fix-pod", start_line(), warn_line(2))
        await until(lambda: _has(api, [1, 2]))
        assert stub.logs["impostor"].opened == 0
        assert (await api.model())["run"]["status"] == "running"


async def test_a_hole_is_asked_for_and_repaired(tmp_path: Path) -> None:
    """Rotation took lines: the api asks for them by status, stores what comes again, and folds from the stored lines."""  # noqa: E501
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        log = stub.logs["fix-pod"]
        lines = [start_line(), *(warn_line(seq) for seq in range(2, 21))]
        for each in lines:
            log.write(each)
        log.rotate(5)

        def resend(status: dict[str, object]) -> None:
            archive = status["archive"]
            assert isinstance(archive, dict)
            if archive.get("resendFrom") == 1 and log.dropped + len(log.lines) == 20:
                for each in lines:
                    log.write(each)
                log.write(finish_line(21))

        stub.on_status = resend
        await _started(stub)
        await until(lambda: _sealed(api))
        assert any(status["archive"].get("resendFrom") == 1 for status in stub.statuses)
        assert any(status["archive"]["storedSeq"] == 0 for status in stub.statuses)
        assert stub.statuses[-1]["archive"] == {"storedSeq": 21}
        assert await api.events() == list(range(1, 22))
        model = await api.model()
        assert model["run"]["gaps"] == []
        assert model["run"]["task"] == "Fix it"


async def test_a_hole_nobody_fills_is_given_up_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_status, "SEAL_WAIT_SECONDS", 1.0)
    monkeypatch.setattr(report_status, "RESEND_ROUND_SECONDS", 0.4)
    monkeypatch.setattr(report_status, "RESEND_PAUSE_SECONDS", 0.15)
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        log = stub.logs["fix-pod"]

        def leave(status: dict[str, object]) -> None:
            log.ended = log.ended or status["archive"] == {"storedSeq": 6}  # as an executor does that is acknowledged

        stub.on_status = leave
        await _started(stub)
        await stub.write("fix-pod", start_line(), warn_line(5), finish_line(6))
        await until(lambda: _sealed(api))
        assert stub.statuses[-1]["archive"] == {"storedSeq": 6}
        asked = [status["archive"].get("resendFrom") for status in stub.statuses]
        assert 2 in asked
        assert (await api.model())["run"]["gaps"] == [{"first": 2, "last": 4}]


def _again(state: str = "terminated") -> dict[str, Any]:
    """The pod that prints the journal again, as the operator makes it."""
    labels = {"guildhall.dev/resend": "1", "guildhall.dev/attempt": "1"}
    return pod_object("again", uid="77777777-2222-4333-8444-555555555555", state=state, **labels)


async def _asked_for(stub: KubeStub, seq: int) -> bool:
    return bool(stub.statuses) and stub.statuses[-1]["archive"].get("resendFrom") == seq


async def test_the_end_of_a_log_that_went_with_its_pod_is_printed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An evicted pod's log is gone; its journal is not."""
    monkeypatch.setattr(report_status, "TAIL_WAIT_SECONDS", 30)
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await _started(stub)
        await stub.write("fix-pod", start_line(), warn_line(2))
        await until(lambda: _has(api, [1, 2]))
        await stub.delete("pods", "team", "fix-pod")
        await stub.end_log("fix-pod")
        await stub.put("runs", run_object(phase="Failed"))
        await until(lambda: _asked_for(stub, 3))
        assert not await _sealed(api)
        for each in (start_line(), warn_line(2), warn_line(3), finish_line(4)):
            stub.logs["again"].write(each)
        stub.logs["again"].ended = True
        await stub.put("pods", _again())
        await until(lambda: _sealed(api))
        assert await api.events() == [1, 2, 3, 4]
        assert stub.statuses[-1]["archive"] == {"storedSeq": 4}
        assert (await api.model())["run"]["status"] == "succeeded"


async def test_a_journal_without_an_end_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed executor wrote no end: what its journal has is taken in, and the Run is closed at once."""
    monkeypatch.setattr(report_status, "TAIL_WAIT_SECONDS", 30)
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await _started(stub)
        await stub.write("fix-pod", start_line())
        await until(lambda: _has(api, [1]))
        await stub.end_log("fix-pod")
        await stub.put("pods", pod_object(state="terminated"))
        await stub.put("runs", run_object(phase="Failed"))
        await until(lambda: _asked_for(stub, 2))
        stub.logs["again"].write(warn_line(2))
        stub.logs["again"].ended = True
        await stub.put("pods", _again())
        await until(lambda: _sealed(api))
        assert await api.events() == [1, 2]
        assert stub.statuses[-1]["archive"] == {"storedSeq": 2}
        assert (await api.model())["run"]["status"] == "failed"


async def test_a_line_without_end_costs_no_memory(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await _started(stub)
        await stub.write("fix-pod", start_line())
        await until(lambda: _has(api, [1]))
        huge = b"x" * (48 * 1024 * 1024)
        tracemalloc.start()
        await stub.write("fix-pod", huge, warn_line(2))
        await until(lambda: _has(api, [1, 2]), 60)
        sizes = [
            trace.size
            for trace in tracemalloc.take_snapshot().statistics("filename")
            if "lines.py" in str(trace.traceback)
        ]
        tracemalloc.stop()
        assert sum(sizes) < 2 * limits.EVENT_MAX_BYTES
        row = (await api.http.get("/api/runs/team.fix/events")).json()["unreadable"][0]
        assert row["bytes"] == len(huge)


async def test_a_deleted_pod_ends_the_run_as_the_cluster_says(tmp_path: Path) -> None:
    """TU-03, LS-10, OP-20: what was stored is shown, operations are interrupted, nothing spins."""
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await _started(stub)
        tool = line(2, "tool.started", op="o2", parent="o1", source="role:coder", destination="tool:read_file", call="c",  # noqa: E501
                    tool="read_file", arguments="{}")  # fmt: skip
        await stub.write("fix-pod", start_line(), tool)
        await until(lambda: _has(api, [1, 2]))
        await stub.delete("pods", "team", "fix-pod")
        await stub.end_log("fix-pod")
        ended = run_object(phase="Failed")
        ended["status"]["completionTime"] = "2026-01-05T09:00:09Z"
        await stub.put("runs", ended)
        await until(lambda: _sealed(api))
        model = await api.model()
        assert model["run"]["status"] == "failed"
        assert [operation["outcome"] for operation in model["operations"]] == ["cancelled", "cancelled"]
        assert model["operations"][1]["endedAt"] == "2026-01-05T09:00:09.000Z"


async def test_a_deleted_run_stays_in_history(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await _started(stub)
        await stub.write("fix-pod", start_line(), finish_line(2))
        await until(lambda: _sealed(api))
        await stub.delete("runs", "team", "fix")
        await until(lambda: _rows(api, live=False))
        assert UID not in api.services.keeper.runs
        assert (await api.model())["run"]["status"] == "succeeded"


async def _rows(api: Api, *, live: bool) -> list[object]:
    rows: list[object] = (await api.http.get("/api/runs", params={"live": live})).json()["runs"]
    return rows


async def test_the_next_attempt_goes_on(tmp_path: Path) -> None:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await _started(stub)
        await stub.write("fix-pod", start_line(), warn_line(2))
        await until(lambda: _has(api, [1, 2]))
        await stub.end_log("fix-pod")
        second = "22222222-2222-4333-8444-555555555555"
        again = run_object()
        again["status"]["attempts"].append({"number": 2, "job": "fix-a2", "pod": "fix-pod-2", "podUid": second})
        await stub.put("pods", pod_object(state="terminated"))
        await stub.put("runs", again)
        await stub.put("pods", pod_object("fix-pod-2", uid=second))
        stub.logs["fix-pod-2"].write(warn_line(3, attempt=2), log_stamp(0))  # this node's clock is behind
        await stub.wake()
        await stub.write("fix-pod-2", warn_line(4, attempt=2))
        await until(lambda: _has(api, [1, 2, 3, 4]))


async def test_a_watch_that_expired_lists_again(tmp_path: Path) -> None:
    stub = KubeStub()
    stub.gone_watches = 3
    async with stub.serving(), api_over(stub, tmp_path) as api:
        await _started(stub)
        await stub.write("fix-pod", start_line())
        await until(lambda: _has(api, [1]))


async def test_health_turns_red_when_a_watch_is_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        assert (await api.stranger.get("/healthz")).status_code == 200
        monkeypatch.setattr(watch, "STALE_SECONDS", -1)
        answer = await api.stranger.get("/healthz")
        assert answer.status_code == 503
        assert "runs in team" in answer.text
        assert (await api.stranger.get("/readyz")).status_code == 200


async def test_the_end_is_reported_though_the_cluster_stumbles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sealed only after the cluster knows: an executor waits for it, and who dies in between reports again."""
    monkeypatch.setattr(report_status, "_LAST_TRIES_SECONDS", (0.05,) * 20)
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        stub.failing_statuses = 8
        await _started(stub)
        await stub.write("fix-pod", start_line(), finish_line(2))
        await until(lambda: api.services.keeper.runs and stub.failing_statuses <= 4)
        assert not await _sealed(api)
        await until(lambda: _sealed(api))
        assert stub.failing_statuses == 0
        assert [status["archive"] for status in stub.statuses] == [{"storedSeq": 2}]


async def test_a_reporter_that_died_takes_its_follower_along_and_both_begin_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Else events would be stored and shown while the executor waits for ever to hear of it."""
    monkeypatch.setattr(keeper, "_RETRY_SECONDS", 0.05)
    report, failures = Reporter.report, [ValueError("a status nobody can write")]

    async def dying(self: Reporter) -> bool:
        if failures:
            raise failures.pop()
        return await report(self)

    monkeypatch.setattr(Reporter, "report", dying)
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await _started(stub)
        await stub.write("fix-pod", start_line(), warn_line(2))
        await until(lambda: _has(api, [1, 2]))
        await until(lambda: not failures)
        await stub.write("fix-pod", warn_line(3))
        await until(lambda: bool(stub.statuses) and stub.statuses[-1]["archive"] == {"storedSeq": 3})
        assert await api.events() == [1, 2, 3]
    assert [record.getMessage() for record in caplog.records if record.exc_info] == [
        f"following Run {UID} broke; again in 0 s"
    ]
