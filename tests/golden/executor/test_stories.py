"""Whole Runs as told to the loop, against the events they must give, byte for byte. `UPDATE=1` writes them anew."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from guildhall_contracts.errors import error_info
from guildhall_contracts.events import encode_event
from guildhall_executor.inputs import Broken, Resumed, Tick
from support.executor_loop import Story, call
from support.executor_run import SOLO, TEAM, snapshot

HERE = Path(__file__).resolve().parent


def team_succeeds() -> Story:
    plan = [{"text": "repair", "status": "active"}, {"text": "check"}]
    story = Story(snapshot(TEAM)).reply("First a plan.", call("update_plan", {"items": plan}))
    story.reply("", call("delegate", {"role": "coder", "brief": "Repair add."}, "d1"))
    story.reply("", call("read_file", {"path": "calc.py"}, "r1"), call("run_shell", {"command": "make test"}, "r2"))
    story.result("def add(a, b):\n    return a - b").tool_fails("exit_status", "1 failed")
    story.reply("", call("edit_file", {"path": "calc.py", "old_text": "-", "new_text": "+"}, "e1")).result("replaced")
    story.reply("", call("finish", {"result": "Repaired."}))
    story.reply("", call("delegate", {"role": "reviewer", "brief": "Check."}, "d2")).reply("It holds.")
    story.reply("", call("finish", {"result": "# Repaired", "summary": "Repaired add", "artifacts": ["calc.py"]}))
    return story.taken()


def refused_calls() -> Story:
    story = Story(snapshot(SOLO)).reply("", call("rocket", {}, "1"), call("read_file", "{", "2"))
    return story.reply("").reply("").taken()


def cancelled_in_a_tool() -> Story:
    story = Story(snapshot(SOLO)).reply("", call("run_shell", {"command": "sleep 60"}))
    return story.interrupt("abort", message="enough").taken()


def deadline() -> Story:
    story = Story(snapshot(SOLO, budget={"steps": 5, "seconds": 10}))
    story.seconds = 9
    story.put(Tick())
    story.seconds = 10
    return story.put(Tick()).taken()


def resumed() -> Story:
    story = Story(snapshot(SOLO)).reply("", call("run_shell", {"command": "make"}))
    return story.put(Resumed(), attempt=2).reply("Done.").taken()


def isolation_lost() -> Story:
    story = Story(snapshot(SOLO))
    return story.put(Broken(error=error_info("internal", "answered"), reason="IsolationNotEnforced")).taken()


STORIES: dict[str, Callable[[], Story]] = {
    story.__name__: story
    for story in (team_succeeds, refused_calls, cancelled_in_a_tool, deadline, resumed, isolation_lost)
}


@pytest.mark.parametrize("name", STORIES)
def test_a_story_gives_its_events(name: str) -> None:
    path = HERE / f"{name}.jsonl"
    told = b"".join(encode_event(event) for event in STORIES[name]().events)
    if os.environ.get("UPDATE"):
        path.write_bytes(told)
    assert told == path.read_bytes()
