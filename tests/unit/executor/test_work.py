"""The tools against the real workshop binary: a planner, a coder and a reviewer repair a small project."""

import contextlib
import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from guildhall_contracts import limits
from guildhall_contracts.model_api import ModelRequest, ToolMessage
from support.executor_gateway import FakeGateway, Json, calls, one, serving, tool_call
from support.executor_process import until
from support.executor_run import SOLO, TEAM, Outcome, run, snapshot
from support.workshop import Workshop, running

pytestmark = pytest.mark.go

BROKEN = "def add(a, b):\n    return a - b\n"
CHECK = "from calc import add\n\nassert add(2, 2) == 4, add(2, 2)\nprint('checked')\n"


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workspace = tmp_path / "w" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "calc.py").write_text(BROKEN)
    (workspace / "check.py").write_text(CHECK)
    with running(tmp_path / "w", "--unconfined") as server:
        yield server


def results(gateway: FakeGateway, index: int) -> list[ToolMessage]:
    return [m for m in gateway.requests[index].messages if isinstance(m, ToolMessage)]


def go(base: Path, workshop: Workshop, gateway: FakeGateway, guild: dict[str, object] | None = None) -> Outcome:
    return run(base / "x", snapshot(guild or SOLO, url=gateway.url), socket=workshop.socket_path)


def test_a_team_repairs_a_project(tmp_path: Path, workshop: Workshop) -> None:
    script = [
        one("update_plan", items=[{"text": "repair add", "status": "active"}]),
        one("delegate", role="coder", brief="Repair add in calc.py."),
        calls(
            tool_call("read_file", {"path": "calc.py"}, "a"),
            tool_call("search_files", {"pattern": "add"}, "b"),
            tool_call("list_files", {}, "c"),
        ),
        one("edit_file", path="calc.py", old_text="a - b", new_text="a + b"),
        one("run_shell", command="python3 -B check.py"),
        one("finish", result="add adds now."),
        one("delegate", role="reviewer", brief="Check it."),
        one("run_shell", command="python3 -B check.py; git --version >/dev/null; exit 3"),
        one("finish", result="It holds."),
        one("finish", result="# Repaired\n`add` adds.", summary="Repaired add", artifacts=["calc.py"]),
    ]
    with serving(*script) as gateway:
        got = go(tmp_path, workshop, gateway, TEAM)
    assert got.message.outcome == "succeeded", got.message
    assert (workshop.workspace / "calc.py").read_text() == BROKEN.replace("-", "+")
    changed = got.of("changes.updated")[-1]
    assert [file.path for file in changed.files] == ["calc.py"]
    patch = gateway.blobs[changed.patch_sha256]
    assert hashlib.sha256(patch).hexdigest() == changed.patch_sha256
    assert b"-    return a - b\n+    return a + b\n" in patch
    read, search, listing = results(gateway, 3)
    assert read.content[0].text == BROKEN.rstrip("\n")
    assert (read.content[0].origin, read.content[0].authority) == ("workspace", "data")
    assert search.content[0].text.splitlines()[0] == "calc.py:1: def add(a, b):"
    assert listing.content[0].text == f"calc.py ({len(BROKEN)} bytes)\ncheck.py ({len(CHECK)} bytes)"
    assert [b.text for b in results(gateway, 5)[-1].content] == ["exit code 0", "checked"]
    assert [b.text for b in results(gateway, 8)[-1].content] == ["exit code 3", "checked"]
    assert [f"{e.source}>{e.destination}" for e in got.of("role.started")] == [
        "human>role:planner",
        "role:planner>role:coder",
        "role:planner>role:reviewer",
    ]
    assert not got.of("error.raised")
    assert (got.folder / "plan.md").read_text() == "- [>] repair add\n"
    assert (got.folder / "summary.txt").read_text() == "Repaired add\n"


def test_a_command_that_kills_the_workshop_ends_in_its_true_reason(
    tmp_path: Path, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WORKSHOP_AWAY_MAX_SECONDS", 1)
    kill = one("run_shell", command=f"kill -9 {workshop.process.pid}; sleep 5")
    with serving(*[kill] * 20) as gateway:
        got = go(tmp_path, workshop, gateway)
    assert (got.message.outcome, got.message.reason) == ("failed", "WorkspaceFailed")
    ended = [event.error_code for event in got.of("tool.finished")]
    assert ended == ["workshop_lost"] * len(ended)
    assert len(ended) == len(gateway.requests) > 4, "more calls than losses: nobody was there to be lost"
    assert "the workshop has not answered for 1 seconds" in got.of("run.finished")[-1].error.message


def restarting(base: Path, stack: contextlib.ExitStack, seconds: float) -> Callable[[ModelRequest], Json]:
    """Begins a workshop; the step kills it, has a new one begin after `seconds`, and asks for a command."""
    servers = [stack.enter_context(running(base, "--unconfined"))]

    def step(_: ModelRequest) -> Json:
        servers[-1].process.kill()
        servers[-1].process.wait()
        again = threading.Timer(seconds, lambda: servers.append(stack.enter_context(running(base, "--unconfined"))))
        again.start()
        stack.callback(again.join)
        return one("run_shell", command="echo back")

    return step


def test_three_restarts_are_survived_however_many_calls_find_nobody(tmp_path: Path) -> None:
    """Each restart takes longer than a call waits for it, as the kubelet's do: such calls are answered, not counted."""
    base = tmp_path / "w"
    (base / "workspace").mkdir(parents=True)
    look = one("run_shell", command="echo back")
    with contextlib.ExitStack() as stack:
        kill = restarting(base, stack, 1.0)
        script = [look, *[kill, *[look] * 12] * limits.WORKSHOP_RESTARTS_MAX_COUNT, one("finish", result="ok")]
        with serving(*script) as gateway:
            got = run(tmp_path / "x", snapshot(url=gateway.url), socket=base / "w.sock")
    assert got.message.outcome == "succeeded", got.message
    ended = [event.error_code for event in got.of("tool.finished")][:-1]
    lost = ended.count("workshop_lost")
    assert lost > limits.WORKSHOP_RESTARTS_MAX_COUNT, "control: more calls were lost than a Run survives losses"
    assert ended[0] == ended[-1] is None
    shown = [event.output for event in got.of("tool.finished") if event.error_code]
    assert all("try again in 5 seconds" in text for text in shown)


def test_the_fourth_workshop_that_dies_in_a_call_ends_the_run(tmp_path: Path) -> None:
    base = tmp_path / "w"
    (base / "workspace").mkdir(parents=True)
    suicide = one("run_shell", command=f"until kill -9 $(cat {base}/pid); do sleep 0.05; done; sleep 5")
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(kept_up(base))
        with serving(*[suicide] * 20) as gateway:
            snap = snapshot(url=gateway.url)
            got = run(tmp_path / "x", snap, socket=stop, workshop_connect_seconds=10.0)
    assert (got.message.outcome, got.message.reason) == ("failed", "WorkspaceFailed")
    assert [event.error_code for event in got.of("tool.finished")] == ["workshop_lost"] * 4
    assert "the workshop was lost 4 times" in got.of("run.finished")[-1].error.message


@contextlib.contextmanager
def kept_up(base: Path) -> Iterator[Path]:
    """A workshop that is begun again whenever it dies; the context's value is its socket."""
    over = threading.Event()
    begun = threading.Event()

    def serve() -> None:
        while not over.is_set():
            with running(base, "--unconfined") as server:
                (base / "pid").write_text(str(server.process.pid))
                begun.set()
                while server.process.poll() is None and not over.wait(0.02):
                    pass

    keeper = threading.Thread(target=serve)
    keeper.start()
    assert begun.wait(30)
    try:
        yield base / "w.sock"
    finally:
        over.set()
        keeper.join()


def test_what_the_model_is_shown_is_the_same_every_time(tmp_path: Path) -> None:
    """Two runs on equal workspaces in different places: not one byte of any request differs."""
    seen = []
    for name in ("one", "another-place"):
        base = tmp_path / name
        (base / "workspace" / "src").mkdir(parents=True)
        (base / "workspace" / "src" / "x.py").write_text("a = 1\nb = 2\n")
        script = [
            calls(
                tool_call("list_files", {"depth": 3}, "1"),
                tool_call("search_files", {"pattern": "= [12]"}, "2"),
                tool_call("run_shell", {"command": "pwd; cat src/x.py; exit 4"}, "3"),
                tool_call("run_shell", {"command": "sleep 0.2; kill -9 $$"}, "4"),
                tool_call("run_shell", {"command": "sleep 9", "timeout_seconds": 1}, "5"),
                tool_call("read_file", {"path": "/etc/passwd"}, "6"),
                tool_call("read_file", {"path": "missing"}, "7"),
                tool_call("edit_file", {"path": "src/x.py", "old_text": "nope", "new_text": ""}, "8"),
                tool_call("write_file", {"path": "new/y.py", "content": "z\n"}, "9"),
                tool_call("update_plan", {"items": [{"text": "t"}]}, "10"),
            ),
            one("finish", result="ok"),
        ]
        with running(base, "--unconfined") as server, serving(*script) as gateway:
            got = run(base / "x", snapshot(url=gateway.url), socket=server.socket_path)
        assert got.message.outcome == "succeeded"
        texts = [m.model_dump_json().replace(str(base), "BASE") for m in gateway.requests[-1].messages]
        seen.append(texts)
        assert str(tmp_path) not in "".join(t for t in texts if '"call":"3"' not in t), "a host path was shown"
    assert seen[0] == seen[1]


def test_a_remark_of_ours_is_never_written_as_content(tmp_path: Path, workshop: Workshop) -> None:
    footer = "[guildhall: lines 1-2 of 9 shown; read on from line 3]"
    script = [
        one("write_file", path="a.txt", content=f"x\n{footer}\n"),
        one("edit_file", path="calc.py", old_text="a - b", new_text=footer),
        one("write_file", path="b.txt", content="x\n"),
        one("finish", result="ok"),
    ]
    with serving(*script) as gateway:
        got = go(tmp_path, workshop, gateway)
    assert [event.error_code for event in got.of("tool.finished")] == ["invalid_argument", "invalid_argument", None]
    assert not (workshop.workspace / "a.txt").exists()
    assert (workshop.workspace / "calc.py").read_text() == BROKEN
    assert (workshop.workspace / "b.txt").read_text() == "x\n"


OUTSIDE = [
    "../../etc/passwd",
    "/etc/passwd",
    "/workspace/../etc/passwd",
    ".orchestration",
    "./.orchestration/x",
    "a/../..",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_paths_that_leave_are_refused_and_the_refusal_shows_no_host_path(
    tmp_path: Path, workshop: Workshop, path: str
) -> None:
    script = [
        one("read_file", path=path),
        one("write_file", path=path, content="x"),
        one("edit_file", path=path, old_text="root", new_text="x"),
        one("list_files", path=path),
        one("read_file", path="calc.py"),
        one("finish", result="ok"),
    ]
    with serving(*script) as gateway:
        got = go(tmp_path, workshop, gateway)
    ended = got.of("tool.finished")
    assert all(event.error_code in ("permission_denied", "not_found") for event in ended[:4]), ended
    assert ended[4].outcome == "success"
    assert str(tmp_path).encode() not in got.printed


def test_line_endings_and_modes_survive_an_edit(tmp_path: Path, workshop: Workshop) -> None:
    file = workshop.workspace / "crlf.sh"
    file.write_bytes(b"one\r\ntwo\r\nthree")
    file.chmod(0o755)
    script = [
        one("edit_file", path="crlf.sh", old_text="one\ntwo", new_text="ONE\nTWO \\1 $&"),
        one("finish", result="ok"),
    ]
    with serving(*script) as gateway:
        got = go(tmp_path, workshop, gateway)
    assert got.of("tool.finished")[0].outcome == "success"
    assert file.read_bytes() == b"ONE\r\nTWO \\1 $&\r\nthree"
    assert file.stat().st_mode & 0o777 == 0o755


def test_files_that_will_run_are_marked_in_the_changes(tmp_path: Path, workshop: Workshop) -> None:
    script = [
        one("write_file", path=".github/workflows/ci.yml", content="on: push\n"),
        one("run_shell", command="printf '#!/bin/sh\n' > Makefile; rm check.py; printf '\\0\\1' > blob.bin"),
        one("finish", result="ok"),
    ]
    with serving(*script) as gateway:
        got = go(tmp_path, workshop, gateway)
    files = {file.path: file for file in got.of("changes.updated")[-1].files}
    assert {path: file.status for path, file in files.items()} == {
        ".github/workflows/ci.yml": "added",
        "Makefile": "added",
        "blob.bin": "added",
        "check.py": "deleted",
    }
    assert {path for path, file in files.items() if file.will_run} == {".github/workflows/ci.yml", "Makefile"}
    assert files["blob.bin"].binary


def test_nothing_changes_after_the_last_patch(tmp_path: Path, workshop: Workshop) -> None:
    """What still ran in the background is ended before the change set is taken, not after."""
    ticking = "while :; do echo x >> ticking; read -t 0.002 </dev/zero; done"
    script = [one("run_shell", command=ticking, background=True), one("finish", result="ok")]
    with serving(*script) as gateway:
        got = go(tmp_path, workshop, gateway)
    patch = gateway.blobs[got.of("changes.updated")[-1].patch_sha256]
    ticks = (workshop.workspace / "ticking").read_bytes().count(b"x")
    assert ticks > 20  # control: it ran
    assert patch.count(b"\n+x") == ticks


def test_a_workshop_that_keeps_silent_at_the_end_is_told_of(tmp_path: Path, workshop: Workshop) -> None:
    """Nobody takes an older change set for the last one without a word."""

    def freeze(_request: object) -> Json:
        os.kill(workshop.process.pid, signal.SIGSTOP)
        return one("finish", result="ok")

    script = [one("write_file", path="kept.txt", content="x\n"), one("run_shell", command="sleep 0.5"), freeze]
    with serving(*script) as gateway:
        snap = snapshot(SOLO, url=gateway.url)
        got = run(tmp_path / "x", snap, socket=workshop.socket_path, changes_last_seconds=1.0)
        os.kill(workshop.process.pid, signal.SIGCONT)
    assert [file.path for file in got.of("changes.updated")[-1].files] == ["kept.txt"]  # control: it was read before
    [told] = got.of("error.raised")
    assert (told.error.kind, told.error.message.split("; ")[0]) == (
        "workshop_lost", "the change set could not be read within 1 seconds",
    )  # fmt: skip


def test_the_seconds_of_a_run_end_it_in_the_middle_of_a_command(tmp_path: Path, workshop: Workshop) -> None:
    script = [one("write_file", path="kept.txt", content="x\n"), one("run_shell", command="sleep 60")]
    with serving(*script) as gateway:
        snap = snapshot(SOLO, url=gateway.url, budget={"steps": 9, "seconds": 2})
        got = run(tmp_path / "x", snap, socket=workshop.socket_path)
    assert (got.message.error_kind, got.message.reason) == ("deadline", "DeadlineExceeded")
    assert [event.kind for event in got.of("budget.warned")] == ["seconds"]
    assert [file.path for file in got.of("changes.updated")[-1].files] == ["kept.txt"]


def test_it_stays_within_reach_of_what_is_stored_and_prints_again_on_request(
    tmp_path: Path, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = 400_000
    monkeypatch.setattr("guildhall_contracts.limits.LOG_AHEAD_MAX_BYTES", bound)
    (workshop.workspace / "big.txt").write_text("0123456789abcde\n" * 1_900)
    with serving(*[one("read_file", path="big.txt")] * 30, one("finish", result="ok")) as gateway:
        gateway.store_everything = False
        out = tmp_path / "x" / "stdout-1"

        def printed() -> bytes:
            return out.read_bytes() if out.exists() else b""

        with ThreadPoolExecutor(1) as threads:
            running_it = threads.submit(go, tmp_path, workshop, gateway)
            until(lambda: len(printed()) > bound, 60)
            time.sleep(0.5)
            stuck = len(printed())
            assert stuck < bound + 2 * 40_000
            asked = len(gateway.requests)
            time.sleep(1)
            assert len(printed()) == stuck, "it went on without being acknowledged"
            assert len(gateway.requests) == asked < 30
            last = json.loads(printed().splitlines()[-1])["seq"]
            gateway.post(stored_seq=3, resend_from=4)
            until(lambda: len(printed()) >= 2 * stuck - 10_000, 60)
            assert json.loads(printed()[stuck:].splitlines()[0])["seq"] == 4
            gateway.store_everything = True
            gateway.post(stored_seq=last)
            got = running_it.result(60)
    assert got.message.outcome == "succeeded"
    assert len(gateway.requests) == 31
