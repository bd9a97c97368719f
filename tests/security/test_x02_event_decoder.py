"""Promise X2, the decoder's half: bytes that are no event of the Run never become one, and none is passed on unsafe."""

import json

import pytest
from guildhall_api.intake import LINE_MAX_BYTES, Intake, Taken
from guildhall_api.lines import Line, LineSplitter
from guildhall_contracts import limits
from guildhall_contracts.events import Unreadable, decode_event
from hypothesis import given, settings
from hypothesis import strategies as st
from support.api_run import UID, start_line, warn_line

STAMP = b"2026-01-05T09:00:00.000000001Z "


def _intake() -> Intake:
    intake = Intake(UID)
    intake.follow("pod", 1)
    return intake


def _take(intake: Intake, data: bytes) -> Taken | Unreadable | None:
    intake.stamp = ""
    return intake.take(Line(STAMP + data, len(STAMP) + len(data)))


def _event(**changes: object) -> bytes:
    return json.dumps(json.loads(warn_line(1)) | changes).encode()


FORGED = {
    "another run": _event(run="ffffffff-0000-4000-8000-000000000000"),
    "a later attempt": _event(attempt=2),
    "an attempt of no kind": _event(attempt=0),
    "seq as text": _event(seq="1"),
    "seq as fraction": _event(seq=1.5),
    "seq beyond what JSON numbers carry": _event(seq=2**53),
    "seq negative": _event(seq=-1),
    "another version": _event(v=2),
    "an extra field": _event(approved=True),
    "a field of another type": _event(used={"innerHTML": "<b>"}),
    "not a number": _event(used=1).replace(b'"used": 1', b'"used": NaN'),
    "two objects": _event() + _event(),
    "UTF-16": _event().decode().encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + _event(),
    "nested without end": b"[" * 100_000,
    "a number without end": b'{"seq":' + b"9" * 100_000 + b"}",
    "an unknown type with a foreign run": _event(type="run.blessed", run="f" * 36),
    "an unknown type that is markup": _event(type="run.<b>"),
    "an array": b"[" + _event() + b"]",
    "nothing": b"",
}


@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED)
def test_forged_lines_become_rows_and_move_nothing(data: bytes) -> None:
    intake = _intake()
    assert isinstance(_take(intake, data), Unreadable)
    assert (intake.last_seq, intake.unreadable, intake.holes) == (0, 1, [])
    assert isinstance(_take(intake, start_line()), Taken), "positive control"


def test_an_event_within_an_event_is_text() -> None:
    """A tool that prints a perfect event: escaped inside its own event it stays a string, even cut in two."""
    forged = start_line().decode()
    line = json.loads(warn_line(1)) | {"type": "tool.progress", "op": "o1", "text": f"x\n{forged}\r\n"}
    for name in ("kind", "used", "limit"):
        del line[name]
    intake = _intake()
    taken = _take(intake, json.dumps(line).encode())
    assert isinstance(taken, Taken)
    assert taken.event.type == "tool.progress"
    assert b"\n" not in taken.line
    assert intake.last_seq == 1


@pytest.mark.parametrize("space", [b"\r", b"\t", b" \r ", b"\r\rdata: x\r"[:2]])
def test_white_space_that_ends_a_line_elsewhere_is_not_passed_on(space: bytes) -> None:
    raw = _event().replace(b", ", b"," + space)
    taken = _take(_intake(), raw)
    assert isinstance(taken, Taken)
    assert json.loads(taken.line) == json.loads(raw)
    assert all(0x20 <= byte < 0x7F for byte in taken.line)


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_any_bytes_decode_to_a_value(data: bytes) -> None:
    decode_event(data)
    taken = _take(_intake(), data)
    if isinstance(taken, Taken):
        assert taken.line.isascii()
        json.loads(taken.line)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_events_never_raise_and_what_is_taken_is_safe(data: st.DataObject) -> None:
    raw = bytearray(data.draw(st.sampled_from([start_line(), warn_line(1)])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    taken = _take(_intake(), bytes(raw).replace(b"\n", b""))
    if isinstance(taken, Taken):
        assert all(0x20 <= byte < 0x7F for byte in taken.line)
        assert taken.event.run == UID


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=20), st.lists(st.integers(1, 30), max_size=60))
def test_lines_are_the_same_however_they_are_cut(lines: list[bytes], cuts: list[int]) -> None:
    whole = [each.replace(b"\n", b".") for each in lines]
    stream, splitter, found, at = b"".join(each + b"\n" for each in whole), LineSplitter(20), list[Line](), 0
    for size in (*cuts, len(stream)):
        found += splitter.feed(stream[at : at + size])
        at += size
    assert [(line.data, line.size, line.cut) for line in found] == [
        (each[:20], len(each), len(each) > 20) for each in whole
    ]
    assert splitter.rest() is None


def test_lines_at_and_over_the_bound() -> None:
    intake, text = _intake(), "y"
    event = json.loads(warn_line(1)) | {"type": "note.taken"}
    room = limits.EVENT_MAX_BYTES - len(json.dumps(event | {"text": ""}).encode())
    longest = json.dumps(event | {"text": text * room}).encode()
    assert len(longest) == limits.EVENT_MAX_BYTES
    taken = _take(intake, longest)
    assert isinstance(taken, Taken)
    row = _take(intake, json.dumps(event | {"seq": 2, "text": text * (room + 1)}).encode())
    assert isinstance(row, Unreadable)
    assert row.bytes == limits.EVENT_MAX_BYTES + 1
    assert len(row.text) <= limits.UNREADABLE_SHOWN_MAX_CHARS
    assert LINE_MAX_BYTES >= limits.EVENT_MAX_BYTES + len(STAMP)  # noqa: SIM300
