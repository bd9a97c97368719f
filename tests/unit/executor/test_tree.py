"""Roles that work side by side: who overlaps, who waits, and what comes back in which order."""

from typing import Any

from guildhall_contracts import limits
from guildhall_contracts.model_api import ToolMessage
from guildhall_executor.effects import CallModel, RunTool, StopWork
from guildhall_executor.inputs import Resumed
from support.executor_loop import Story, call
from support.executor_run import TEAM, role, snapshot

WRITE = {"path": "a", "content": "b"}


def delegates(*names: str) -> list[dict[str, Any]]:
    return [call("delegate", {"role": name, "brief": f"part {n}"}, f"d{n}") for n, name in enumerate(names)]


def team() -> Story:
    return Story(snapshot(TEAM, budget={"steps": 1_000, "seconds": 600}))


def pair() -> Story:
    """A planner with a coder and a reviewer at work at once."""
    return team().reply("", *delegates("coder", "reviewer"))


def results(story: Story, role: str = "planner") -> list[tuple[str, str]]:
    messages = story.messages_of(role)
    return [(m.call, m.content[0].text) for m in messages if isinstance(m, ToolMessage)]


def test_delegates_of_one_reply_work_side_by_side() -> None:
    story = pair()
    assert [one.role for one in story.roles] == ["planner", "coder", "reviewer"]
    assert [e.role for e in story.of("model.started")] == ["planner", "coder", "reviewer"]
    assert {e.parent for e in story.of("role.started")[1:]} == {"o1"}


def test_reports_come_back_in_the_order_asked_whoever_is_first() -> None:
    story = pair().reply("it holds", role="reviewer")
    assert [one.role for one in story.roles] == ["planner", "coder"]
    assert len([e for e in story.of("model.started") if e.role == "planner"]) == 1
    story.reply("repaired", role="coder")
    assert results(story) == [("d0", "repaired"), ("d1", "it holds")]
    ended = story.of("role.finished")
    assert [e.role for e in ended] == ["reviewer", "coder"]
    label = story.messages_of("planner")[-1].content[0].label  # type: ignore[union-attr]
    assert label == "report of role reviewer"


def test_a_write_waits_until_the_workspace_is_free_and_a_read_does_not() -> None:
    story = pair().reply("", call("write_file", WRITE), role="coder")
    story.reply("", call("run_shell", {"command": "make"}), role="reviewer")
    assert story.tools_run == ["write_file"]
    assert len(story.of("tool.started")) == 1
    story.result()
    assert story.tools_run == ["write_file", "run_shell"]
    control = pair().reply("", call("write_file", WRITE), role="coder")
    control.reply("", call("read_file", {"path": "a"}), role="reviewer")
    assert control.tools_run == ["write_file", "read_file"]


def test_writers_are_served_in_the_order_they_asked() -> None:
    story = team().reply("", *delegates("coder", "coder", "coder"))
    coders = [one.op for one in story.roles[1:]]
    for op in coders:
        two = [call("write_file", WRITE, f"{op}-{n}") for n in range(2)]
        story.answer(op, "", *two)
    order = []
    while story.running():
        order.append(story.running()[0].call.id)
        assert len(story.running()) == 1
        story.result()
    firsts, seconds = [f"{op}-0" for op in coders], [f"{op}-1" for op in coders]
    assert order == [*firsts, *seconds]


def test_what_writes_comes_after_what_was_asked_before_it() -> None:
    story = team().reply("", *delegates("coder"))
    asked = [
        call("read_file", {"path": "a"}, "r1"),
        call("read_file", {"path": "b"}, "r2"),
        call("write_file", WRITE, "w"),
        call("read_file", {"path": "a"}, "r3"),
    ]
    story.reply("", *asked, role="coder")
    assert story.tools_run == ["read_file", "read_file"]
    story.result(of="r2")
    assert len(story.tools_run) == 2
    story.result(of="r1")
    assert story.tools_run[2:] == ["write_file"]
    story.result()
    assert story.tools_run[3:] == ["read_file"]
    story.result()
    assert [id_ for id_, _ in results(story, "coder")] == ["r1", "r2", "w", "r3"]


def test_finish_waits_for_the_delegates_asked_before_it() -> None:
    story = team().reply("", *delegates("coder", "reviewer"), call("finish", {"result": "all done"}, "f"))
    assert story.state.ending is None
    story.reply("a", role="coder")
    assert story.state.ending is None
    story.reply("b", role="reviewer")
    assert story.state.ending is not None
    assert story.state.ending.result == "all done"


def test_cancel_ends_every_branch() -> None:
    story = pair().reply("", call("run_shell", {"command": "sleep 99"}), role="coder").interrupt("cancel")
    assert story.last("tool.finished").outcome == "cancelled"
    assert story.last("model.finished").outcome == "cancelled"
    assert [e.role for e in story.of("role.finished")] == ["reviewer", "coder", "planner"]
    stops = [effect for effect in story.effects if isinstance(effect, StopWork)]
    assert stops == [StopWork()]
    before = len(story.effects)
    story.put(Resumed(), attempt=2)
    assert not any(isinstance(e, CallModel | RunTool) for e in story.effects[before:])


def test_the_trouble_of_a_delegate_is_its_callers_to_solve() -> None:
    story = pair().reply("I will not.", role="coder", stop="refusal")
    assert story.state.ending is None
    assert story.last("error.raised").error.kind == "llm_refused"
    story.reply("fine", role="reviewer")
    shown = story.messages_of("planner")[-2]
    assert isinstance(shown, ToolMessage)
    assert shown.is_error
    assert "I will not." in shown.content[0].text
    story.fails("llm_unavailable", role="planner")
    assert story.error is not None


def test_tools_that_lose_the_workshop_together_count_as_one_loss() -> None:
    story = team().reply("", *delegates("coder"))
    reads = [call("read_file", {"path": f"{n}"}, f"r{n}") for n in range(8)]
    story.reply("", *reads, role="coder")
    for number in range(8):
        story.tool_fails("workshop_lost", of=f"r{number}")
    assert story.state.ending is None
    assert story.state.workshop_losses == 1
    for _ in range(limits.WORKSHOP_RESTARTS_MAX_COUNT):
        story.reply("", call("list_files"), role="coder").tool_fails("workshop_lost")
    assert story.error is not None


def test_a_resumed_run_has_every_branch_go_on() -> None:
    story = pair().reply("", call("run_shell", {"command": "make"}, "s"), role="coder")
    asked = story.asked_of("reviewer").call_id
    story.put(Resumed(), attempt=2)
    assert story.asked_of("reviewer").call_id == asked
    assert story.last("tool.finished").error_code == "interrupted"
    assert results(story, "coder")[-1][0] == "s"
    story.reply("a", role="coder").reply("b", role="reviewer")
    assert [text for _, text in results(story)] == ["a", "b"]


def test_a_call_that_only_waited_for_the_workspace_is_begun_by_the_next_attempt() -> None:
    story = team().reply("", *delegates("coder", "coder"))
    first, second = (one.op for one in story.roles[1:])
    story.answer(first, "", call("run_shell", {"command": "one"}, "1"))
    story.answer(second, "", call("run_shell", {"command": "two"}, "2"))
    story.put(Resumed(), attempt=2)
    assert [c.call.id for c in story.running()] == ["2"]
    commands = [effect.arguments.command for effect in story.effects if isinstance(effect, RunTool)]  # type: ignore[attr-defined]
    assert commands == ["one", "two"]


# Rights


def chain(top_delegates: list[str]) -> dict[str, Any]:
    return {
        "entryRole": "top",
        "roles": [
            role("top", ["read_file"], top_delegates),
            role("middle", ["read_file"], ["worker"]),
            role("worker", ["read_file", "write_file", "run_shell"]),
        ],
        "models": {"main": "scripted:test"},
    }


def descend(story: Story) -> Story:
    story.reply("", call("delegate", {"role": "middle", "brief": "b"}), role="top")
    return story.reply("", call("delegate", {"role": "worker", "brief": "have it written"}), role="middle")


def test_a_role_cannot_borrow_through_a_delegate_what_it_was_not_given() -> None:
    story = descend(Story(snapshot(chain(["middle"]))))
    story.reply("", call("write_file", WRITE, "w"), role="worker")
    assert story.tools_run == []
    assert story.last("tool.finished").error_code == "unknown_tool"
    assert b"write_file" not in story.asked_of("worker").tools
    assert b"finish" in story.asked_of("worker").tools
    story.reply("", call("read_file", {"path": "a"}), role="worker")
    assert story.tools_run == ["read_file"]

    granted = descend(Story(snapshot(chain(["middle", "worker"]))))
    assert granted.reply("", call("write_file", WRITE), role="worker").tools_run == ["write_file"]


def test_a_ceiling_holds_below_a_role_that_has_the_tool_itself() -> None:
    guild = chain(["middle"])
    guild["roles"][1] = role("middle", ["read_file", "write_file"], ["worker"])
    guild["roles"].insert(1, role("over", ["read_file"], ["middle"]))
    guild["roles"][0] = role("top", ["read_file"], ["over"])
    story = Story(snapshot(guild)).reply("", call("delegate", {"role": "over", "brief": "b"}), role="top")
    story.reply("", call("delegate", {"role": "middle", "brief": "b"}), role="over")
    story.reply("", call("write_file", WRITE), role="middle")
    assert story.tools_run == []
    story.reply("", call("delegate", {"role": "worker", "brief": "b"}), role="middle")
    story.reply("", call("write_file", WRITE), role="worker")
    assert story.tools_run == []


# Bounds


def test_mutual_delegation_ends_with_the_limit_named() -> None:
    guild = {
        "entryRole": "a",
        "roles": [role("a", [], ["b"]), role("b", [], ["a"])],
        "models": {"main": "scripted:test"},
    }
    story = Story(snapshot(guild, budget={"steps": 5_000, "seconds": 60}))
    many = [call("delegate", {"role": "b", "brief": "x"}, f"d{n}") for n in range(20)]
    back = [call("delegate", {"role": "a", "brief": "x"}, f"d{n}") for n in range(20)]
    while not any("DELEGATION_MAX_TOTAL" in event.output for event in story.of("tool.finished")):
        one = next(one for one in story.roles if one.wait is not None)
        story.answer(one.op, "", *(many if one.role == "a" else back))
        assert max(r.depth for r in story.roles) <= limits.DELEGATION_MAX_DEPTH
    assert story.state.delegations == limits.DELEGATION_MAX_TOTAL
    assert any("DELEGATION_MAX_FAN_OUT" in event.output for event in story.of("tool.finished"))
    assert len(story.roles) == limits.DELEGATION_MAX_TOTAL + 1
