"""Roles in trouble wake their handler; it looks through small windows, and says one thing or ends the Run."""

import json
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.guild import GuildSpec, guild_problems
from guildhall_contracts.model_api import ToolMessage
from guildhall_executor.inputs import Resumed
from guildhall_executor.inspection import _place_of
from guildhall_executor.trace import Traced, extended, traced, trouble
from hypothesis import given
from hypothesis import strategies as st
from support.executor_loop import Story, call
from support.executor_run import role, snapshot

LOOK = ["list_role_messages", "read_message_window", "search_role_blocks", "recent_role_tool_calls"]
SECRET = "the-whole-of-it"


def guild(on: str = "loop", **handler: Any) -> dict[str, Any]:
    watch = role("watch", [*LOOK, "trigger_interrupt"], handler={"on": on}, **handler)
    return {"entryRole": "solo", "roles": [role("solo"), watch], "models": {"main": "scripted:test"}}


def story(on: str = "loop", budget: dict[str, int] | None = None, **handler: Any) -> Story:
    return Story(snapshot(guild(on, **handler), budget=budget or {"steps": 1_000, "seconds": 600}))


def in_circles(told: Story, times: int = limits.LOOP_SAME_RESULT_COUNT, text: str = "same") -> Story:
    for _ in range(times):
        told.reply("", call("read_file", {"path": "a"}), role="solo").result(text)
    return told


def roles(told: Story) -> list[str]:
    return [one.role for one in told.roles]


def shown(told: Story, name: str = "watch") -> str:
    """The last result the handler was shown."""
    message = told.messages_of(name)[-1]
    assert isinstance(message, ToolMessage)
    return message.content[0].text


def look(told: Story, tool: str, arguments: dict[str, Any]) -> str:
    told.reply("", call(tool, arguments), role="watch")
    return shown(told)


def test_the_same_call_with_the_same_result_wakes_the_handler_of_loops() -> None:
    told = in_circles(story(), limits.LOOP_SAME_RESULT_COUNT - 1)
    assert roles(told) == ["solo"], "control: three times are no loop"
    in_circles(told, 1)
    assert roles(told) == ["solo", "watch"]
    started = told.of("role.started")[-1]
    assert (started.source, started.destination, started.parent) == ("role:solo", "role:watch", "o1")


def test_a_call_whose_result_changes_is_no_loop_for_a_while() -> None:
    told = story()
    for number in range(limits.LOOP_SAME_CALL_COUNT - 1):
        in_circles(told, 1, f"result {number}")
    assert roles(told) == ["solo"]
    in_circles(told, 1, "yet another")
    assert roles(told) == ["solo", "watch"]


def test_without_a_handler_nothing_happens() -> None:
    told = Story(snapshot(budget={"steps": 1_000, "seconds": 600}))
    in_circles(told, 20)
    assert roles(told) == ["solo"]
    assert told.state.ending is None


def test_a_handler_of_another_event_sleeps() -> None:
    assert roles(in_circles(story("budget"))) == ["solo"]


def test_calls_that_only_fail_wake_the_handler_of_the_stuck() -> None:
    told = story("stuck")
    for number in range(limits.STUCK_CALLS_COUNT):
        told.reply("", call("read_file", {"path": f"no-{number}"}), role="solo").tool_fails("not_found", f"no-{number}")
    assert roles(told) == ["solo", "watch"]


def test_news_between_failures_is_not_stuck() -> None:
    told = story("stuck")
    for number in range(2 * limits.STUCK_CALLS_COUNT):
        told.reply("", call("read_file", {"path": f"f-{number}"}), role="solo")
        told = told.result(f"content {number}") if number % 5 == 0 else told.tool_fails("not_found", f"{number}")
    assert roles(told) == ["solo"]


def test_a_budget_that_runs_out_wakes_its_handler() -> None:
    told = story("budget", budget={"steps": 10, "seconds": 600})
    for number in range(7):
        told.reply("", call("read_file", {"path": f"f-{number}"}), role="solo").result(str(number))
    assert roles(told) == ["solo", "watch"]
    assert (told.at_work("solo").wait, told.state.steps) == (None, 8), "seven, and the handler's own: it waits with its"
    told.reply("go on", role="watch")
    assert told.at_work("solo").wait is not None
    assert (told.state.steps, len(told.of("budget.warned"))) == (9, 1)


def test_a_role_that_gives_up_wakes_the_handler_of_errors_for_its_caller() -> None:
    planner = role("planner", ["read_file"], ["coder"])
    watch = role("watch", [*LOOK, "trigger_interrupt"], handler={"on": "error"})
    team = {"entryRole": "planner", "roles": [planner, role("coder"), watch], "models": {"main": "scripted:test"}}
    told = Story(snapshot(team, budget={"steps": 100, "seconds": 600}))
    told.reply("", call("delegate", {"role": "coder", "brief": "b"}, "d"))
    told.reply("I will not", role="coder", stop="refusal")
    assert roles(told) == ["planner", "watch"]
    assert told.at_work("watch").watches == "o1"


def test_the_role_waits_while_it_is_looked_at_and_goes_on_after() -> None:
    told = in_circles(story())
    assert told.at_work("solo").wait is None, "it asks its model nothing"
    told.reply("", call("finish", {"result": "nothing wrong"}), role="watch")
    assert roles(told) == ["solo"]
    assert told.at_work("solo").wait is not None
    assert told.state.ending is None, "a handler's end is not the Run's"
    in_circles(told, limits.LOOP_SAME_RESULT_COUNT - 1)
    assert roles(told) == ["solo"], "what it was woken for once is not held against it again"


def test_a_redirect_is_one_marked_message() -> None:
    told = in_circles(story())
    told.reply("", call("trigger_interrupt", {"intent": "redirect", "message": "read b instead"}), role="watch")
    told.reply("", call("trigger_interrupt", {"intent": "redirect", "message": "and c"}), role="watch")
    assert "already_triggered" in shown(told)
    told.reply("done", role="watch")
    last = told.messages_of("solo")[-1]
    assert [(b.text, b.label) for b in last.content] == [("read b instead", "message from handler role watch")]  # type: ignore[union-attr]
    (event,) = told.of("interrupt.triggered")
    assert (event.intent, event.source, event.destination) == ("redirect", "role:watch", "role:solo")


def test_an_abort_ends_the_run_and_says_who_and_why() -> None:
    told = in_circles(story())
    told.reply(
        "", call("trigger_interrupt", {"intent": "abort", "message": "it reads one file for ever"}), role="watch"
    )
    assert told.state.ending is not None
    assert told.state.ending.outcome == "cancelled"
    assert "handler role 'watch'" in told.state.ending.error.message  # type: ignore[union-attr]
    assert "it reads one file for ever" in told.state.ending.error.message  # type: ignore[union-attr]


def test_wakes_are_bounded() -> None:
    told = story()
    for _ in range(limits.HANDLER_WAKES_PER_ROLE_MAX_COUNT):
        in_circles(told)
        told.reply("fine", role="watch")
    in_circles(told, 20)
    assert roles(told) == ["solo"]
    assert told.state.wakes == limits.HANDLER_WAKES_PER_ROLE_MAX_COUNT


@pytest.mark.parametrize("bad", ["refusal", "empty", "cut"])
def test_a_handler_that_fails_lets_the_run_go_on(bad: str) -> None:
    told = in_circles(story())
    while "watch" in roles(told):
        if bad == "refusal":
            told.reply("no", role="watch", stop="refusal")
        elif bad == "cut":
            told.reply("half a", role="watch", stop="max_tokens")
        else:
            told.reply("", role="watch")
    assert told.state.ending is None
    assert told.at_work("solo").wait is not None


@pytest.mark.parametrize("kind", ["llm_unavailable", "budget_exhausted", "internal"])
def test_a_handler_whose_model_fails_lets_the_run_go_on(kind: Any) -> None:
    """Its model may be another provider's than everybody else's."""
    told = in_circles(story()).fails(kind, role="watch")
    assert (roles(told), told.state.ending) == (["solo"], None)
    assert told.at_work("solo").wait is not None
    assert told.of("role.finished")[-1].outcome == "error"
    told.fails(kind, role="solo")
    assert told.error is not None, "control: of the role at work the same failure ends the Run"
    assert told.error.kind == kind


def test_a_handler_s_steps_are_few() -> None:
    told = in_circles(story())
    for _ in range(limits.HANDLER_STEPS_DEFAULT_COUNT):
        told.reply("", call("list_role_messages", {}), role="watch")
    assert roles(told) == ["solo"]
    assert told.state.ending is None


def test_a_person_s_redirect_is_for_the_role_at_work_not_for_its_handler() -> None:
    told = in_circles(story())
    told.interrupt("redirect", message="stop that")
    assert told.of("interrupt.received")[-1].destination == "role:solo"


def test_a_long_history_cannot_flood_a_handler() -> None:
    """Every answer is capped, whatever the history holds: 256k tokens are about a megabyte."""
    told = story()
    for number in range(64):
        told.reply(f"thought {number}", call("read_file", {"path": f"f{number}"}), role="solo")
        told.result(f"{SECRET} " + "x" * 16_000 + f" end {number}")
    assert sum(len(m.body) for m in told.at_work("solo").history) > 1_000_000, "positive control"
    in_circles(told)
    answers = [
        look(told, "list_role_messages", {}),
        look(told, "read_message_window", {"first": 1, "count": limits.INSPECT_WINDOW_MAX_COUNT}),
        look(told, "search_role_blocks", {"text": SECRET}),
        look(told, "recent_role_tool_calls", {"count": limits.TRACE_KEPT_MAX_COUNT}),
    ]
    assert max(map(len, answers)) <= limits.INSPECT_RESULT_MAX_CHARS
    assert answers[0].startswith("138 messages; 100 shown")
    assert "more characters" in answers[1]
    assert answers[2].count("\n") == limits.INSPECT_MATCHES_MAX_COUNT
    assert len(set(answers[3].splitlines()[-4:])) == 1, "equal hashes: the four calls in circles"


def test_looking_changes_nothing_of_who_is_looked_at() -> None:
    told = in_circles(story())
    before = told.at_work("solo")
    for tool, arguments in (("list_role_messages", {}), ("read_message_window", {"first": 1}),
                            ("search_role_blocks", {"text": "same"}), ("recent_role_tool_calls", {})):  # fmt: skip
        look(told, tool, arguments)
    assert told.at_work("solo") == before
    assert [e.tool for e in told.of("tool.finished", "tool.started") if hasattr(e, "tool")][-4:] == LOOK


def test_reasoning_is_never_shown() -> None:
    told = story()
    told.reply("said", call("read_file", {"path": "a"}), role="solo", carry="REASONING-CANARY").result("same")
    in_circles(told, limits.LOOP_SAME_RESULT_COUNT - 1)
    assert any(b"REASONING-CANARY" in m.body for m in told.at_work("solo").history), "positive control"
    for first in range(1, len(told.at_work("solo").history) + 1):
        assert "REASONING-CANARY" not in look_quietly(told, first)
    assert look(told, "search_role_blocks", {"text": "REASONING"}) == "nothing"


BEFORE = {
    "letters that fold to two": "\u00df" * 400,
    "one that folds to two": "\u0130 ",
    "ligatures": "\ufb03" * 90,
    "plain ones": "a" * 400,
    "nothing": "",
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize("shown", ["Needle HERE", "Stra\u00dfe"])
def test_what_a_search_shows_is_what_it_found(before: str, shown: str) -> None:
    told = story().reply(f"{before}{shown}{'z' * 600}", call("read_file", {"path": "a"})).result("same")
    in_circles(told, limits.LOOP_SAME_RESULT_COUNT - 1)
    line = look(told, "search_role_blocks", {"text": {"Stra\u00dfe": "STRASSE"}.get(shown, "needle here")})
    assert f"{before[-40:]}{shown}zzz" in line


@given(st.text(max_size=30), st.text("sS\u00df\u0130iIk\u212a\ufb03f", min_size=1, max_size=4), st.text(max_size=30))
def test_wherever_it_stands_the_place_of_a_text_holds_it(before: str, text: str, after: str) -> None:
    said = before + text + after
    place = _place_of(text.casefold(), said)
    assert place is not None
    assert text.casefold() in said[place.start : place.stop].casefold()
    assert place.stop - place.start <= len(text.casefold()), "and no more than it"


def look_quietly(told: Story, first: int) -> str:
    """A window as a fork sees it, so that the handler's steps are not used up."""
    return look(told.fork(len(told.inputs)), "read_message_window", {"first": first, "count": 1})


def test_roles_that_are_not_there_are_named_as_such() -> None:
    told = in_circles(story())
    assert "no role 'ghost' is at work; at work are solo, watch" in look(told, "list_role_messages", {"role": "ghost"})
    assert "has 10 messages" in look(told, "read_message_window", {"first": 999})


def test_other_roles_cannot_look() -> None:
    told = story().reply("", call("list_role_messages", {"role": "solo"}), role="solo")
    assert told.of("tool.finished")[-1].error_code == "unknown_tool"


def test_a_resumed_run_finds_its_handler_at_work() -> None:
    told = in_circles(story())
    told.put(Resumed(), attempt=2)
    assert roles(told) == ["solo", "watch"]
    told.reply("", call("trigger_interrupt", {"intent": "redirect", "message": "on"}), role="watch")
    told.reply("ok", role="watch")
    assert told.messages_of("solo")[-1].content[0].text == "on"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("tools", "more", "said"),
    [
        (["write_file"], [], "remove the tool 'write_file'"),
        (["read_file"], [], "remove the tool 'read_file'"),
        (LOOK, [role("other", LOOK, handler={"on": "loop"})], "one role handles it"),
    ],
)
def test_guilds_whose_handlers_could_do_more_are_invalid(tools: list[str], more: list[Any], said: str) -> None:
    value = {
        "entryRole": "solo",
        "roles": [role("solo"), role("watch", tools, handler={"on": "loop"}), *more],
        "models": {"main": "scripted:test"},
    }
    assert any(said in problem for problem in guild_problems(GuildSpec.model_validate(value)))
    assert guild_problems(GuildSpec.model_validate(guild())) == [], "positive control"


def test_a_trace_keeps_hashes_only_and_few() -> None:
    trace: tuple[Traced, ...] = ()
    for number in range(200):
        trace = extended(trace, traced("read_file", f'{{"path":"{number}"}}', SECRET, None))
    assert len(trace) == limits.TRACE_KEPT_MAX_COUNT
    assert SECRET not in json.dumps([[one.tool, one.asked, one.got] for one in trace])
    assert trouble(trace) is None, "each asks for something else"
    assert trouble(()) is None
