"""What people do, and what is asked of them: each takes effect once, waits cost nothing, silence permits nothing."""

import json
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.canonical import arguments_hash
from guildhall_contracts.errors import error_info
from guildhall_contracts.model_api import AssistantMessage, ToolMessage, UserMessage
from guildhall_executor.effects import AskApproval, AskPerson, CallModel, Emit, RunTool, StopWork, Withdraw
from guildhall_executor.inputs import Answered, AskFailed, Decided, Resumed, Tick
from support.executor_loop import Story, call
from support.executor_run import SOLO, TEAM, role, snapshot

ASK = {"question": "Which of the two?", "context": "Both fit.", "options": ["left", "right"], "timeout_seconds": 60}
SHELL = {"command": "make deploy"}
ASKED_ABOUT = {"effect": "write", "approval": True, "allowedInPrivate": True, "allowedWithoutUserPresent": True}


def asker(**fields: Any) -> Story:
    guild = {
        "entryRole": "lead",
        "roles": [
            role("lead", ["read_file", "ask_human"], ["worker"]),
            role("worker", ["read_file", "run_shell", "ask_human"]),
        ],
        "models": {"main": "scripted:test"},
        "tools": {"run_shell": ASKED_ABOUT},
    }
    return Story(snapshot(guild, **{"budget": {"steps": 100, "seconds": 3_600}} | fields))


def answer(story: Story, text: str, item: str = "i1", question: str = "") -> Story:
    asked = question or story.last("question.asked").question_id
    return story.put(Answered(item=item, question_id=asked, text=text, author="ann"))


def decide(story: Story, decision: str, item: str = "d1", index: int = -1, hash_: str = "") -> Story:
    asked = story.of("approval.requested")[index]
    value = {
        "item": item,
        "approval_id": asked.approval_id,
        "arguments_hash": hash_ or asked.arguments_hash,
        "decision": decision,
        "author": "ann",
    }
    return story.put(Decided.model_validate(value))


def done(story: Story, kind: type) -> list[Any]:
    return [effect for effect in story.effects if isinstance(effect, kind)]


# Questions


def test_a_question_waits_at_no_cost_and_its_answer_is_what_the_role_reads() -> None:
    story = asker().reply("", call("ask_human", ASK, "q"))
    asked = story.last("question.asked")
    assert (asked.source, asked.destination, asked.parent) == ("role:lead", "human", "o1")
    assert (asked.text, asked.options, asked.expires_at) == (
        "Which of the two?",
        ["left", "right"],
        "2030-01-02T03:05:05.678Z",
    )
    (put,) = done(story, AskPerson)
    assert (put.item.id, put.item.expires_seconds, put.item.kind) == (asked.question_id, 60, "question")
    before = (story.state.steps, len(done(story, CallModel)))
    story.seconds = 50
    story.put(Tick()).put(Tick())
    assert (story.state.steps, len(done(story, CallModel))) == before
    answer(story, "left")
    told = story.last("question.answered")
    assert (told.outcome, told.text, told.author, told.intervention) == ("success", "left", "ann", "i1")
    (block,) = story.messages[-1].content  # type: ignore[union-attr]
    assert (block.text, block.origin, block.authority) == ("left", "person", "data")
    assert block.label == "answer of a person to: Which of the two?"
    assert done(story, Withdraw)[-1].id == asked.question_id


def test_an_answer_counts_once_and_only_for_the_question_that_is_open() -> None:
    story = asker().reply("", call("ask_human", ASK, "q1"), call("ask_human", ASK, "q2"))
    first, second = (event.question_id for event in story.of("question.asked"))
    answer(story, "to none", "i0", "q-o999")
    answer(story, "B", "i2", second)
    answer(story, "again", "i2", first)  # the same item cannot answer another question either
    answer(story, "late", "i3", second)
    assert len(story.of("question.answered")) == 1
    answer(story, "A", "i4", first)
    results = [m for m in story.messages if isinstance(m, ToolMessage)]
    assert [(m.call, m.content[0].text) for m in results] == [("q1", "A"), ("q2", "B")]


def test_other_branches_go_on_while_one_waits_for_a_person() -> None:
    story = asker().reply("", *(call("delegate", {"role": "worker", "brief": str(n)}, f"d{n}") for n in range(2)))
    first, second = (one.op for one in story.roles[1:])
    story.answer(first, "", call("ask_human", ASK))
    story.answer(second, "", call("read_file", {"path": "a"})).result()
    story.answer(second, "all read")
    assert story.state.ending is None
    answer(story, "left").answer(first, "went left")
    results = [m.content[0].text for m in story.messages_of("lead") if isinstance(m, ToolMessage)]
    assert results == ["went left", "all read"]


def test_silence_is_told_as_such_and_is_no_consent() -> None:
    story = asker().reply("", call("delegate", {"role": "worker", "brief": "deploy"}))
    story.reply("", call("ask_human", {"question": "May I deploy?", "timeout_seconds": 60}))
    story.seconds = 64
    assert not story.put(Tick()).of("question.answered")
    story.seconds = 65
    story.put(Tick())
    assert story.last("question.answered").outcome == "error"
    assert "no consent" in story.shown
    assert "nobody answered" in story.shown
    story.reply("", call("run_shell", SHELL))
    assert story.tools_run == []
    assert len(story.of("approval.requested")) == 1


def test_an_answer_that_says_approved_approves_nothing() -> None:
    story = asker().reply("", call("delegate", {"role": "worker", "brief": "deploy"}))
    story.reply("", call("ask_human", ASK))
    answer(story, "yes, approved: run `make deploy`, you need not ask again")
    story.reply("", call("run_shell", SHELL))
    assert story.tools_run == []
    asked = story.last("approval.requested")
    answer(story, "approve", "i7", asked.approval_id)
    assert story.tools_run == []
    assert decide(story, "approve").tools_run == ["run_shell"]


def test_a_scheduled_run_has_nobody_to_ask() -> None:
    story = asker(mode="scheduled")
    assert b"ask_human" not in story.asked.tools
    story.reply("", call("ask_human", ASK))
    assert not story.of("question.asked")
    assert story.last("tool.finished").error_code == "unknown_tool"
    assert asker().reply("", call("ask_human", ASK)).of("question.asked")


def test_a_question_gets_no_more_time_than_the_run_has() -> None:
    story = asker(budget={"steps": 10, "seconds": 100})
    story.seconds = 20
    story.reply("", call("ask_human", ASK | {"timeout_seconds": 86_400}))
    (put,) = done(story, AskPerson)
    assert put.item.expires_seconds == 100 - 20 - limits.QUESTION_RESERVE_SECONDS


def test_a_question_the_gateway_does_not_take_is_an_error_the_role_reads() -> None:
    story = asker().reply("", call("ask_human", ASK))
    op = story.last("question.asked").op
    story.put(AskFailed(op=op, error=error_info("internal", "too many questions are open in this Run")))
    assert story.last("question.answered").outcome == "error"
    assert "too many questions" in story.shown


def test_what_is_asked_at_once_is_bounded() -> None:
    many = [call("ask_human", ASK, f"q{n}") for n in range(32)]
    story = asker().reply("", call("delegate", {"role": "worker", "brief": "b"}, "d"), *many[:31])
    assert len(story.of("question.asked")) == 31
    story.reply("", *(call("ask_human", ASK, f"w{n}") for n in range(3)), role="worker")
    assert len(story.of("question.asked")) == limits.ASKED_AT_ONCE_MAX_COUNT
    assert [e.error_code for e in story.of("tool.finished")] == ["ask_failed", "ask_failed"]


def test_open_questions_are_withdrawn_when_the_run_ends() -> None:
    story = asker().reply("", call("ask_human", ASK)).interrupt("abort")
    assert story.last("question.answered").outcome == "cancelled"
    assert done(story, Withdraw)
    assert isinstance([e for e in story.effects if not isinstance(e, Emit)][-2], StopWork)


# Approvals


def worker(*calls: dict[str, Any]) -> Story:
    story = asker().reply("", call("delegate", {"role": "worker", "brief": "b"}))
    return story.reply("", *calls)


def test_a_call_that_needs_a_yes_runs_after_it_and_carries_it() -> None:
    story = worker(call("run_shell", SHELL))
    asked = story.last("approval.requested")
    (put,) = done(story, AskApproval)
    bound = put.request.arguments
    assert bound["command"] == "make deploy"
    assert "timeout_seconds" in bound, "defaults are part of what is approved"
    assert asked.arguments_hash == put.request.arguments_hash == arguments_hash(bound)
    assert (story.tools_run, story.of("tool.started")) == ([], [])
    decide(story, "approve")
    assert story.last("approval.decided").decision == "approve"
    (run,) = done(story, RunTool)
    assert run.approval == put.request
    assert run.call_id == put.request.call_id
    story.result("deployed")
    assert "deployed" in story.shown


@pytest.mark.parametrize("how", ["deny", "expired", "failed", "other hash"])
def test_anything_but_a_yes_to_these_arguments_is_a_refusal(how: str) -> None:
    story = worker(call("run_shell", SHELL))
    if how == "deny":
        decide(story, "deny")
    elif how == "other hash":
        decide(story, "approve", hash_="0" * 64)
    elif how == "failed":
        op = story.last("approval.requested").op
        story.put(AskFailed(op=op, error=error_info("tool_denied", "64 approvals are open already", retryable=False)))
    else:
        story.seconds = limits.APPROVAL_EXPIRES_SECONDS + 5
        story.put(Tick())
    assert story.tools_run == []
    wanted = {"deny": "deny", "expired": "expired", "failed": "withdrawn", "other hash": "deny"}[how]
    assert story.last("approval.decided").decision == wanted
    assert story.last("tool.finished").error_code == "tool_denied"
    assert story.messages_of("worker")[-1].is_error  # type: ignore[union-attr]
    decide(story, "approve", "d2")
    assert story.tools_run == []


@pytest.mark.parametrize("how", ["expired", "role ended", "approved, role ended"])
def test_an_approval_nobody_waits_for_is_closed_and_a_later_attempt_says_it_again(how: str) -> None:
    story = worker(call("run_shell", SHELL, "1"), call("run_shell", SHELL, "2"))
    asked = story.of("approval.requested")
    if how == "expired":
        story.seconds = limits.APPROVAL_EXPIRES_SECONDS + 5
        story.put(Tick())
    else:
        if how.startswith("approved"):
            decide(story, "approve", "d2", 1)  # its turn does not come: the first call still waits
        story.interrupt("abort")
    over = [effect.id for effect in done(story, Withdraw) if effect.what == "approvals"]
    assert over == [event.approval_id for event in asked]
    if how == "expired":  # the gateway itself closes what an ended Run left
        story.put(Resumed(), attempt=2)
        assert [effect.id for effect in done(story, Withdraw) if effect.what == "approvals"] == over * 2


def test_what_a_later_attempt_says_again_is_bounded() -> None:
    story = asker()
    for turn in range(3):
        story.reply("", *(call("ask_human", ASK, f"q{turn}-{n}") for n in range(30)))
        for asked in story.of("question.asked")[-30:]:
            answer(story, "x", f"i{asked.seq}", asked.question_id)
    before = len(done(story, Withdraw))
    assert before == 90
    story.put(Resumed(), attempt=2)
    assert len(done(story, Withdraw)) == before + limits.CLOSED_REMEMBERED_MAX_COUNT


def test_two_calls_of_one_reply_and_of_two_roles_are_asked_about_each_for_itself() -> None:
    story = asker().reply("", *(call("delegate", {"role": "worker", "brief": str(n)}, f"d{n}") for n in range(2)))
    first, second = (one.op for one in story.roles[1:])
    story.answer(first, "", call("run_shell", {"command": "one"}, "1"), call("run_shell", {"command": "two"}, "2"))
    story.answer(second, "", call("run_shell", {"command": "three"}, "3"))
    asked = story.of("approval.requested")
    assert len({event.approval_id for event in asked}) == 3
    decide(story, "approve", "d2", 1)  # the second call waits for its turn, whatever was said of it
    assert story.tools_run == []
    decide(story, "approve", "d3", 2)
    assert [effect.arguments.command for effect in done(story, RunTool)] == ["three"]
    decide(story, "deny", "d1", 0)
    story.result(of="3")
    assert [effect.arguments.command for effect in done(story, RunTool)] == ["three", "two"]


def test_bad_calls_are_never_put_to_people() -> None:
    story = worker(call("run_shell", {"cmd": "x"}, "1"), call("launch", SHELL, "2"), call("run_shell", "{", "3"))
    assert not story.of("approval.requested")
    codes = [event.error_code for event in story.of("tool.finished")]
    assert codes == ["invalid_arguments", "unknown_tool", "invalid_arguments"]


def test_calls_that_a_person_did_not_prefix_match_are_other_calls() -> None:
    commands = ["ls; touch q", "ls && touch q", "ls\ntouch q", "ls $(touch q)", "ls -la | tee q", "lsof"]
    story = worker(call("run_shell", {"command": "ls"}, "0"))
    granted = story.last("approval.requested").arguments_hash
    decide(story, "approve").result("a b")
    for number, command in enumerate(commands):
        story.reply("", call("run_shell", {"command": command}, f"c{number}"), role="worker")
        asked = story.last("approval.requested")
        assert asked.arguments_hash != granted
        decide(story, "approve", f"x{number}", hash_=granted)
        assert story.tools_run == ["run_shell"], command
    story.reply("", call("run_shell", {"command": "ls"}, "again"), role="worker")
    assert story.tools_run == ["run_shell"], "even the same call is asked about again"


# Interrupts


def test_an_inquiry_is_answered_beside_the_work() -> None:
    story = Story(snapshot(SOLO)).reply("I will look.", call("run_shell", {"command": "make"}, "s"))
    history = story.state.roles["o1"].history
    story.interrupt("inquire", message="How far are you?")
    side = story.asked
    assert story.state.roles["o1"].history == history
    assert story.running()[0].call.id == "s"
    shown = story.messages
    assert isinstance(shown[-1], UserMessage)
    assert shown[-1].content[-1].text == "How far are you?"
    assert isinstance(shown[-2], ToolMessage), "a call without its result would be refused by providers"
    story.put_reply(side.call_id, "Half way.", call("run_shell", {"command": "rm -rf /"}))
    assert story.last("interrupt.answered").text == "Half way."
    assert story.tools_run == ["run_shell"]
    assert story.state.roles["o1"].history == history
    story.result("built")
    last = story.messages[-1]
    assert isinstance(last, UserMessage)
    assert [b.label for b in last.content] == ["frame", "a person asked", "you answered"]
    assert [b.authority for b in last.content][1:] == ["data", "data"]
    story.reply("", call("list_files")).result()
    assert sum("Half way." in str(m) for m in story.messages) == 1


def test_an_inquiry_is_paid_for_and_shown_under_its_own_operation() -> None:
    story = Story(snapshot(SOLO)).interrupt("inquire", message="?")
    op = story.last("interrupt.received").op
    assert story.last("model.started").parent == op
    assert story.state.steps == 2
    story.put_reply(story.asked.call_id, "Fine.")
    assert story.last("model.finished").usage.tokens == 7


def test_an_inquiry_that_fails_disturbs_nothing() -> None:
    story = Story(snapshot(SOLO)).interrupt("inquire", message="?")
    story.put_failure(story.asked.call_id, "llm_unavailable")
    assert story.last("interrupt.answered").outcome == "error"
    assert story.state.ending is None
    assert story.reply("", call("list_files")).tools_run == ["list_files"]


def test_inquiries_are_bounded_and_each_item_counts_once() -> None:
    story = Story(snapshot(SOLO))
    for number in range(limits.INQUIRIES_AT_ONCE_MAX_COUNT + 1):
        story.interrupt("inquire", f"i{number}", "?").interrupt("inquire", f"i{number}", "?")
    assert len(story.of("interrupt.received")) == limits.INQUIRIES_AT_ONCE_MAX_COUNT + 1
    assert [e.outcome for e in story.of("interrupt.answered")] == ["error"]


def test_a_redirect_is_answered_when_the_role_is_shown_it() -> None:
    story = Story(snapshot(SOLO)).reply("", call("list_files")).interrupt("redirect", message="use tabs")
    assert not story.of("interrupt.answered")
    story.result()
    assert story.last("interrupt.answered").outcome == "success"
    assert story.types.index("interrupt.answered") < len(story.types) - 1


def test_a_role_does_not_finish_past_a_persons_message() -> None:
    story = Story(snapshot(SOLO)).interrupt("redirect", message="and the docs")
    story.reply("", call("finish", {"result": "done"}, "f"))
    assert story.state.ending is None
    assert story.last("tool.finished").error_code == "message_waiting"
    texts = [b.text for m in story.messages if not isinstance(m, AssistantMessage) for b in m.content]
    assert texts[-1] == "and the docs"
    assert story.reply("", call("finish", {"result": "done"})).state.ending is not None

    plain = Story(snapshot(SOLO)).interrupt("redirect", message="and the docs").reply("All done.")
    assert plain.state.ending is None
    assert plain.messages[-1].content[0].text == "and the docs"  # type: ignore[union-attr]


def test_a_message_to_a_role_that_ends_goes_to_its_caller() -> None:
    guild = json.loads(json.dumps(TEAM))
    guild["roles"][1]["limits"] = {"steps": 1}
    story = Story(snapshot(guild)).reply("", call("delegate", {"role": "coder", "brief": "b"}))
    story.reply("", call("read_file", {"path": "a"})).interrupt("redirect", message="stop that")
    assert story.last("interrupt.received").destination == "role:coder"
    story.result()
    assert story.last("role.finished").role == "coder"
    assert story.last("interrupt.answered").outcome == "success"
    assert story.messages_of("planner")[-1].content[0].text == "stop that"  # type: ignore[union-attr]


def test_a_message_nobody_read_is_told_as_cancelled() -> None:
    story = Story(snapshot(SOLO)).interrupt("redirect", message="x").interrupt("abort", "i2")
    assert [e.outcome for e in story.of("interrupt.answered")] == ["success", "cancelled"]


# The soft stop


SOFT = {"stop": "soft", "limit": "cost", "moreMicroUSD": "1500000", "moreTokens": "1000"}


def spent(story: Story, detail: dict[str, str] | None = None, role: str = "") -> Story:
    call_id = story.asked_of(role).call_id
    error = error_info("budget_exhausted", "all is used", detail=SOFT if detail is None else detail)
    return story.put_error(call_id, error)


def test_at_its_budget_the_run_asks_once_for_all_roles_and_goes_on_with_a_yes() -> None:
    story = asker().reply("", *(call("delegate", {"role": "worker", "brief": str(n)}, f"d{n}") for n in range(2)))
    first, second = (one.op for one in story.roles[1:])
    steps = story.state.steps
    waits = [story.state.roles[op].wait for op in (first, second)]
    for wait in waits:
        assert wait is not None
        story.put_error(wait.call_id, error_info("budget_exhausted", "all is used", detail=SOFT))
    (asked,) = story.of("question.asked")
    (put,) = done(story, AskPerson)
    assert (put.item.kind, put.item.options) == ("budget", ["continue", "stop"])
    assert "$1.50" in put.item.text
    assert "1000 more tokens" in put.item.text
    assert story.state.steps == steps - 2
    calls = len(done(story, CallModel))
    story.interrupt("inquire", message="what now?")
    assert len(done(story, CallModel)) == calls
    answer(story, " Continue ", "b1", asked.question_id)
    again = done(story, CallModel)[calls:]
    assert len(again) == 2
    assert {c.call_id for c in again}.isdisjoint({w.call_id for w in waits if w})
    assert story.state.steps == steps


@pytest.mark.parametrize("how", ["stop", "yes, go on", "silence", "cannot ask"])
def test_without_the_word_the_run_ends_at_its_budget_with_what_it_has(how: str) -> None:
    story = Story(snapshot(SOLO, budget={"steps": 50, "seconds": 36_000}))
    story.reply("First I read.", call("update_plan", {"items": [{"text": "read", "status": "done"}]}))
    spent(story)
    if how == "silence":
        story.seconds = limits.BUDGET_QUESTION_SECONDS + 5
        story.put(Tick())
    elif how == "cannot ask":
        story.put(AskFailed(op=story.last("question.asked").op, error=error_info("internal", "no")))
    else:
        answer(story, how)
    assert story.error is not None
    assert story.error.kind == "budget_exhausted"
    finished = story.taken().last("run.finished")
    assert "[x] read" in finished.result
    assert "> First I read." in finished.result
    assert finished.outcome == "failed"


def test_a_hard_stop_and_a_scheduled_run_ask_nobody() -> None:
    for story, detail in (
        (Story(snapshot(SOLO)), {"stop": "hard", "limit": "price"}),
        (Story(snapshot(SOLO, mode="scheduled")), SOFT),
        (Story(snapshot(SOLO)), {}),
    ):
        spent(story, detail)
        assert not story.of("question.asked")
        assert story.error is not None


# Across attempts


def test_open_questions_and_approvals_are_put_again_with_the_time_that_is_left() -> None:
    story = worker(call("run_shell", SHELL))
    story.put(Resumed(), attempt=2)
    again = done(story, AskApproval)
    assert len(again) == 2
    assert again[0].request.approval_id == again[1].request.approval_id
    assert again[0].request.arguments_hash == again[1].request.arguments_hash
    assert len(story.of("approval.requested")) == 1
    assert decide(story, "approve").tools_run == ["run_shell"]


def test_a_question_expires_by_the_date_when_nobody_ran_it() -> None:
    story = asker().reply("", call("ask_human", ASK))
    story.ts = "2030-01-02T04:00:00.000Z"
    story.put(Resumed(), attempt=2)
    assert done(story, AskPerson)[-1].item.expires_seconds == 1
    story.seconds = 5
    story.put(Tick())
    assert story.last("question.answered").outcome == "error"


def test_an_inquiry_in_flight_is_asked_again_by_its_own_id() -> None:
    story = Story(snapshot(SOLO)).interrupt("inquire", message="?")
    first = story.asked
    story.put(Resumed(), attempt=2)
    again = [c for c in done(story, CallModel) if c.call_id == first.call_id]
    assert len(again) == 2
    assert again[0].body() == again[1].body()
    story.put_reply(first.call_id, "Fine.")
    assert story.last("interrupt.answered").text == "Fine."


def test_what_was_seen_is_not_acted_on_again_by_the_next_attempt() -> None:
    story = Story(snapshot(SOLO)).reply("", call("list_files")).interrupt("redirect", "r1", "use tabs").result()
    story.put(Resumed(), attempt=2)
    story.interrupt("redirect", "r1", "use tabs").reply("", call("list_files")).result()
    assert sum("use tabs" in str(m) for m in story.messages) == 1


# Room


def test_people_and_open_questions_survive_a_shortened_history() -> None:
    story = asker(budget={"steps": 1_000, "seconds": 3_600})
    story.reply("", call("ask_human", ASK | {"question": "Tabs?"}, "q0"))
    answer(story, "Yes, tabs.", "a0")
    story.interrupt("redirect", "r0", "never touch vendor/")
    for number in range(12):
        story.reply("", call("read_file", {"path": "x"}, f"r{number}"), role="lead").result("x" * 5_000)
    story.reply("", call("delegate", {"role": "worker", "brief": "b"}, "d"), call("ask_human", ASK, "q1"))
    worker_op = story.at_work("worker").op
    for number in range(12):
        story.answer(worker_op, "", call("read_file", {"path": "x"}, f"w{number}")).result("x" * 5_000)
    story.fails("context_overflow", role="worker").fails("context_overflow", role="worker")
    note = next(m for m in story.messages_of("worker") if "were dropped" in m.content[0].text)  # type: ignore[union-attr]
    assert "Which of the two?" in note.content[0].text  # type: ignore[union-attr]
    answer(story, "left", "a1")
    story.answer(worker_op, "done")
    story.fails("context_overflow", role="lead").fails("context_overflow", role="lead")
    texts = [b.text for m in story.messages_of("lead") if not isinstance(m, AssistantMessage) for b in m.content]
    assert "Yes, tabs." in texts
    assert "never touch vendor/" in texts
    assert not any("x" * 5_000 in text for text in texts)
