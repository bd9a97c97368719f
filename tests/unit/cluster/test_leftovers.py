"""What runs in pods is found while their cgroups come and go."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from cluster.embedded import leftovers


def churn(root: Path, stop: threading.Event) -> None:
    """Pods that start and end."""
    while not stop.is_set():
        inner = root / "kubepods" / "pod" / "container"
        inner.mkdir(parents=True)
        (inner / "cgroup.procs").write_text("4194301\n")
        (inner / "cgroup.procs").unlink()
        inner.rmdir()
        inner.parent.rmdir()


def test_processes_are_found_while_pods_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "cgroups", lambda: [tmp_path, tmp_path / "not-there"])
    (tmp_path / "kubepods").mkdir()
    (tmp_path / "kubepods" / "cgroup.procs").write_text("4194302\n4194303\n")
    stop = threading.Event()
    pods = threading.Thread(target=churn, args=(tmp_path, stop))
    pods.start()
    try:
        for _ in range(2_000):
            assert {4194302, 4194303} <= leftovers.contained() <= {4194301, 4194302, 4194303}
    finally:
        stop.set()
        pods.join()


def test_the_innermost_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "cgroups", lambda: [tmp_path / "ours", tmp_path / "not-there"])
    (tmp_path / "ours" / "kubepods" / "pod").mkdir(parents=True)
    leftovers.remove_cgroups()
    assert not (tmp_path / "ours").exists()
