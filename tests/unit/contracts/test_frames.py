"""Workshop frames: bounded heads, total decoding on both sides, base64 that is base64."""

import json
from typing import get_args

import pytest
from guildhall_contracts import limits
from guildhall_contracts.base import Record
from guildhall_contracts.frames import (
    AnyReply,
    AnyRequest,
    ExecRequest,
    FrameRefused,
    ReadRequest,
    ReadResult,
    WriteRequest,
    decode_reply,
    decode_request,
    encode_frame,
    frame_length,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.wire import wire_values

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
REQUESTS = get_args(get_args(AnyRequest)[0])


@given(wire_values(AnyRequest))
@QUICK
def test_every_request_survives_its_frame(value: dict[str, object]) -> None:
    request = decode_request(json.dumps(value).encode())
    assert not isinstance(request, FrameRefused), (value, request)
    frame = encode_frame(request)
    assert frame_length(frame[:4]) == len(frame) - 4
    assert decode_request(frame[4:]) == request


@given(wire_values(AnyReply))
@QUICK
def test_every_reply_survives_its_frame(value: dict[str, object]) -> None:
    reply = decode_reply(json.dumps(value).encode())
    assert not isinstance(reply, FrameRefused), (value, reply)
    assert decode_reply(encode_frame(reply)[4:]) == reply


@given(st.binary(max_size=200))
@example(b"")
@example(b"null")
@example(b"[]")
@example(b'{"type":[]}')
@example(b'{"type":"result","op":{}}')
@example(b'{"op":[]}')
@example(b'{"op":"\\ud800"}')
@example(b'{"a":' * 200_000)
@example(b"1" * 5_000)
@example(b'{"id":1e999,"op":"stat"}')
@settings(deadline=None)
def test_any_bytes_give_a_value_on_both_sides(body: bytes) -> None:
    assert isinstance(decode_request(body), Record)
    assert isinstance(decode_reply(body), Record)


@pytest.mark.parametrize("length", [0, 1, limits.FRAME_MAX_BYTES + 1, 2**32 - 1])
def test_a_length_outside_the_bounds_is_refused_before_a_byte_is_read(length: int) -> None:
    assert isinstance(frame_length(length.to_bytes(4, "big")), FrameRefused)
    assert frame_length(limits.FRAME_MAX_BYTES.to_bytes(4, "big")) == limits.FRAME_MAX_BYTES


@pytest.mark.parametrize("head", [b"", b"\0", b"\0\0\0", b"\0\0\0\0\0"])
def test_a_head_is_four_bytes(head: bytes) -> None:
    assert isinstance(frame_length(head), FrameRefused)


def test_a_frame_too_large_is_refused_by_the_writer() -> None:
    fits = WriteRequest(id=1, path="a", data="A" * (limits.FRAME_DATA_MAX_BYTES // 3 * 4))
    assert len(encode_frame(fits)) <= limits.FRAME_MAX_BYTES
    with pytest.raises(ValueError, match="at most 1048576 are allowed"):
        encode_frame(
            ExecRequest(
                id=1, command="\x01" * limits.COMMAND_MAX_BYTES, env={f"K{i}": "\x01" * 6_000 for i in range(32)}
            )
        )


@pytest.mark.parametrize("data", ["a b", "a\n", "====", "é", "AA-_", "A" * 800_000])
def test_data_is_base64_and_bounded(data: str) -> None:
    sound = {"id": 1, "op": "write", "path": "a", "data": "QUJD"}
    assert isinstance(decode_request(json.dumps(sound).encode()), WriteRequest)
    assert isinstance(decode_request(json.dumps({**sound, "data": data}).encode()), FrameRefused)


def test_a_reply_cannot_pass_for_another() -> None:
    sound = {"id": 1, "type": "result", "op": "read", "data": "", "size": 0, "mode": 0o644, "utf8": True}
    assert isinstance(decode_reply(json.dumps(sound).encode()), ReadResult)
    for change in ({"type": "resultt"}, {"op": "exec"}, {"mode": 0o10000}, {"size": -1}, {"sha256": "x"}, {"x": 1}):
        assert isinstance(decode_reply(json.dumps({**sound, **change}).encode()), FrameRefused), change


def test_a_refusal_says_where_and_stays_small() -> None:
    refused = decode_request(json.dumps({"id": 1, "op": "read", "path": "x" * 100_000}).encode())
    assert isinstance(refused, FrameRefused)
    assert "path" in refused.reason
    assert len(refused.reason) <= 500
    assert isinstance(decode_request(b'{"id":1,"op":"read"}'), ReadRequest), "control"


LAX_REPLIES = [{"id": "1"}, {"id": 1.0}, {"id": True}, {"size": "0"}, {"mode": "420"}, {"utf8": 1}, {"utf8": "true"}]
LAX_REQUESTS = [{"id": "1"}, {"stdin": "no"}, {"background": 0}, {"wallSeconds": "5"}, {"headBytes": 1.0}]


@pytest.mark.parametrize("change", LAX_REPLIES)
def test_a_reply_says_numbers_as_numbers(change: dict[str, object]) -> None:
    sound = {"id": 1, "type": "result", "op": "read", "data": "", "size": 0, "mode": 0o644, "utf8": True}
    assert isinstance(decode_reply(json.dumps(sound).encode()), ReadResult)
    assert isinstance(decode_reply(json.dumps({**sound, **change}).encode()), FrameRefused)


@pytest.mark.parametrize("change", LAX_REQUESTS)
def test_a_request_says_numbers_as_numbers(change: dict[str, object]) -> None:
    sound = {"id": 1, "op": "exec", "command": "true", "wallSeconds": 5}
    assert isinstance(decode_request(json.dumps(sound).encode()), ExecRequest)
    assert isinstance(decode_request(json.dumps({**sound, **change}).encode()), FrameRefused)
