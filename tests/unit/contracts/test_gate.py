"""Termination messages: at most 2 KiB, strict, and nothing but a message or None."""

import json
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.gate import ExecutorMessage, PrepareMessage, decode_message
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.wire import wire_values

EXECUTOR: dict[str, Any] = {"v": 1, "run": "u", "attempt": 1, "outcome": "succeeded", "lastSeq": 9}
PREPARE: dict[str, Any] = {"v": 1, "outcome": "passed"}


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("utf-8", "surrogateescape")))
@example("")
@example("\ud800")
@example("[" * 2_000)
@example('{"v":1e999}')
def test_any_text_gives_a_message_or_none(text: str) -> None:
    prepare, executor = decode_message(PrepareMessage, text), decode_message(ExecutorMessage, text)
    assert prepare is None or isinstance(prepare, PrepareMessage)
    assert executor is None or isinstance(executor, ExecutorMessage)


@pytest.mark.parametrize(("model", "sound"), [(ExecutorMessage, EXECUTOR), (PrepareMessage, PREPARE)])
def test_a_sound_message_is_read_and_any_doubt_is_none(model: Any, sound: dict[str, Any]) -> None:
    assert decode_message(model, json.dumps(sound)) is not None
    for change in ({"extra": 1}, {"v": 2}, {"outcome": "maybe"}, {"outcome": None}, {"v": "1"}):
        assert decode_message(model, json.dumps({**sound, **change})) is None, change
    assert decode_message(model, json.dumps(sound) + "x") is None
    assert decode_message(model, json.dumps([sound])) is None


@pytest.mark.parametrize("change", [{"attempt": "1"}, {"attempt": 1.0}, {"attempt": True}, {"lastSeq": "9"}])
def test_a_number_is_a_number(change: dict[str, Any]) -> None:
    """Another language that reads the same message takes none of these for what was meant."""
    assert decode_message(ExecutorMessage, json.dumps(EXECUTOR)) is not None
    assert decode_message(ExecutorMessage, json.dumps({**EXECUTOR, **change})) is None
    target = {"name": "a", "required": True, "attempts": 1, "deniedInARow": 1, "last": "refused"}
    assert decode_message(PrepareMessage, json.dumps({**PREPARE, "targets": [target]})) is not None
    for lax in ({"required": "yes"}, {"required": 1}, {"attempts": "1"}):
        assert decode_message(PrepareMessage, json.dumps({**PREPARE, "targets": [{**target, **lax}]})) is None, lax


def test_the_size_is_counted_in_bytes_before_anything_is_parsed() -> None:
    text = json.dumps({**EXECUTOR, "message": "é" * 300}, ensure_ascii=False)
    room = limits.TERMINATION_MESSAGE_MAX_BYTES - len(text.encode())
    assert decode_message(ExecutorMessage, text + " " * room) is not None
    assert decode_message(ExecutorMessage, text + " " * (room + 1)) is None


def test_the_largest_honest_messages_fit() -> None:
    """What prepare and the executor may have to say at most is below the kubelet's and our bound."""
    evidence = [
        {"name": f"target-{index:02}", "required": True, "attempts": 60, "deniedInARow": 3, "last": "unreachable"}
        for index in range(limits.GATE_TARGETS_MAX_COUNT)
    ]
    prepare = {**PREPARE, "outcome": "not_enforced", "targets": evidence, "message": "m" * 200,
               "workspace": {"files": 2**31, "contentBytes": 2**40, "hashedOnlyFiles": 9, "baselineSHA256": "a" * 64},
               "elapsedMilliseconds": 60_000}  # fmt: skip
    text = json.dumps(prepare, separators=(",", ":"))
    assert len(text) <= limits.TERMINATION_MESSAGE_MAX_BYTES
    assert decode_message(PrepareMessage, text) is not None
    executor = {**EXECUTOR, "run": "u" * 64, "outcome": "failed", "errorKind": "budget_exhausted",
                "reason": "r" * 40, "message": "é" * 600, "lastSeq": 2**53}  # fmt: skip
    text = json.dumps(executor, separators=(",", ":"), ensure_ascii=False)
    assert len(text.encode()) <= limits.TERMINATION_MESSAGE_MAX_BYTES
    assert decode_message(ExecutorMessage, text) is not None


@given(wire_values(ExecutorMessage))
@settings(suppress_health_check=list(HealthCheck), deadline=None)
def test_what_fits_the_schema_is_read_as_it_was_meant(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    found = decode_message(ExecutorMessage, text)
    if len(text) <= limits.TERMINATION_MESSAGE_MAX_BYTES:
        assert found == ExecutorMessage.model_validate(value)
    else:
        assert found is None
