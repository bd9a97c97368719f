"""The two ends of the pipe: lengths, frames, and what the executor makes of any bytes."""

import json
import os
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_executor.code import wire
from guildhall_executor.code.frames import Call, Print, Ready, Result, decode
from hypothesis import given
from hypothesis import strategies as st


def encoded(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def test_what_a_worker_says_is_understood() -> None:
    assert decode(encoded(kind="ready", held={"files": True})) == Ready(held={"files": True})
    assert decode(encoded(kind="print", text="a")) == Print(text="a")
    assert decode(encoded(kind="call", id=1, tool="read_file", arguments="{}")) == Call(
        id=1, tool="read_file", arguments="{}"
    )
    assert decode(encoded(kind="result", status="done", value="1")) == Result(status="done", value="1")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        encoded(kind="other"),
        encoded(kind="print"),
        encoded(kind="print", text=1),
        encoded(kind="print", text="a", more=1),
        encoded(kind="call", id=0, tool="x", arguments=""),
        encoded(kind="call", id=1, tool="", arguments=""),
        encoded(kind="call", id=1, tool="x" * 200, arguments=""),
        encoded(kind="call", id=1, tool="x", arguments={}),
        encoded(kind="result", status="fine"),
        encoded(kind="result", status="done", value="x" * (limits.CODE_VALUE_MAX_BYTES + 1)),
        encoded(kind="result", status="killed", reason="approved"),
        encoded(kind="ready", held={str(n): True for n in range(17)}),
        b'{"kind":"print","text":"a","text":"b","kind":"approve"}',
    ],
)
def test_everything_else_is_refused(body: bytes) -> None:
    assert decode(body) is None


@given(st.binary(max_size=200))
def test_no_bytes_raise(body: bytes) -> None:
    assert decode(body) is None


def test_a_frame_reads_as_it_was_written() -> None:
    reading, writing = os.pipe()
    wire.write_all(writing, wire.frame({"a": ["é", 1]}) + wire.frame({"b": 2}))
    os.close(writing)
    assert [wire.read_frame(reading) for _ in range(3)] == [{"a": ["é", 1]}, {"b": 2}, None]
    os.close(reading)


def test_a_cut_frame_is_the_end() -> None:
    reading, writing = os.pipe()
    wire.write_all(writing, wire.frame({"a": 1})[:-1])
    os.close(writing)
    assert wire.read_frame(reading) is None
    os.close(reading)


def test_lengths_over_the_bound_are_refused_on_both_sides() -> None:
    assert wire.length_of(b"\x00\x10\x00\x00") == limits.FRAME_MAX_BYTES
    assert wire.length_of(b"\x00\x10\x00\x01") is None
    with pytest.raises(ValueError, match="at most"):
        wire.frame({"a": "x" * limits.FRAME_MAX_BYTES})
