"""A8: code reaches no tool its role lacks, by whatever name or number it asks; the workspace shows what took effect."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.model_api import ToolMessage
from support.executor_gateway import one, serving
from support.executor_run import role, run, snapshot
from support.workshop import Workshop, with_one_file

pytestmark = pytest.mark.go
WRITES = """
made = []
for name, call in (
    ("write_file", lambda: write_file("made.txt", "x")),
    ("run_shell", lambda: run_shell("echo x > made.txt")),
    ("edit_file", lambda: edit_file("a.txt", "one", "two")),
    ("run_code", lambda: run_code("1")),
    ("delegate", lambda: delegate("writer", "write made.txt")),
    ("finish", lambda: finish("done by code")),
    ("mail__send", lambda: mail__send(to="x")),
):
    try:
        made.append([name, call()["error_code"]])
    except NameError:
        made.append([name, "no such name"])
made
"""


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    with with_one_file(tmp_path / "w") as server:
        yield server


def guild(tools: list[str]) -> dict[str, Any]:
    roles = [role("solo", tools, ["writer"]), role("writer", ["write_file", "run_shell", "edit_file"])]
    return {"entryRole": "solo", "roles": roles, "models": {"main": "scripted:test"}}


def tried(base: Path, workshop: Workshop, spec: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """What each attempt of the code came to, by the tool's name."""
    with serving(one("run_code", code=WRITES), one("finish", result="ok")) as gateway:
        outcome = run(base, snapshot(spec, url=gateway.url, **fields), socket=workshop.socket_path)
    assert outcome.message.outcome == "succeeded"
    (read,) = [message for message in gateway.requests[-1].messages if isinstance(message, ToolMessage)]
    return dict(json.loads(read.content[0].text.split("\n", 1)[1]))


def test_code_of_a_role_that_only_reads_changes_nothing(tmp_path: Path, workshop: Workshop) -> None:
    came_to = tried(tmp_path / "x", workshop, guild(["run_code", "read_file"]))
    assert set(came_to.values()) == {"no such name"}
    assert (tmp_path / "w/workspace/a.txt").read_text() == "one\n"
    assert not (tmp_path / "w/workspace/made.txt").exists()
    control = tried(tmp_path / "y", workshop, guild(["run_code", "write_file", "run_shell", "edit_file"]))
    assert [control[name] for name in ("write_file", "run_shell", "edit_file")] == [None, None, None]
    assert {control[name] for name in ("run_code", "delegate", "finish", "mail__send")} == {"no such name"}
    assert (tmp_path / "w/workspace/a.txt").read_text() == "two\n"
    assert (tmp_path / "w/workspace/made.txt").read_text() == "x\n"


def test_code_in_a_run_nobody_watches_has_the_tools_of_such_a_run(tmp_path: Path, workshop: Workshop) -> None:
    """A Guild may say that a tool needs a person present: then a scheduled Run's code has it no more than its role."""
    spec = guild(["run_code", "write_file", "run_shell", "edit_file"]) | {
        "tools": {"run_shell": {"effect": "write", "allowedInPrivate": True, "allowedWithoutUserPresent": False}}
    }
    assert tried(tmp_path / "x", workshop, spec, mode="scheduled")["run_shell"] == "no such name"
    assert tried(tmp_path / "y", workshop, spec)["run_shell"] is None
