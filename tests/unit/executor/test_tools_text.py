"""Bytes as text: nothing hidden, nothing that moves a cursor, nothing over its bound."""

import base64
import time
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.frames import ExecResult
from guildhall_executor.tools import text
from guildhall_executor.tools.result import Ran, block
from guildhall_executor.tools.shell import RunShell, render_exec
from hypothesis import given
from hypothesis import strategies as st

TERMINAL = {
    "colours": (b"\x1b[1;31mred\x1b[0m plain", "red plain"),
    "window title": (b"\x1b]0;owned\x07after", "after"),
    "title ended by ST": (b"\x1b]2;owned\x1b\\after", "after"),
    "a link": (b"\x1b]8;;https://x/y\x1b\\the text\x1b]8;;\x1b\\ after", "the text after"),
    "a long link": (b"\x1b]8;;https://x/" + b"y" * 2_000 + b"\x07the text", "the text"),
    "a title without an end": (b"ok\n\x1b]0;FAILED a\nFAILED b\n", "ok\n0;FAILED a\nFAILED b\n"),
    "a title that ends on another line": (b"\x1b]0;FAILED a\nFAILED b\n\x07", "0;FAILED a\nFAILED b\n\\x07"),
    "a title that ends behind a redraw": (b"\x1b]0;a\r\nFAILED\x07", "0;a\nFAILED\\x07"),
    "a title as long as a log": (b"\x1b]0;" + b"F" * 5_000 + b"\x07", "0;" + "F" * 5_000 + "\\x07"),
    "a title cut by another sequence": (b"\x1b]0;FAILED\x1b[0m tail", "0;FAILED tail"),
    "device string without an end": (b"\x1bPFAILED\n", "FAILED\n"),
    "start of string without an end": (b"\x1bX\nFAILED: 3 tests\n", "\nFAILED: 3 tests\n"),
    "private message without an end": (b"\x1b^FAILED\n", "FAILED\n"),
    "application command without an end": (b"\x1b_x\nFAILED\n\x1b[0m tail\n", "x\nFAILED\n tail\n"),
    "colour without an end": (b"\x1b[31\nFAILED\n", "31\nFAILED\n"),
    "cursor up and clear": (b"one\n\x1b[1A\x1b[2Ktwo", "one\ntwo"),
    "progress": (b"".join(b"\r%d%%" % n for n in range(101)) + b"\n", "100%\n"),
    "CRLF is a line end": (b"a\r\nb\r\n", "a\nb\n"),
    "overstrike": (b"ab\x08c", "ac"),
    "backspaces before a line": (b"a\n\x08\x08b", "a\nb"),
    "bell and NUL": (b"a\x07b\x00c", "a\\x07b\\x00c"),
    "invalid UTF-8": (b"a\xf0b", "a\\xf0b"),
    "C1 control": ("a\x9b31mb".encode(), "ab"),
    "direction override": ("a\u202eb".encode(), "a\\u{202e}b"),
    "tag characters": ("a\U000e0041b".encode(), "a\\u{e0041}b"),
    "zero width": ("a\u200bb".encode(), "a\\u{200b}b"),
    "selectors and fillers": ("a\ufe00\U000e0100\u3164\u2800b".encode(), "a\\u{fe00}\\u{e0100}\\u{3164}\\u{2800}b"),
    "an emoji's own": ("✔\ufe0f 👩\u200d💻".encode(), "✔\ufe0f 👩\u200d💻"),
    "line separator": ("a\u2028b".encode(), "a\\u{2028}b"),
    "lone escape": (b"a\x1b", "a\\x1b"),
}


@pytest.mark.parametrize("name", TERMINAL)
def test_terminal_output_becomes_plain_lines(name: str) -> None:
    data, expected = TERMINAL[name]
    assert text.terminal_text(data) == expected


@given(st.binary(max_size=500))
def test_no_bytes_leave_a_control_character(data: bytes) -> None:
    shown = text.terminal_text(data)
    assert all(c in "\n\t" or c.isprintable() or ord(c) >= 0xA0 for c in shown)
    assert "\x1b" not in shown


@given(st.sampled_from("]PX^_[(#"), st.text("ab0;\x07\x1b\\ \r\n", max_size=40))
def test_no_sequence_hides_the_lines_after_its_own(kind: str, string: str) -> None:
    shown = text.terminal_text(f"before\n\x1b{kind}{string}\nFAILED 3\nok\n".encode())
    assert shown.startswith("before\n")
    assert shown.endswith("FAILED 3\nok\n")


@pytest.mark.parametrize("piece", [b"\x1b]", b"\x1b]0;x", b"\x1bP" + b"a" * 100, b"\x1b[1;", b"\x1b"])
def test_a_megabyte_of_beginnings_takes_no_time(piece: bytes) -> None:
    began = time.monotonic()
    text.terminal_text(piece * (2**20 // len(piece)))
    assert time.monotonic() - began < 5


@given(st.text(max_size=400), st.integers(64, 200))
def test_the_middle_goes_and_its_bytes_are_counted(whole: str, room: int) -> None:
    shown, omitted = text.head_and_tail(whole, room)
    if omitted:
        assert f"{omitted} bytes left out here" in shown
        head, _, tail = shown.partition(f"\n[guildhall: {omitted} bytes left out here]\n")
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert text.byte_len(head) + text.byte_len(tail) + omitted == text.byte_len(whole)
    else:
        assert shown == whole


@given(st.lists(st.text(max_size=50), max_size=50), st.integers(0, 500))
def test_lines_are_bounded(lines: list[str], room: int) -> None:
    kept, left = text.bounded_lines(lines, room)
    assert len(kept) + left == len(lines)
    assert sum(text.byte_len(line) + 1 for line in kept) <= room


def executed(output: bytes = b"", **fields: Any) -> Ran:
    value = {"id": 1, "type": "result", "op": "exec", "ended": "exited", "exitCode": 0}
    value |= {"head": base64.b64encode(output).decode()} | fields
    if value["ended"] != "exited":
        value.pop("exitCode", None)
    return render_exec(RunShell(command="x", timeout_seconds=7), 5, ExecResult.model_validate(value))


@pytest.mark.parametrize("code", [0, 1, 7])
def test_a_command_without_output_says_so(code: int) -> None:
    ran = executed(exitCode=code)
    assert ran.result.shown == f"exit code {code}\nno output"
    assert ran.result.error_code == (None if code == 0 else "exit_status")


def test_a_signal_need_not_have_a_name() -> None:
    ran = executed(ended="signalled")
    assert ran.result.shown.startswith("ended by signal without a name")
    assert ran.result.error_code == "signalled"


ENDINGS = {
    "signalled": ({"ended": "signalled", "signal": "SIGKILL"}, "ended by signal SIGKILL"),
    "wall_timeout": ({"ended": "wall_timeout"}, "stopped after 7 seconds"),
    "idle_timeout": ({"ended": "idle_timeout"}, "no output for 5 seconds"),
    "process_limit": ({"ended": "process_limit"}, f"more than {limits.COMMAND_PROCESSES_MAX_COUNT} processes"),
    "cancelled": ({"ended": "cancelled"}, "cancelled"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_every_way_to_end_is_said_and_is_an_error(name: str) -> None:
    fields, said = ENDINGS[name]
    ran = executed(b"x\n", **fields)
    assert said in ran.result.blocks[0].text
    assert ran.result.error_code == name
    assert ran.result.blocks[1].text == "x"


def test_time_is_never_shown() -> None:
    one, two = (executed(b"x", elapsedMilliseconds=ms).result for ms in (3, 9_999))
    assert one == two


def test_a_megabyte_line_is_cut_by_bytes_with_both_ends_kept() -> None:
    head, tail = b"A" * 190_000, b"Z" * 190_000
    ran = executed(head, tail=base64.b64encode(tail).decode(), omittedBytes=620_000, totalBytes=1_000_000)
    shown = ran.result.blocks[1].text
    assert text.byte_len(ran.result.shown) <= limits.EVENT_TOOL_OUTPUT_MAX_BYTES
    assert shown.startswith("AAA")
    assert shown.endswith("ZZZ")
    kept = shown.count("A") + shown.count("Z")
    assert abs(ran.result.omitted_bytes + kept - 1_000_000) < 100
    assert ran.whole is not None
    assert len(ran.whole) <= limits.BLOB_RESULT_MAX_BYTES
    assert ran.whole.startswith(head)
    assert ran.whole.endswith(tail)


def test_a_bad_byte_costs_nothing_after_it() -> None:
    ran = executed(b"\xf0" + b"t" * 20_000 + b"MARK", exitCode=3)
    assert ran.result.shown.endswith("MARK")
    assert ran.result.exit_code == 3


@pytest.mark.parametrize("character", ["a", "é", "\U0001f600"])
def test_a_block_holds_as_many_bytes_as_the_contract_allows(character: str) -> None:
    most = limits.BLOB_RESULT_MAX_BYTES
    assert text.byte_len(block(character * most).text) == most
    assert block(character * 9).text == character * 9
