"""What runs in pods is found while their cgroups come and go."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from cluster.embedded import ground, leftovers, lifecycle, network
from cluster.embedded.layout import Layout


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


@pytest.mark.parametrize("owner", ["/elsewhere/state", ""], ids=["another cluster's", "nobody's"])
def test_what_is_not_ours_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str) -> None:
    """`down` of a cluster that never came up, beside a node that is somebody's."""
    touched: list[str] = []
    monkeypatch.setattr(leftovers, "OWNER_FILE", tmp_path / "owner")
    monkeypatch.setattr(ground, "check_machine", lambda: None)
    monkeypatch.setattr(lifecycle, "_stop_all", lambda _: touched.append("processes"))
    for name in ("flush_node", "drop_links", "restore_sysctls"):
        monkeypatch.setattr(network, name, lambda *_, name=name: touched.append(name))
    for name in ("remove_cgroups", "remove_new", "unmount"):
        monkeypatch.setattr(leftovers, name, lambda *_, name=name: touched.append(name))
    layout = Layout(cache=tmp_path / "cache", state=tmp_path / "state")
    layout.state.mkdir()
    if owner:
        leftovers.OWNER_FILE.write_text(f"{owner}\n")
    lifecycle.down(layout)
    assert touched == []
    assert not layout.state.exists()
    assert leftovers.owner() == owner

    layout.state.mkdir()
    leftovers.claim(layout)
    lifecycle.down(layout)
    assert touched[0] == "processes", "control: its own it takes away"
    assert "flush_node" in touched
    assert leftovers.owner() == ""
