"""The loop as a pure function: what each ordinary input, and each ordinary bad input, does to a Run."""

import json
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.errors import error_info
from guildhall_contracts.model_api import AssistantMessage, ToolMessage
from guildhall_contracts.snapshot import RunSnapshot
from guildhall_executor.effects import CallModel, Emit, RunTool, Seal, StopWork, TakeChanges
from guildhall_executor.inputs import Broken, Replied, Tick, ToolEnded
from guildhall_executor.tools.result import ToolResult, block
from support.executor_loop import Story, call
from support.executor_run import SOLO, TEAM, role, snapshot


def solo(**fields: Any) -> Story:
    return Story(snapshot(SOLO, **fields))


def team(**fields: Any) -> Story:
    return Story(snapshot(TEAM, **fields))


def tool_names(story: Story) -> list[str]:
    """The tools in the newest model request."""
    return [tool["name"] for tool in json.loads(story.asked.tools)]


# Beginning and ending


def test_a_run_begins_with_its_task_and_asks_the_entry_role() -> None:
    story = team()
    assert story.types == ["run.started", "role.started", "model.started"]
    started, entered, asking = story.events
    assert (started.op, started.source, started.destination) == ("o1", "human", "role:planner")
    assert (entered.op, entered.brief) == ("o1", "Make the tests pass.")
    assert (asking.op, asking.parent, asking.call_id) == ("o3", "o1", "c1")
    system, task = story.messages
    assert [part.label for part in system.content] == ["frame", "role planner", "delegates"]  # type: ignore[union-attr]
    assert task.content[0].origin == "person"  # type: ignore[union-attr]


def test_a_schedules_task_is_said_to_be_one() -> None:
    (task,) = solo(origin="schedule").messages[1].content
    assert (task.origin, task.authority, task.label) == ("schedule", "instruction", "task")  # type: ignore[union-attr]


def test_finish_takes_the_changes_before_it_seals() -> None:
    story = solo().reply("", call("finish", {"result": "**Done** it", "artifacts": ["a"]}))
    assert isinstance(story.effects[-1], TakeChanges)
    assert "run.finished" not in story.types
    story.taken()
    assert story.types[-3:] == ["role.finished", "run.summarized", "run.finished"]
    finished = story.last("run.finished")
    assert (finished.outcome, finished.result, finished.artifacts) == ("succeeded", "**Done** it", ["a"])
    assert (finished.op, finished.parent) == (f"o{finished.seq}", "o1")
    assert story.last("run.summarized").summary == "Done it"
    assert isinstance(story.effects[-1], Seal)
    assert story.effects[-1].outcome == "succeeded"


def test_nothing_happens_after_the_end() -> None:
    story = solo().reply("done")
    before = len(story.events)
    story.put(Tick()).interrupt("cancel").put(Broken(error=error_info("internal", "late")))
    assert len(story.events) == before
    story.taken().taken()
    assert story.types.count("run.finished") == 1


def test_what_nobody_waits_for_is_ignored() -> None:
    story = solo()
    old = story.effects[-1]
    assert isinstance(old, CallModel)
    story.reply("", call("list_files"))
    before = story.types
    story.put(ToolEnded(op="o999", result=ToolResult(blocks=[block("x")])))
    assert story.types == before
    assert story.result("a").tools_run == ["list_files"]


# Tools


def test_reads_of_one_reply_overlap_and_results_keep_their_order() -> None:
    calls = [call("read_file", {"path": f"{n}.txt"}, f"id{n}") for n in range(3)]
    story = solo().reply("look", *calls)
    assert len(story.tools_run) == 3
    for number in (2, 0, 1):
        assert len(story.of("model.started")) == 1
        story.result(f"text {number}", of=f"id{number}")
    results = [m for m in story.messages if isinstance(m, ToolMessage)]
    assert [m.call for m in results] == ["id0", "id1", "id2"]
    assert [m.content[0].text for m in results] == ["text 0", "text 1", "text 2"]
    assert isinstance(story.messages[2], AssistantMessage)
    assert [e.title for e in story.of("tool.started")] == ["read 0.txt", "read 1.txt", "read 2.txt"]
    assert all(e.parent == "o1" and e.destination == "tool:read_file" for e in story.of("tool.started"))


def test_a_repeated_call_id_is_told_apart() -> None:
    story = solo().reply("", call("list_files", {}, "same"), call("list_files", {"depth": 2}, "same"))
    story.result("one").result("two")
    asked = story.messages[2]
    assert isinstance(asked, AssistantMessage)
    ids = [c.id for c in asked.tool_calls]
    assert len(set(ids)) == 2
    assert [m.call for m in story.messages if isinstance(m, ToolMessage)] == ids


BAD_CALLS = {
    "unknown tool": (call("launch_rocket"), "unknown_tool", "read_file"),
    "tool of another role": (call("delegate", {"role": "solo", "brief": "x"}), "unknown_tool", "Its tools are"),
    "homoglyph": (call("re\u0430d_file", {"path": "a"}), "unknown_tool", "read_file"),
    "empty name": (call("", {}), "unknown_tool", "read_file"),
    "cut JSON": (call("write_file", '{"path": "a", "content": "hal'), "invalid_arguments", "not executed"),
    "no object": (call("read_file", "[1]"), "invalid_arguments", "not executed"),
    "not JSON": (call("read_file", "path=a"), "invalid_arguments", "not executed"),
    "NaN": (call("read_file", '{"path": "a", "start_line": NaN}'), "invalid_arguments", "not executed"),
    "key twice": (call("read_file", '{"path": "a", "path": "b"}'), "invalid_arguments", "not executed"),
    "unknown key": (call("read_file", {"path": "a", "mode": "rw"}), "invalid_arguments", "'mode'"),
    "wrong type": (call("read_file", {"path": 7}), "invalid_arguments", "'path'"),
    "number as text": (call("read_file", {"path": "a", "start_line": "3"}), "invalid_arguments", "'start_line'"),
    "missing": (call("edit_file", {"path": "a"}), "invalid_arguments", "'old_text'"),
    "empty search text": (
        call("edit_file", {"path": "a", "old_text": "", "new_text": "b"}),
        "invalid_arguments",
        "old",
    ),
    "deep": (call("read_file", '{"path": ' + "[" * 100_000 + "]" * 100_000 + "}"), "invalid_arguments", "not executed"),
    "lone surrogate": (call("read_file", '{"path": "\\ud800"}'), "invalid_arguments", "not executed"),
    "empty plan step": (call("update_plan", {"items": [{"text": ""}]}), "invalid_arguments", "items"),
    "finish without result": (call("finish", {}), "invalid_arguments", "'result'"),
    "finish with empty result": (call("finish", {"result": ""}), "invalid_arguments", "'result'"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_bad_call_is_refused_told_and_seen(name: str) -> None:
    bad, code, said = BAD_CALLS[name]
    story = solo().reply("", bad)
    assert story.tools_run == []
    ended = story.last("tool.finished")
    assert (ended.outcome, ended.error_code) == ("error", code)
    assert story.last("tool.started").destination == "tools"
    assert said in story.shown
    assert story.messages[-1].is_error  # type: ignore[union-attr]
    assert story.state.ending is None
    control = story.reply("", call("read_file", {"path": "a"}))
    assert control.tools_run == ["read_file"]


ASKS_FIRST = {"effect": "write", "approval": True, "allowedInPrivate": True, "allowedWithoutUserPresent": True}


def test_policy_is_asked_when_the_call_is_made() -> None:
    story = Story(snapshot(SOLO | {"tools": {"run_shell": ASKS_FIRST}})).reply("", call("run_shell", {"command": "ls"}))
    assert story.tools_run == []
    assert story.last("approval.requested").tool == "run_shell"
    control = Story(snapshot(SOLO)).reply("", call("run_shell", {"command": "ls"}))
    assert control.tools_run == ["run_shell"]


def test_a_scheduled_run_has_no_tool_that_needs_a_yes() -> None:
    """Nobody is there to give one: refusing every call would cost steps and say nothing."""
    guild = SOLO | {"tools": {"run_shell": ASKS_FIRST}}
    alone = Story(snapshot(guild, mode="scheduled"))
    assert "run_shell" not in tool_names(alone)
    assert "read_file" in tool_names(alone), "control: the others are there"
    assert "run_shell" in tool_names(Story(snapshot(guild))), "control: a person's own Run has it"
    assert "run_shell" in tool_names(Story(snapshot(SOLO, mode="scheduled"))), "control: and so has what needs no yes"
    alone.reply("", call("run_shell", {"command": "ls"}))
    assert alone.tools_run == []
    assert alone.last("tool.finished").error_code == "unknown_tool"


def test_a_snapshot_that_gives_a_scheduled_run_such_a_tool_all_the_same_runs_no_call_of_it() -> None:
    """One frozen by an older operator: the check at the call stands on its own."""
    guild = SOLO | {"tools": {"run_shell": ASKS_FIRST}}
    as_if_attended = snapshot(guild).to_wire() | {"mode": "scheduled"}
    alone = Story(RunSnapshot.model_validate(as_if_attended))
    assert "run_shell" in tool_names(alone)
    alone.reply("", call("run_shell", {"command": "ls"}))
    assert alone.tools_run == []
    assert alone.last("tool.finished").error_code == "tool_denied"


def test_private_runs_lose_what_policy_keeps_from_them() -> None:
    policy = {"effect": "write", "allowedInPrivate": False, "allowedWithoutUserPresent": True}
    guild = SOLO | {"tools": {"write_file": policy}}
    private = Story(snapshot(guild, private=True, deliver="none"))
    assert "write_file" not in tool_names(private)
    private.reply("", call("write_file", {"path": "a", "content": "b"}))
    assert private.tools_run == []
    public = Story(snapshot(guild)).reply("", call("write_file", {"path": "a", "content": "b"}))
    assert public.tools_run == ["write_file"]


def test_a_role_cannot_use_a_tool_its_caller_has() -> None:
    story = team().reply("", call("delegate", {"role": "reviewer", "brief": "look"}))
    story.reply("", call("write_file", {"path": "a", "content": "b"}))
    assert story.tools_run == []
    assert story.last("tool.finished").error_code == "unknown_tool"


# Poor replies


def test_an_empty_reply_gets_one_nudge_and_then_fails() -> None:
    story = solo().reply("", call("list_files")).result().reply("  \n")
    assert "empty" in story.shown
    assert story.state.ending is None
    story.reply("")
    assert story.error is not None
    assert story.error.kind == "llm_refused"
    assert story.error.message.startswith("empty answer")
    assert story.taken().last("run.finished").outcome == "failed"


def test_an_empty_reply_is_forgiven_by_work() -> None:
    story = solo().reply("").reply("", call("list_files")).result().reply("")
    assert story.state.ending is None


def test_a_cut_call_is_never_executed_and_two_end_the_run() -> None:
    cut = call("write_file", '{"path": "a", "content": "')
    story = solo().reply("", cut, stop="max_tokens")
    assert story.tools_run == []
    assert "cut at the output limit" in story.shown
    story.reply("", cut, stop="max_tokens")
    assert story.tools_run == []
    assert story.error is not None
    assert story.error.kind == "context_overflow"
    assert "outputTokens" in story.error.message


def test_a_whole_looking_call_in_a_cut_reply_is_not_executed_either() -> None:
    story = solo().reply("", call("run_shell", {"command": "rm -rf a"}), stop="max_tokens")
    assert story.tools_run == []
    assert [m.call for m in story.messages if isinstance(m, ToolMessage)] == ["t1"]


def test_a_reply_that_ended_nobody_knows_why_is_no_result_and_its_calls_are_not_executed() -> None:
    story = solo().reply("I looked at half of the fi", stop="other")
    assert story.state.ending is None
    assert "broken off" in story.shown
    asks = call("run_shell", {"command": "rm -rf a"})
    again = solo().reply("", asks, stop="other")
    assert again.tools_run == []
    assert [m.call for m in again.messages if isinstance(m, ToolMessage)] == ["t1"]
    again.reply("", asks, stop="other")
    assert again.tools_run == []
    assert again.error is not None
    assert again.error.kind == "llm_refused"
    assert "reason the gateway does not know" in again.error.message
    assert solo().reply("all of it", stop="end").taken().last("run.finished").outcome == "succeeded", "control"


def test_one_broken_reply_is_forgiven_by_work() -> None:
    story = solo().reply("half", stop="other").reply("", call("list_files")).result().reply("half", stop="other")
    assert story.state.ending is None


@pytest.mark.parametrize("stop", ["refusal", "content_filter"])
def test_a_refusal_ends_the_run(stop: str) -> None:
    story = solo().reply("I will not.", stop=stop)
    assert story.error is not None
    assert (story.error.kind, story.error.retryable) == ("llm_refused", False)
    assert "I will not." in story.error.message


def test_a_failed_call_ends_the_run_with_its_kind() -> None:
    story = solo().fails("budget_exhausted", "no money left").taken()
    assert story.last("model.finished").outcome == "error"
    assert story.last("run.finished").error.kind == "budget_exhausted"
    seal = story.effects[-1]
    assert isinstance(seal, Seal)
    assert seal.reason == "BudgetExceeded"


# Context


def fat_story(count: int, size: int) -> Story:
    story = solo(budget={"steps": 1_000, "seconds": 600})
    story.reply("", call("update_plan", {"items": [{"text": "keep this plan", "status": "active"}]}))
    for number in range(count):
        story.reply("", call("read_file", {"path": f"{number}"}, f"id{number}")).result(f"{number}:" + "x" * size)
    return story


def test_overflow_drops_old_tool_output_and_keeps_task_and_plan() -> None:
    story = fat_story(12, 5_000)
    before = len(story.asked.body())
    story.fails("context_overflow")
    assert story.state.ending is None
    assert len(story.asked.body()) < before - 7 * 5_000
    texts = [part.text for m in story.messages if not isinstance(m, AssistantMessage) for part in m.content]
    assert texts[2] == "Make the tests pass."
    assert any("keep this plan" in text for text in texts[:5])
    assert any(text.startswith("11:x") for text in texts)
    assert not any(text.startswith("0:x") for text in texts)
    paired(story)


def paired(story: Story) -> None:
    """Every result follows the call it answers."""
    open_calls: set[str] = set()
    for message in story.messages:
        if isinstance(message, AssistantMessage):
            open_calls = {c.id for c in message.tool_calls}
        elif isinstance(message, ToolMessage):
            assert message.call in open_calls


def test_overflow_that_stays_is_shortened_once_more_and_then_fails() -> None:
    story = fat_story(12, 5_000).fails("context_overflow").fails("context_overflow")
    assert story.state.ending is None
    assert len(story.messages) < 10
    paired(story)
    story.fails("context_overflow")
    assert story.error is not None
    assert story.error.kind == "context_overflow"


def test_replies_cut_short_of_their_limit_have_met_the_window_and_room_is_made() -> None:
    """Most providers say of a full context window only that the reply was cut."""
    story, short = fat_story(12, 5_000), {"usage": {"tokens": 90_000, "outputTokens": 40}}
    before = len(story.asked.body())
    story.reply("half of", stop="max_tokens", **short)
    assert "cut at the output limit" in story.shown, "it may have been the server's own limit: a word first"
    assert len(story.asked.body()) > before
    story.reply("half of", stop="max_tokens", **short)
    assert story.state.ending is None
    assert len(story.asked.body()) < before - 7 * 5_000
    paired(story)
    story.reply("half of", stop="max_tokens", **short)
    assert story.state.ending is None
    assert len(story.messages) < 14
    story.reply("half of", stop="max_tokens", **short)
    assert story.error is not None, "it ends"
    assert story.error.kind == "context_overflow"
    assert "context window is full" in story.error.message


def test_replies_cut_at_their_limit_drop_nothing() -> None:
    full = {"usage": {"tokens": 90_000, "outputTokens": limits.MODEL_OUTPUT_TOKENS_DEFAULT_COUNT - 5}}
    story = fat_story(12, 5_000)
    for _ in range(2):
        story.reply("half of", stop="max_tokens", **full)
    assert story.error is not None
    assert "raise the role's limits.outputTokens" in story.error.message


def test_one_huge_result_can_be_shortened_wherever_it_stands() -> None:
    story = solo().reply("", call("read_file", {"path": "a"})).result("y" * 30_000)
    story.fails("context_overflow")
    assert story.state.ending is None
    assert len(story.asked.body()) < 15_000
    assert "bytes left out here" in story.shown


def test_a_history_too_long_for_a_request_is_shortened_before_it_is_sent() -> None:
    story = fat_story(1, 10)
    rounds = limits.MODEL_REQUEST_MAX_BYTES // 900_000
    for number in range(rounds):
        story.reply("", call("read_file", {"path": "b"}, f"b{number}")).result("z" * 900_000)
    assert len(story.asked.body()) < limits.MODEL_REQUEST_MAX_BYTES
    paired(story)


# Delegation


def test_a_delegate_works_alone_and_its_report_comes_back() -> None:
    story = team().reply("", call("delegate", {"role": "coder", "brief": "repair add"}, "d1"))
    started = story.last("role.started")
    assert (started.parent, started.source, started.destination) == ("o1", "role:planner", "role:coder")
    assert (started.op, started.call) == (f"o{started.seq}", "d1")
    assert [m.kind for m in story.messages] == ["system", "user"]
    assert story.messages[1].content[0].label == "brief from role planner"  # type: ignore[union-attr]
    story.reply("", call("list_files"))
    assert story.last("tool.started").parent == started.op
    story.result().reply("", call("finish", {"result": "repaired"}))
    ended = story.last("role.finished")
    assert (ended.op, ended.outcome, ended.summary) == (started.op, "success", "repaired")
    report = story.messages[-1]
    assert isinstance(report, ToolMessage)
    assert (report.call, report.content[0].text, report.content[0].authority) == ("d1", "repaired", "data")
    assert story.state.ending is None


def test_calls_beside_a_delegation_keep_their_order() -> None:
    story = team().reply(
        "",
        call("read_file", {"path": "a"}, "1"),
        call("delegate", {"role": "coder", "brief": "b"}, "2"),
        call("read_file", {"path": "c"}, "3"),
    )
    story.result("A").reply("B").result("C")
    assert [m.content[0].text for m in story.messages if isinstance(m, ToolMessage)] == ["A", "B", "C"]


def test_delegation_is_refused_outside_the_guild_and_to_oneself() -> None:
    for name in ("planner", "nobody", "Coder"):
        story = team().reply("", call("delegate", {"role": name, "brief": "b"}))
        assert len(story.roles) == 1
        assert story.last("tool.finished").error_code == "delegation_refused"


def loop_guild() -> dict[str, Any]:
    return {
        "entryRole": "a",
        "roles": [role("a", [], ["b"]), role("b", [], ["a"])],
        "models": {"main": "scripted:test"},
    }


def test_delegation_depth_is_bounded() -> None:
    story = Story(snapshot(loop_guild(), budget={"steps": 1_000, "seconds": 60}))
    for _ in range(1_000):
        name = "b" if story.at_work().role == "a" else "a"
        story.reply("", call("delegate", {"role": name, "brief": "deeper"}))
        if story.of("tool.finished"):
            break
    assert len(story.roles) == limits.DELEGATION_MAX_DEPTH + 1
    assert "DELEGATION_MAX_DEPTH" in story.shown


def test_delegations_of_one_reply_and_of_a_run_are_bounded() -> None:
    story = Story(snapshot(loop_guild(), budget={"steps": 1_000, "seconds": 60}))
    many = [call("delegate", {"role": "b", "brief": f"{n}"}, f"d{n}") for n in range(10)]
    begun = 0
    while begun < limits.DELEGATION_MAX_TOTAL:
        story.reply("", *many)
        while len(story.roles) > 1:
            begun += 1
            story.reply("ok")
    assert begun == limits.DELEGATION_MAX_TOTAL == story.state.delegations
    refused = [event.output for event in story.of("tool.finished")]
    assert sum("DELEGATION_MAX_FAN_OUT" in text for text in refused) == 2 * (limits.DELEGATION_MAX_TOTAL // 8)
    story.reply("", many[0])
    assert "DELEGATION_MAX_TOTAL" in story.shown


# Budgets


def test_steps_warn_at_four_fifths_and_stop_at_the_end() -> None:
    story = solo(budget={"steps": 5, "seconds": 600})
    for _ in range(4):
        assert story.state.ending is None
        story.reply("", call("list_files")).result()
    warned = story.of("budget.warned")
    assert [(w.kind, w.used, w.limit) for w in warned] == [("steps", 4, 5)]
    story.reply("", call("list_files")).result()
    assert story.error is not None
    assert (story.error.kind, story.state.steps) == ("budget_exhausted", 5)
    assert isinstance(story.effects[-1], TakeChanges)


def test_seconds_warn_and_stop_even_in_the_middle_of_a_tool() -> None:
    story = solo(budget={"steps": 5, "seconds": 100}).reply("", call("run_shell", {"command": "sleep 999"}))
    story.seconds = 81
    story.put(Tick())
    assert [w.kind for w in story.of("budget.warned")] == ["seconds"]
    assert story.state.ending is None
    story.seconds = 100
    story.put(Tick())
    assert story.error is not None
    assert story.error.kind == "deadline"
    assert story.last("tool.finished").outcome == "cancelled"
    assert any(isinstance(effect, StopWork) for effect in story.effects)


def test_money_and_tokens_warn_once() -> None:
    story = solo(budget={"steps": 50, "tokens": 100, "costMicroUSD": 1_000})
    totals = {"tokens": 70, "outputTokens": 15, "costMicroUSD": 800}
    for _ in range(2):
        story.reply("", call("list_files"), totals=totals).result()
    assert [(w.kind, w.used) for w in story.of("budget.warned")] == [("tokens", 85), ("cost", 800)]


def test_a_spent_delegate_returns_to_its_caller_and_a_spent_entry_role_ends_the_run() -> None:
    guild = json.loads(json.dumps(TEAM))
    guild["roles"][1]["limits"] = {"steps": 2}
    guild["roles"][0]["limits"] = {"steps": 2}
    story = Story(snapshot(guild)).reply("", call("delegate", {"role": "coder", "brief": "b"}))
    story.reply("", call("list_files")).result().reply("", call("list_files")).result()
    assert story.last("role.finished").outcome == "error"
    assert "limits.steps" in story.shown
    story.reply("", call("read_file", {"path": "a"})).result()
    assert story.error is not None
    assert story.error.kind == "budget_exhausted"


# People and breakage


def test_cancel_stops_the_work_and_keeps_the_changes() -> None:
    story = team().reply("", call("delegate", {"role": "coder", "brief": "b"})).interrupt("cancel")
    assert [type(e) for e in story.effects if not isinstance(e, Emit)][-2:] == [StopWork, TakeChanges]
    assert story.last("model.finished").outcome == "cancelled"
    assert [e.role for e in story.of("role.finished")] == ["coder", "planner"]
    story.taken()
    assert story.last("run.finished").outcome == "cancelled"
    assert story.last("run.finished").error.kind == "interrupted"


def test_a_call_the_gateway_cut_because_of_a_cancel_is_a_cancel() -> None:
    story = solo().fails("interrupted", "the Run was cancelled").taken()
    assert story.last("model.finished").outcome == "error"
    assert story.last("run.finished").outcome == "cancelled"
    assert not story.of("error.raised")


def test_abort_is_seen_as_an_interrupt_and_taken_once() -> None:
    story = solo().interrupt("abort").interrupt("abort")
    assert story.types.count("interrupt.received") == 1
    assert story.state.ending is not None
    assert story.state.ending.outcome == "cancelled"


def test_a_redirect_enters_the_next_request_once() -> None:
    story = solo().reply("", call("list_files")).interrupt("redirect", message="use tabs").interrupt("redirect")
    story.result()
    shown = story.messages[-1]
    assert shown.content[0].text == "use tabs"  # type: ignore[union-attr]
    assert shown.content[0].origin == "person"  # type: ignore[union-attr]
    story.reply("", call("list_files")).result()
    assert sum("use tabs" in str(m) for m in story.messages) == 1


def test_lost_isolation_ends_the_run_with_its_reason() -> None:
    story = solo().reply("", call("run_shell", {"command": "x"}))
    story.put(Broken(error=error_info("internal", "canary answered"), reason="IsolationNotEnforced")).taken()
    seal = story.effects[-1]
    assert isinstance(seal, Seal)
    assert (seal.outcome, seal.reason) == ("failed", "IsolationNotEnforced")
    assert not any(isinstance(e, CallModel | RunTool) for e in story.effects[story.effects.index(StopWork()) :])


def test_a_workshop_lost_too_often_ends_the_run() -> None:
    story = solo()
    for number in range(limits.WORKSHOP_RESTARTS_MAX_COUNT):
        story.reply("", call("run_shell", {"command": "x"})).tool_fails("workshop_lost", "gone")
        assert story.state.ending is None, number
        assert "workshop_lost" in story.shown
    story.reply("", call("run_shell", {"command": "x"})).tool_fails("workshop_lost", "gone")
    assert story.error is not None
    assert (story.error.kind, story.taken().state.ending.reason) == ("workshop_lost", "WorkspaceFailed")  # type: ignore[union-attr]


def test_a_workshop_that_is_being_restarted_is_waited_for() -> None:
    """Nobody answers before the last restart for longer than three calls wait: no call of those is a loss."""
    story = solo()
    for lost in range(limits.WORKSHOP_RESTARTS_MAX_COUNT):
        story.reply("", call("run_shell", {"command": "x"})).tool_fails("workshop_lost", "gone")
        for tried in range(1, 7):
            away = min(tried * 20_000, limits.WORKSHOP_AWAY_MAX_SECONDS * 1_000)
            story.reply("", call("run_shell", {"command": "x"})).tool_fails("workshop_lost", "gone", away=away)
            assert story.state.ending is None, (lost, tried)
    story.reply("", call("run_shell", {"command": "x"})).tool_fails("workshop_lost", "gone")
    assert story.error is not None, "control: the next loss counts"


def test_a_workshop_that_stays_away_ends_the_run() -> None:
    story = solo().reply("", call("run_shell", {"command": "x"}))
    story.tool_fails("workshop_lost", "nobody there", away=limits.WORKSHOP_AWAY_MAX_SECONDS * 1_000 + 1)
    assert story.error is not None
    assert (story.error.kind, story.taken().state.ending.reason) == ("workshop_lost", "WorkspaceFailed")  # type: ignore[union-attr]
    assert "not answered for 120 seconds" in story.error.message
    assert "nobody there" in story.error.message


def test_a_reply_to_an_old_call_changes_nothing() -> None:
    story = solo()
    first = story.asked
    story.reply("", call("list_files")).result()
    second = story.asked
    assert first.call_id != second.call_id
    stale = Replied.model_validate(
        {
            "reply": {
                "callId": first.call_id,
                "text": "old",
                "stopReason": "end",
                "usage": {},
                "model": "scripted:test",
                "totals": {},
            }
        }
    )
    assert story.put(stale).state.ending is None
