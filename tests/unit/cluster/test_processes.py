"""A process is ours only by id and start time together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from cluster.embedded import processes
from cluster.embedded.components import Component
from cluster.embedded.errors import StepError
from cluster.embedded.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Layout]:
    layout = Layout(tmp_path / "state", tmp_path / "cache")
    for folder in layout.folders():
        folder.mkdir(parents=True)
    yield layout
    processes.stop(layout, "sleeper", seconds=1)


def _sleeper(seconds: int = 60, reads: tuple[Path, ...] = ()) -> Component:
    code = f"import time; print('started', flush=True); time.sleep({seconds})"
    return Component("sleeper", (sys.executable, "-c", code), reads)


def _reap(pid: int) -> None:
    os.waitpid(pid, 0)


def _pid(layout: Layout) -> int:
    record = processes.record(layout, "sleeper")
    assert record is not None
    return record.pid


@pytest.mark.filterwarnings("ignore:subprocess:ResourceWarning")
def test_ensure_starts_once_and_restarts_on_change(layout: Layout, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("one")
    assert processes.ensure(layout, _sleeper(reads=(config,)))
    first = _pid(layout)
    assert not processes.ensure(layout, _sleeper(reads=(config,)))
    config.write_text("two")
    assert processes.ensure(layout, _sleeper(reads=(config,)))
    assert _pid(layout) != first
    assert processes.start_ticks(first) is None


def test_a_reused_id_is_neither_alive_nor_killed(layout: Layout) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        ticks = processes.start_ticks(stranger.pid)
        assert ticks is not None
        stale = processes.Record(stranger.pid, ticks - 1, "")
        (layout.run / "sleeper.json").write_text(json.dumps(asdict(stale)))
        assert not processes.alive(layout, "sleeper")
        assert not processes.stop(layout, "sleeper")
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_process_that_ignores_the_polite_signal_ends_anyway() -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    )
    deaf = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert deaf.stdout is not None
    assert deaf.stdout.readline() == b"deaf\n"
    processes.end([deaf.pid], seconds=0.3)
    assert deaf.wait(timeout=5) == -9
    deaf.stdout.close()


@pytest.mark.filterwarnings("ignore:subprocess:ResourceWarning")
def test_waiting_for_a_dead_component_fails_with_its_last_words(layout: Layout) -> None:
    broken = Component("sleeper", (sys.executable, "-c", "raise SystemExit('no such flag')"))
    processes.ensure(layout, broken)
    with pytest.raises(StepError, match="no such flag"):
        processes.wait_until(layout, "it", lambda: False, ["sleeper"], seconds=20)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}', "null"])
def test_a_damaged_record_is_no_record(layout: Layout, content: str) -> None:
    (layout.run / "sleeper.json").write_text(content)
    assert processes.record(layout, "sleeper") is None
    assert not processes.alive(layout, "sleeper")
