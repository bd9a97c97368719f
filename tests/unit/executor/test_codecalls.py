"""Calls that code makes: checked like the role's own, told as operations under the code's, answered to the code."""

import json
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.model_api import ToolMessage
from guildhall_executor.effects import AnswerCode, AskApproval, RunTool, StopWork
from guildhall_executor.inputs import CodeCalled, Decided, Resumed, Tick, ToolEnded
from guildhall_executor.moments import GRACE_SECONDS
from guildhall_executor.tools.result import ToolResult, block
from support.executor_loop import Story, call
from support.executor_run import TEAM, role, snapshot

TOOLS = ["run_code", "read_file", "write_file", "run_shell", "update_plan", "ask_human"]
CODER: dict[str, Any] = {
    "entryRole": "solo",
    "roles": [role("solo", TOOLS)],
    "models": {"main": "scripted:test"},
}
WRITE = {"path": "a", "content": "b"}


def coding(guild: dict[str, Any] | None = None, **fields: Any) -> Story:
    """A role whose code is running."""
    return Story(snapshot(guild or CODER, **fields)).reply("", call("run_code", {"code": "1"}, "k1"))


def code_op(story: Story) -> str:
    found: list[str] = [event.op for event in story.of("tool.started") if event.tool == "run_code"]
    return found[0]


def calls_tool(story: Story, tool: str, arguments: Any = None, number: int = 1) -> Story:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return story.put(CodeCalled(op=code_op(story), id=number, tool=tool, arguments=text))


def inner(story: Story) -> list[str]:
    """The operations of calls that code made and that run."""
    return [one.op for invocation in story.roles for one in invocation.inner if one.stage == "running"]


def end(story: Story, op: str, text: str = "done") -> Story:
    return story.put(ToolEnded(op=op, result=ToolResult(blocks=[block(text)])))


def answers(story: Story) -> list[tuple[int, str | None]]:
    return [(e.id, e.result.error_code) for e in story.effects if isinstance(e, AnswerCode)]


def test_code_is_lent_the_tools_of_its_role_that_work_on_data() -> None:
    effect = next(e for e in coding().effects if isinstance(e, RunTool))
    assert effect.functions == ("read_file", "write_file", "run_shell")
    assert effect.history == coding().roles[0].history
    control = Story(snapshot(CODER)).reply("", call("read_file", {"path": "a"}))
    assert next(e for e in control.effects if isinstance(e, RunTool)).history == ()


def test_a_call_is_an_operation_under_the_code_s_and_answers_the_code() -> None:
    story = coding()
    calls_tool(story, "read_file", {"path": "a"})
    started = story.last("tool.started")
    assert (started.tool, started.parent, started.role) == ("read_file", code_op(story), "solo")
    assert started.arguments_sha256
    end(story, inner(story)[0], "line")
    finished = story.last("tool.finished")
    assert (finished.op, finished.outcome, finished.output) == (started.op, "success", "line")
    assert answers(story) == [(1, None)]
    assert story.last("model.started").seq < started.seq  # nothing of it went to the model
    end(story, code_op(story), "the value")
    (message,) = [m for m in story.messages if isinstance(m, ToolMessage)]
    assert (message.call, message.content[0].text) == ("k1", "the value")


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("edit_file", {"path": "a", "old_text": "b", "new_text": "c"}, "unknown_tool"),  # not a tool of this role
        ("nonsense", {}, "unknown_tool"),
        ("rеad_file", {"path": "a"}, "unknown_tool"),  # a Cyrillic letter
        ("finish", {"result": "x"}, "unknown_tool"),
        ("update_plan", {"items": []}, "unknown_tool"),
        ("delegate", {"role": "solo", "brief": "x"}, "unknown_tool"),
        ("run_code", {"code": "1"}, "unknown_tool"),
        ("ask_human", {"question": "?"}, "unknown_tool"),
        ("read_file", {}, "invalid_arguments"),
        ("read_file", {"path": "a", "more": 1}, "invalid_arguments"),
        ("read_file", '{"path": "a", "path": "b"}', "invalid_arguments"),
        ("read_file", '{"path": NaN}', "invalid_arguments"),
        ("read_file", "[" * 5_000, "invalid_arguments"),
    ],
)
def test_a_call_the_role_could_not_make_is_refused(tool: str, arguments: Any, code: str) -> None:
    story = coding()
    before = story.tools_run
    calls_tool(story, tool, arguments)
    assert answers(story) == [(1, code)]
    assert story.tools_run == before
    assert story.state.ending is None
    assert story.last("tool.finished").error_code == code
    assert not story.roles[0].inner
    calls_tool(story, "read_file", {"path": "a"}, 2)  # the control
    assert story.tools_run == [*before, "read_file"]


def test_policy_holds_for_code_as_for_the_model() -> None:
    """A tightened tool is refused to both; a Run in which nobody is present loses it for both."""
    guild = CODER | {"tools": {"write_file": {"effect": "consequential"}}}
    story = coding(guild)
    calls_tool(story, "write_file", WRITE)
    assert story.tools_run == ["run_code"]
    control = coding()
    calls_tool(control, "write_file", WRITE)
    assert control.tools_run == ["run_code", "write_file"]


def test_a_delegate_s_code_reaches_what_the_chain_grants_and_no_more() -> None:
    """The reviewer lists run_shell; who called it cannot grant it, so its code has it neither."""
    guild: dict[str, Any] = {
        "entryRole": "planner",
        "roles": [
            role("planner", ["read_file"], ["reader"]),
            role("reader", ["read_file", "run_code"], ["shell"]),
            role("shell", ["read_file", "run_code", "run_shell"]),
        ],
        "models": {"main": "scripted:test"},
    }
    story = Story(snapshot(guild)).reply("", call("delegate", {"role": "reader", "brief": "b"}, "d1"))
    story.reply("", call("delegate", {"role": "shell", "brief": "b"}, "d2"), role="reader")
    story.reply("", call("run_code", {"code": "1"}, "k1"), role="shell")
    assert [e.functions for e in story.effects if isinstance(e, RunTool)] == [("read_file",)]
    calls_tool(story, "run_shell", {"command": "id"})
    assert answers(story) == [(1, "unknown_tool")]
    direct: dict[str, Any] = guild | {"entryRole": "shell"}
    control = coding(direct)
    calls_tool(control, "run_shell", {"command": "id"})
    assert control.tools_run == ["run_code", "run_shell"]


def test_a_write_of_code_waits_for_the_workspace_like_any_other() -> None:
    team = TEAM | {"roles": [TEAM["roles"][0], role("coder", TOOLS), TEAM["roles"][2]]}
    two = [call("delegate", {"role": name, "brief": "b"}, name) for name in ("coder", "reviewer")]
    team["roles"][0] = role("planner", ["read_file", "write_file", "run_shell", "run_code"], ["coder", "reviewer"])
    story = Story(snapshot(team)).reply("", *two)
    story.reply("", call("run_code", {"code": "1"}, "k1"), role="coder")
    story.reply("", call("run_shell", {"command": "make"}, "s1"), role="reviewer")
    calls_tool(story, "write_file", WRITE)
    assert story.tools_run == ["run_code", "run_shell"]
    story.result(of="s1")
    assert story.tools_run == ["run_code", "run_shell", "write_file"]


def test_code_that_counts_as_writing_does_not_wait_for_itself() -> None:
    story = coding(CODER | {"tools": {"run_code": {"effect": "write", "allowedInPrivate": True}}})
    assert story.state.writer == code_op(story)
    calls_tool(story, "write_file", WRITE)
    assert story.tools_run == ["run_code", "write_file"]
    end(story, inner(story)[0])
    assert story.state.writer == code_op(story)
    end(story, code_op(story))
    assert story.state.writer == ""


def test_code_comes_alone_in_a_reply_since_it_may_write() -> None:
    reads = call("read_file", {"path": "a"}, "r1")
    story = Story(snapshot(CODER)).reply("", reads, call("run_code", {"code": "1"}, "k1"))
    assert story.tools_run == ["read_file"]
    story.result(of="r1")
    assert story.tools_run == ["read_file", "run_code"]


def test_code_that_ends_leaves_nothing_open() -> None:
    """Killed while it waited for one tool and queued for another: both end, the tool is stopped, the workspace free."""
    story = coding()
    calls_tool(story, "write_file", WRITE, 1)
    calls_tool(story, "write_file", WRITE, 2)
    running = inner(story)[0]
    assert story.state.writer == running
    assert len(story.state.queue) == 1
    story.tool_fails("code_killed", of="k1")
    assert StopWork(running) in story.effects
    assert [e.outcome for e in story.of("tool.finished")] == ["cancelled", "error"]
    assert (story.state.writer, story.state.queue, story.roles[0].inner) == ("", (), ())
    story.reply("", call("write_file", WRITE, "w1"))
    assert story.tools_run[-1] == "write_file"


def test_a_late_result_of_a_call_whose_code_is_gone_changes_nothing() -> None:
    story = coding()
    calls_tool(story, "read_file", {"path": "a"})
    late = inner(story)[0]
    story.tool_fails("code_killed", of="k1")
    before = len(story.events)
    end(story, late)
    assert len(story.events) == before


@pytest.mark.parametrize("op", ["o1", "o99"])
def test_a_call_of_code_that_does_not_run_is_ignored(op: str) -> None:
    story = coding()
    before = len(story.events)
    story.put(CodeCalled(op=op, id=1, tool="read_file", arguments='{"path": "a"}'))
    assert len(story.events) == before


def test_only_code_makes_calls() -> None:
    story = Story(snapshot(CODER)).reply("", call("run_shell", {"command": "x"}, "s1"))
    op = story.running()[0].op
    story.put(CodeCalled(op=op, id=1, tool="read_file", arguments='{"path": "a"}'))
    assert story.tools_run == ["run_shell"]


def test_a_number_that_was_used_is_ignored() -> None:
    story = coding()
    calls_tool(story, "read_file", {"path": "a"})
    calls_tool(story, "read_file", {"path": "b"})
    assert story.tools_run == ["run_code", "read_file"]


def test_numbers_are_bounded() -> None:
    with pytest.raises(ValueError, match="less than or equal"):
        CodeCalled(op="o1", id=limits.CODE_CALLS_MAX_COUNT + 1, tool="x", arguments="")


def test_after_a_replacement_code_and_its_calls_are_over_and_nothing_is_repeated() -> None:
    story = coding()
    calls_tool(story, "write_file", WRITE)
    story.put(Resumed(), attempt=2)
    assert [e.outcome for e in story.of("tool.finished")] == ["cancelled", "cancelled"]
    assert story.tools_run == ["run_code", "write_file"]
    assert "look before you repeat it" in story.shown
    assert story.state.writer == ""


def test_a_cancelled_run_ends_the_code_and_its_calls() -> None:
    story = coding()
    calls_tool(story, "read_file", {"path": "a"})
    story.interrupt("cancel")
    opened = {e.op for e in story.of("tool.started")}
    assert {e.op for e in story.of("tool.finished")} == opened
    assert StopWork() in story.effects
    calls_tool(story, "read_file", {"path": "b"}, 2)
    assert story.tools_run == ["run_code", "read_file"]


CAREFUL = CODER | {"tools": {"write_file": {"effect": "consequential"}}}


def decides(story: Story, decision: str, number: int = 1, **more: Any) -> Story:
    """A person decides on the approval that was asked for last."""
    asked = [effect.request for effect in story.effects if isinstance(effect, AskApproval)][-1]
    value = {"item": f"i{number}", "approvalId": asked.approval_id, "argumentsHash": asked.arguments_hash}
    return story.put(Decided.model_validate(value | {"decision": decision, "author": "ann"} | more))


def test_a_person_is_asked_about_a_call_of_code_and_a_yes_lets_it_run_once() -> None:
    story = calls_tool(coding(CAREFUL), "write_file", WRITE)
    asked = story.last("approval.requested")
    assert (asked.tool, asked.parent) == ("write_file", code_op(story))
    assert story.tools_run == ["run_code"]
    decides(story, "approve")
    assert story.tools_run == ["run_code", "write_file"]
    work = [effect for effect in story.effects if isinstance(effect, RunTool)][-1]
    assert work.approval is not None
    assert work.approval.arguments == {"path": "a", "content": "b"}
    decides(story, "approve", 2)
    assert story.tools_run == ["run_code", "write_file"]
    end(story, inner(story)[0])
    assert answers(story) == [(1, None)]


@pytest.mark.parametrize("decision", [{"decision": "deny"}, {"decision": "approve", "argumentsHash": "0" * 64}])
def test_a_no_or_a_yes_to_something_else_answers_the_code_with_a_refusal(decision: dict[str, str]) -> None:
    story = calls_tool(coding(CAREFUL), "write_file", WRITE)
    decides(story, **decision)
    assert story.tools_run == ["run_code"]
    assert answers(story) == [(1, "tool_denied")]


def test_a_yes_to_one_call_of_code_lets_no_other_run() -> None:
    story = calls_tool(coding(CAREFUL), "write_file", WRITE)
    decides(story, "approve")
    end(story, inner(story)[0])
    calls_tool(story, "write_file", WRITE, 2)
    assert story.tools_run == ["run_code", "write_file"]
    assert len([effect for effect in story.effects if isinstance(effect, AskApproval)]) == 2


def test_nobody_decides_for_code_that_is_over() -> None:
    story = calls_tool(coding(CAREFUL), "write_file", WRITE)
    story.tool_fails("code_killed", of="k1")
    assert story.last("approval.decided").decision == "withdrawn"
    decides(story, "approve")
    assert story.tools_run == ["run_code"]


def test_silence_answers_the_code_with_a_refusal() -> None:
    story = calls_tool(coding(CAREFUL, budget={"steps": 50, "seconds": 3_000}), "write_file", WRITE)
    story.seconds = limits.APPROVAL_EXPIRES_SECONDS + GRACE_SECONDS
    story.put(Tick())
    assert answers(story) == [(1, "tool_denied")]
    assert story.tools_run == ["run_code"]


def test_a_run_that_stops_after_any_input_repeats_no_call_and_leaves_none_open() -> None:
    """Code with a read, an approved write and a refused call, stopped after each input and taken up again."""
    story = coding(CAREFUL)
    calls_tool(story, "read_file", {"path": "a"})
    end(story, inner(story)[0])
    calls_tool(story, "write_file", WRITE, 2)
    decides(story, "approve")
    end(story, inner(story)[0])
    calls_tool(story, "finish", {"result": "x"}, 3)
    end(story, code_op(story))
    for count in range(1, len(story.inputs) + 1):
        forked = story.fork(count)
        begun = list(forked.tools_run)
        forked.put(Resumed(), attempt=2)
        assert forked.tools_run == begun
        opened = {event.op for event in forked.of("tool.started")}
        assert opened == {event.op for event in forked.of("tool.finished")}
        assert not any(invocation.inner for invocation in forked.roles)
        assert {e.op for e in forked.of("approval.requested")} == {e.op for e in forked.of("approval.decided")}
