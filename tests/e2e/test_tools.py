"""Tools in a real pod: read-only root, uid 10001, a memory limit, and the confinement the node's kernel gives."""

import time
from pathlib import Path
from typing import Any

import pytest
from support.code import children, status
from support.installation import Installation, condition, one_role_guild, run_manifest

pytestmark = pytest.mark.cluster
WORKER = b"guildhall_executor.code.worker"


@pytest.fixture(scope="module")
def run(installation: Installation) -> dict[str, Any]:
    """The Run `code`, applied."""
    installation.delete("run", "code")
    guild = one_role_guild("code", "run_code", "read_file", "write_file", "run_shell")
    installation.apply(run_manifest("code", guild=guild))
    return installation.get("run", "code")


def ready_workers() -> list[int]:
    """Workers of pods on this node, which is this machine, that have begun: each has its interpreter below it."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            is_one = WORKER in (place / "cmdline").read_bytes() and b"kubepods" in (place / "cgroup").read_bytes()
        except OSError:
            continue
        if is_one and children(int(place.name)):
            found.append(int(place.name))
    return found


def looked_at() -> list[tuple[dict[str, str], bytes]]:
    """What the kernel says of every worker and interpreter in pods, once there are some."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            pids = [pid for worker in ready_workers() for pid in (worker, *children(worker))]
            if len(pids) > 1:
                return [(status(pid), Path(f"/proc/{pid}/environ").read_bytes()) for pid in pids]
        except OSError:
            continue  # one ended while it was looked at
        time.sleep(0.05)
    raise AssertionError("no worker was seen on this node")


def test_a_worker_in_a_pod_is_confined(run: dict[str, Any]) -> None:
    told = {b"PYTHONPATH", b"PYTHONSAFEPATH", b"PYTHONNOUSERSITE", b"PYTHONDONTWRITEBYTECODE"}
    fixed = {b"LC_ALL", b"MALLOC_ARENA_MAX"}
    for known, environment in looked_at():
        assert known["Uid"].split() == ["10001"] * 4
        assert (known["NoNewPrivs"], known["Seccomp"], known["CapEff"]) == ("1", "2", "0" * 16)
        assert int(known["Seccomp_filters"]) >= 2  # the runtime's and its own
        assert {entry.split(b"=")[0] for entry in environment.split(b"\0") if entry} <= told | fixed


def test_a_run_works_by_code_and_outlives_bad_code(installation: Installation, run: dict[str, Any]) -> None:
    """The scenario checks what the model reads after each step; a mismatch fails the Run."""
    done = condition(installation.wait_done("code", 180), "Succeeded")
    assert (done["status"], done["reason"]) == ("True", "Completed"), done
    events = installation.events_of("code")
    started = [event for event in events if event["type"] == "tool.started"]
    codes = [event["op"] for event in started if event["tool"] == "run_code"]
    inner = [(event["tool"], event["parent"]) for event in started if event.get("parent") in codes]
    assert inner == [("read_file", codes[0]), ("write_file", codes[0]), ("run_shell", codes[5])]
    ended = {event["op"]: event.get("errorCode") for event in events if event["type"] == "tool.finished"}
    assert [ended[op] for op in codes] == [None, "code_killed", "code_killed", "code_killed", "code_error", None]
    files = [event for event in events if event["type"] == "changes.updated"][-1]["files"]
    assert {file["path"] for file in files} == {"numbers.txt", "sum.txt"}
