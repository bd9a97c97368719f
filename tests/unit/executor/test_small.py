"""The small parts: termination message, mailbox, pace, titles, tool schemas, isolation."""

import asyncio
import hashlib
import json
import socket
from typing import Any

import jsonschema
import pytest
from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.events import ChangedFile, ChangesUpdated, encode_event
from guildhall_contracts.frames import DiffResult
from guildhall_contracts.gate import ExecutorMessage, Target, decode_message
from guildhall_contracts.model_api import MailboxItem, MailboxPage, ToolSpec
from guildhall_contracts.policy import BUILT_IN_TOOLS
from guildhall_executor import emit, finish, isolation, mailbox
from guildhall_executor.effects import Seal
from guildhall_executor.inputs import Answered, Decided, Interrupted
from guildhall_executor.pace import HELD_MAX_CHARS, PIECES_PER_CALL_MAX_COUNT, Pace
from guildhall_executor.tools.arguments import BadArguments, check
from guildhall_executor.tools.catalog import CATALOG, tool_spec
from guildhall_executor.tools.finish import summary_line
from guildhall_executor.tools.shell import RunShell
from hypothesis import given
from hypothesis import strategies as st
from support.executor_loop import Story, call
from support.executor_run import SOLO, known, snapshot


@given(st.text(max_size=5_000), st.sampled_from(["succeeded", "failed", "cancelled"]))
def test_the_termination_message_always_fits_and_decodes(text: str, outcome: str) -> None:
    seal = Seal(outcome, "", "", "", "internal", "Internal", text)
    message = finish.message_of(seal, "r" * 64, 10, 2**53 - 1)
    data = finish.encoded(message)
    assert len(data) <= limits.TERMINATION_MESSAGE_MAX_BYTES
    assert decode_message(ExecutorMessage, data.decode()) == message


def test_a_wide_message_is_cut_and_not_lost() -> None:
    message = finish.message_of(Seal("failed", "", "", "", None, "", "\U0001f600" * 3_000), "r", 1, 1)
    assert message.message.startswith("\U0001f600")
    assert message.message.endswith("…")


@given(st.dictionaries(st.text(max_size=9), st.text(max_size=9_000), max_size=8), st.text(max_size=4_000))
def test_any_error_fits_into_an_event(detail: dict[str, str], message: str) -> None:
    from guildhall_contracts.events import ErrorRaised

    error = emit.bounded_error(error_info("internal", message, detail=detail))
    head = emit.head("r", 1, 1, "2030-01-02T03:04:05.678Z")
    assert len(encode_event(ErrorRaised(**head, error=error))) <= limits.EVENT_MAX_BYTES


def test_both_texts_of_a_mismatch_survive() -> None:
    texts = {"expected": "e" * 4_000, "shown": "\U0001f600" * 4_000}
    assert emit.bounded_error(error_info("internal", "x", detail=texts)).detail == texts


def test_the_longest_list_of_files_fits_into_an_event() -> None:
    files = [ChangedFile(path="\u2603" * 4_096, status="added")] * limits.EVENT_CHANGED_FILES_MAX_COUNT
    kept = emit.bounded_files(files)
    assert 0 < len(kept) < len(files)
    event = ChangesUpdated(**emit.head("r", 1, 1, "2030-01-02T03:04:05.678Z"), files=kept)
    assert len(encode_event(event)) <= limits.EVENT_MAX_BYTES


WIDE = ["\U0001f600", "\x01", "\x7f", '"', "\u2603", "a"]


@pytest.mark.parametrize("character", WIDE)
def test_what_a_patch_leaves_out_and_its_files_fit_into_one_event(character: str) -> None:
    from guildhall_executor.changes import examine

    names = [f"dir/{n}" + "\u00e9" * 500 for n in range(300)]
    patch = "".join(
        f"diff --git a/{n} b/{n}\nnew file mode 100644\n--- /dev/null\n+++ b/{n}\n@@ -0,0 +1 @@\n+x\n" for n in names
    ).encode()
    digest = hashlib.sha256(patch).hexdigest()
    reply = DiffResult(id=1, size=len(patch), sha256=digest, omitted=[character * 200] * 100)
    change = examine(reply, patch)
    assert not isinstance(change, ErrorInfo)
    assert len(change.omitted) == 100
    assert all(change.omitted)
    assert 20 < len(change.files) < change.files_total == 300
    event = ChangesUpdated(
        **emit.head("r", 1, 1, "2030-01-02T03:04:05.678Z"), files=change.files, omitted=change.omitted
    )
    assert len(encode_event(event)) <= limits.EVENT_MAX_BYTES


def test_texts_that_fit_are_left_alone_and_others_share_the_room() -> None:
    assert emit.bounded_texts([]) == []
    assert emit.bounded_texts(["a" * 40, "b"], 45) == ["a" * 40, "b"]
    assert emit.bounded_texts(["a" * 100, "b"], 60) == ["a" * 28, "b"]
    assert emit.bounded_texts(["\U0001f600" * 9, ""], 60) == ["\U0001f600" * 2, ""]


@pytest.mark.parametrize("character", WIDE)
def test_no_tool_input_makes_an_event_too_large(character: str) -> None:
    items = [{"text": character * 500, "status": "active"}] * limits.EVENT_PLAN_ITEMS_MAX_COUNT
    artifacts = [character * 200] * limits.EVENT_ARTIFACTS_MAX_COUNT
    story = Story(snapshot(SOLO)).reply("", call("update_plan", {"items": items}))
    plan = story.last("plan.updated")
    assert len(encode_event(plan)) <= limits.EVENT_MAX_BYTES
    assert len(plan.items) == 50
    assert list(plan.items) == list(story.state.plan)
    assert all(item.text and item.text in character * 500 for item in plan.items)
    assert ("long ones were cut" in story.shown) == (len(plan.items[0].text) < 500)
    story.reply("", call("finish", {"result": character * 16_000, "artifacts": artifacts})).taken()
    ended = story.last("run.finished")
    assert len(encode_event(ended)) <= limits.EVENT_MAX_BYTES
    assert ended.result in character * 16_000
    assert len(ended.result) > 4_000
    assert 50 < len(ended.artifacts) <= 100
    assert set(ended.artifacts) == {character * 200}


def test_a_task_of_control_characters_is_cut_where_it_is_shown() -> None:
    task = "\x01" * limits.TASK_MAX_BYTES
    small = Story(snapshot(SOLO, task="short")).of("run.started")[0]
    started = small.model_copy(update={"task": task})
    with pytest.raises(ValueError, match="at most"):
        encode_event(started)
    shown = known(emit.line_of(started).rstrip())
    assert shown.type == "run.started"
    assert (shown.op, shown.task[:9], shown.task[-1]) == ("o1", task[:9], "…")
    assert emit.line_of(small) == encode_event(small), "control"


SUMMARIES = {
    ("", "# Repaired `add`\n\nmore"): "Repaired add",
    ("", "\n\n---\n**Done**: it works"): "Done: it works",
    ("given\nover two\tlines", "x"): "given over two lines",
    ("", "- item"): "item",
    ("  ", "plain"): "plain",
    ("", "***\n"): "",
}


@pytest.mark.parametrize("given_texts", SUMMARIES)
def test_the_summary_is_one_plain_line(given_texts: tuple[str, str]) -> None:
    assert summary_line(*given_texts) == SUMMARIES[given_texts]


def test_the_summary_is_bounded() -> None:
    assert len(summary_line("", "x" * 10_000)) == limits.SUMMARY_MAX_CHARS


def test_pieces_come_at_a_pace_and_not_for_ever() -> None:
    pace = Pace(1.0, now=100.0)
    assert pace.take("a", 100.5) == ""
    assert pace.take("b", 101.0) == "ab"
    assert pace.take("c", 101.5) == ""
    assert pace.take("d" * 10_000, 102.5) == "d" * HELD_MAX_CHARS
    told = sum(bool(pace.take("x", 200.0 + n * 2)) for n in range(1_000))
    assert told == PIECES_PER_CALL_MAX_COUNT - 2


@pytest.mark.parametrize("name", CATALOG)
def test_every_tool_has_a_sound_schema_that_says_what_the_check_says(name: str) -> None:
    spec = tool_spec(name, ("coder",))
    ToolSpec.model_validate(spec)
    jsonschema.Draft202012Validator.check_schema(spec["parameters"])
    assert spec["parameters"]["additionalProperties"] is False
    assert "title" not in json.dumps({k: v for k, v in spec["parameters"].items() if k != "properties"})
    assert name in BUILT_IN_TOOLS
    validator = jsonschema.Draft202012Validator(spec["parameters"])
    surprise = {"surprise": 1}
    assert not validator.is_valid(surprise)
    assert isinstance(check(CATALOG[name].arguments, json.dumps(surprise)), BadArguments)


@given(st.sampled_from(sorted(CATALOG)), st.text(max_size=200))
def test_any_text_is_arguments_or_a_refusal(name: str, text: str) -> None:
    arguments = CATALOG[name].arguments
    assert isinstance(check(arguments, text), arguments | BadArguments)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(CATALOG)), st.data())
def test_any_json_under_the_right_names_is_arguments_or_a_refusal(name: str, data: st.DataObject) -> None:
    arguments = CATALOG[name].arguments
    value = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(arguments.model_fields, JSON)))
    outcome = check(arguments, json.dumps(value))
    assert isinstance(outcome, arguments | BadArguments)
    if not isinstance(outcome, BadArguments):
        assert outcome.title()


def test_the_title_of_a_command_is_its_first_line() -> None:
    assert RunShell(command="\n  make test\nrm -rf x\x1b[2J").title() == "make test"
    assert len(RunShell(command="x" * 5_000).title()) == limits.EVENT_TITLE_MAX_CHARS


# The mailbox


def page(**fields: Any) -> MailboxPage:
    return MailboxPage.model_validate({"cursor": "1"} | fields)


def test_items_become_inputs_and_others_are_left() -> None:
    items = [
        MailboxItem(id="a", cancel=True, author="ann"),
        MailboxItem.model_validate({"id": "b", "interrupt": {"intent": "redirect", "message": "m"}, "author": "bob"}),
        MailboxItem.model_validate({"id": "c", "answer": {"questionId": "q", "text": "yes, approved"}}),
        MailboxItem(id="d"),
    ]
    decision = {"approvalId": "a-o9", "argumentsHash": "0" * 64, "decision": "deny", "author": "cleo"}
    items.append(MailboxItem.model_validate({"id": "e", "approval": decision}))
    assert mailbox.acts(MailboxPage(cursor="1", items=items)) == [
        Interrupted(item="a", intent="cancel", author="ann"),
        Interrupted(item="b", intent="redirect", message="m", author="bob"),
        Answered(item="c", question_id="q", text="yes, approved"),
        Decided(item="e", approval_id="a-o9", arguments_hash="0" * 64, decision="deny", author="cleo"),
    ]


class Pages:
    """Gives its answers one after another, then waits for ever."""

    def __init__(self, *answers: MailboxPage | ErrorInfo) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def mailbox(self, cursor: str, wait_seconds: int) -> MailboxPage | ErrorInfo:
        self.asked.append((cursor, wait_seconds))
        if not self.answers:
            await asyncio.sleep(60)
        return self.answers.pop(0)


async def test_the_mailbox_is_followed_by_its_cursor_through_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox, "RETRY_FIRST_SECONDS", 0.001)
    error = error_info("llm_unavailable", "x")
    pages = Pages(page(cursor="5"), error, error, error, page(cursor="9", storedSeq=3))
    got: list[MailboxPage] = []
    task = asyncio.create_task(mailbox.follow(pages, got.append, lambda: 7, 0.002))
    await asyncio.sleep(0.1)
    task.cancel()
    assert [p.cursor for p in got] == ["5", "9"]
    assert pages.asked == [("", 7), ("5", 7), ("5", 7), ("5", 7), ("5", 7), ("9", 7)]


# Isolation


def target(port: int, *, required: bool = True) -> Target:
    return Target(name="t", host="127.0.0.1", port=port, required=required)


async def test_only_a_port_that_answers_is_an_answer() -> None:
    with socket.socket() as server, socket.socket() as closed:
        server.bind(("127.0.0.1", 0))
        server.listen()
        closed.bind(("127.0.0.1", 0))
        open_port, closed_port = server.getsockname()[1], closed.getsockname()[1]
        assert await isolation.answers(target(open_port))
        assert not await isolation.answers(target(closed_port))
        found = await asyncio.wait_for(isolation.first_answer([target(closed_port), target(open_port)], 0.01), 5)
        assert found.port == open_port
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(isolation.first_answer([target(open_port, required=False)], 0.01), 0.2)


async def test_a_target_that_swallows_packets_costs_a_bounded_time() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        crowd = [socket.socket() for _ in range(8)]
        for sock in crowd:
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", port))
        try:
            assert not await isolation.answers(target(port), 0.3)
        finally:
            for sock in crowd:
                sock.close()


def test_names_are_no_targets() -> None:
    targets = [Target(name=f"t{n}", host=host, port=1) for n, host in enumerate(["::1", "10.0.0.1", "a.b", "1.2.3"])]
    assert isolation.unsound(targets) == ["t2", "t3"]
