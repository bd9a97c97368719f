"""Whole Runs as told to the loop, against the events they must give, byte for byte. `UPDATE=1` writes them anew."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from guildhall_api.fold import fold_all
from guildhall_contracts.errors import error_info
from guildhall_contracts.events import encode_event
from guildhall_executor.inputs import Answered, Broken, Decided, Resumed, Tick
from support.executor_loop import Story, call
from support.executor_run import SOLO, TEAM, role, snapshot

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


def people_and_parallel_roles() -> Story:
    """Two delegates at once; one asks a person and for a yes, the other is asked something and redirected."""
    tools = ["read_file", "run_shell", "ask_human"]
    roles = [role("planner", ["read_file"], ["coder", "tester"]), role("coder", tools), role("tester", tools)]
    asks = {"effect": "write", "approval": True, "allowedInPrivate": True, "allowedWithoutUserPresent": True}
    guild = {"entryRole": "planner", "roles": roles, "models": {"main": "scripted:test"}, "tools": {"run_shell": asks}}
    story = Story(snapshot(guild))
    parts = [call("delegate", {"role": name, "brief": f"As {name}."}, name) for name in ("coder", "tester")]
    story.reply("Both at once.", *parts)
    asked = [
        call("ask_human", {"question": "Which?", "options": ["a", "b"]}, "q"),
        call("run_shell", {"command": "x"}, "s"),
    ]
    story.reply("", *asked, role="coder")
    story.interrupt("inquire", "i1", "How far?")
    story.reply("", call("read_file", {"path": "a"}, "r"), role="tester").interrupt("redirect", "i2", "Use tabs.")
    story.put_reply(story.state.inquiries[0].wait.call_id, "Half way.").result("text")
    approval, question = story.last("approval.requested"), story.last("question.asked")
    given = {"approval_id": approval.approval_id, "arguments_hash": approval.arguments_hash, "decision": "approve"}
    story.put(Decided.model_validate(given | {"item": "i3", "author": "ann"}))
    story.reply("Tested.", role="tester")
    story.put(Answered(item="i4", question_id=question.question_id, text="a", author="bob"))
    story.result("made").reply("Done.", role="coder").reply("All done.")
    return story.taken()


STORIES: dict[str, Callable[[], Story]] = {
    story.__name__: story
    for story in (
        team_succeeds,
        refused_calls,
        cancelled_in_a_tool,
        deadline,
        resumed,
        isolation_lost,
        people_and_parallel_roles,
    )
}


@pytest.mark.parametrize("name", STORIES)
def test_a_story_gives_its_events(name: str) -> None:
    path = HERE / f"{name}.jsonl"
    told = b"".join(encode_event(event) for event in STORIES[name]().events)
    if os.environ.get("UPDATE"):
        path.write_bytes(told)
    assert told == path.read_bytes()


@pytest.mark.parametrize("name", STORIES)
def test_before_a_story_ends_nothing_but_its_task_is_open(name: str) -> None:
    """At `run.finished` the fold closes what was forgotten; an executor that forgets nothing leaves it no such work."""
    events = STORIES[name]().events
    assert events[-1].type == "run.finished"
    operations = fold_all(events[:-1]).to_wire()["operations"]
    assert [operation["id"] for operation in operations if "endedAt" not in operation] == ["o1"]
    assert fold_all(events).to_wire()["run"]["status"] in ("succeeded", "failed", "cancelled")
