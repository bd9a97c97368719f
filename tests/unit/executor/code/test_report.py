"""What the model reads of code, and what code reads of the model's conversation."""

import json
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.content import Block
from guildhall_contracts.model_api import ModelReply
from guildhall_executor import messages
from guildhall_executor.code import report, wire
from guildhall_executor.code.runner import CodeResult
from guildhall_executor.tools.code import RunCode
from guildhall_executor.tools.result import ToolResult, block

ARGS = RunCode(code="1", timeout_seconds=7)


def text(value: str) -> Block:
    return Block(text=value, origin="workspace", authority="data")


def assistant(said: str, *calls: dict[str, str]) -> messages.Message:
    value = {
        "callId": "c",
        "text": said,
        "toolCalls": list(calls),
        "stopReason": "end",
        "usage": {},
        "model": "scripted:m",
    }
    return messages.assistant(ModelReply.model_validate(value | {"totals": {}}))


def test_messages_are_the_conversation_as_text() -> None:
    history = [
        messages.system(text("secret frame")),
        messages.user(text("task"), text("more")),
        assistant("I look", {"id": "t", "name": "read_file", "arguments": '{"path":"a"}'}),
        messages.tool("t", "read_file", text("line")),
    ]
    assert report.snapshot_of(history) == [
        {"role": "user", "content": "task\nmore"},
        {"role": "assistant", "content": 'I look\nread_file({"path":"a"})'},
        {"role": "tool", "content": "line"},
    ]


@pytest.mark.parametrize("content", ["x" * 100_000, "\u0000" * 100_000, "世" * 50_000])
def test_of_a_long_conversation_the_latest_fits(content: str) -> None:
    history = [messages.user(text(f"{n} {content}")) for n in range(400)]
    shown = report.snapshot_of(history)
    assert len(json.dumps(shown)) <= limits.CODE_MESSAGES_MAX_BYTES
    assert [one["content"].split()[0] for one in shown] == [str(n) for n in range(400 - len(shown), 400)]
    assert len(shown) > 1
    assert all(len(one["content"].encode()) <= report.MESSAGE_MAX_BYTES for one in shown)


def test_of_many_short_messages_the_latest_count() -> None:
    shown = report.snapshot_of([messages.user(text(str(n))) for n in range(1_000)])
    assert len(shown) == limits.CODE_MESSAGES_MAX_COUNT
    assert shown[-1]["content"] == "999"


def test_the_largest_request_fits_into_a_frame() -> None:
    worst = "\u0001" * (limits.CODE_MAX_BYTES - 1)
    history = [messages.user(text("\u0001" * 20_000)) for _ in range(300)]
    functions = [f"connection__{'t' * 38}_{n}" for n in range(32)]
    asked = report.request_of(RunCode(code=worst), history, functions, report.bounds_of(ARGS))
    assert wire.frame({"code": asked.code, "messages": list(asked.messages), "functions": dict(asked.functions)})


def shown(result: CodeResult) -> list[str]:
    return [part.text for part in report.render(ARGS, result).result.blocks]


def test_a_value_and_what_was_printed() -> None:
    assert shown(CodeResult("done", ["a\n", "b\n"], '{"n":1}')) == ['done; the value is\n{"n":1}', "a\nb"]
    assert shown(CodeResult("done", value="null")) == ["done"]


@pytest.mark.parametrize(
    ("result", "code", "says"),
    [
        (CodeResult("error", error="Traceback\nValueError: x"), "code_error", "ValueError: x"),
        (CodeResult("killed", reason="time"), "code_killed", "7 seconds (timeout_seconds)"),
        (CodeResult("killed", reason="deadline"), "code_killed", "7 seconds"),
        (CodeResult("killed", reason="host"), "code_killed", "7 seconds"),
        (CodeResult("killed", reason="memory"), "code_killed", "96 MiB (CODE_MEMORY_MAX_BYTES)"),
        (CodeResult("killed", reason="output"), "code_killed", "256 KiB (CODE_OUTPUT_MAX_BYTES)"),
        (CodeResult("killed", reason="crashed"), "code_killed", "memory"),
        (CodeResult("killed", reason="nonsense"), "code_killed", "nonsense"),
    ],
)
def test_what_went_wrong_has_a_code_and_a_reason(result: CodeResult, code: str, says: str) -> None:
    ran = report.render(ARGS, result)
    assert ran.result.error_code == code
    assert says in ran.result.shown


def test_what_was_printed_before_the_end_is_kept() -> None:
    assert shown(CodeResult("killed", ["half\n"], reason="time"))[1] == "half"


def test_long_output_is_cut_and_the_whole_goes_along() -> None:
    lines = [f"line {n}\n" for n in range(20_000)]
    ran = report.render(ARGS, CodeResult("done", lines, json.dumps("v" * 60_000)))
    assert len(ran.result.shown.encode()) <= limits.EVENT_TOOL_OUTPUT_MAX_BYTES
    assert ran.result.omitted_bytes > 0
    assert ran.whole is not None
    assert "line 10000\n" in ran.whole.decode()
    assert report.render(ARGS, CodeResult("done", ["short"])).whole is None


def test_hidden_characters_are_shown_and_escape_sequences_gone() -> None:
    said = shown(CodeResult("done", ["\x1b[31mred\u202e\u200b\n"], '"\u202e"'))
    assert said == ['done; the value is\n"\\u{202e}"', "red\\u{202e}\\u{200b}"]


def test_what_tools_gave_to_code_stays_data_of_the_workspace() -> None:
    for called, origin in ((0, "tool"), (1, "workspace")):
        blocks = report.render(ARGS, CodeResult("done", ["x"], "1", called=called)).result.blocks
        assert {(part.origin, part.authority) for part in blocks} == {(origin, "data")}


def test_a_tool_s_result_is_plain_values() -> None:
    result = ToolResult(blocks=[block("exit code 1"), block("out")], error_code="exit_status", exit_code=1)
    answer: dict[str, Any] = report.answer_of(result)
    assert answer == {"text": "exit code 1\nout", "error_code": "exit_status", "exit_code": 1}


def test_parameters_are_those_of_the_tool_in_their_order() -> None:
    assert report.parameters_of("write_file") == ("path", "content")
    assert report.parameters_of("mail__send") == ()
