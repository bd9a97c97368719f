"""The tools against the real workshop binary: a planner, a coder and a reviewer repair a small project."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from guildhall_contracts.model_api import ToolMessage
from support.executor_gateway import FakeGateway, calls, one, serving, tool_call
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
