"""The LogEvent codec: one ASCII line out, any bytes in."""

import json
from typing import get_args

import pytest
from guildhall_contracts import limits
from guildhall_contracts.events import (
    EVENT_TYPES,
    Event,
    KnownEvent,
    RunSummarized,
    ToolProgress,
    UnknownEvent,
    Unreadable,
    decode_event,
    encode_event,
)
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from support.wire import wire_values

UNION = get_args(KnownEvent)[0]
MODELS = get_args(UNION)
ADAPTER: TypeAdapter[KnownEvent] = TypeAdapter(KnownEvent)
HEAD = {"v": 1, "run": "u-1", "attempt": 1, "seq": 1, "ts": "2026-01-01T00:00:00.000Z"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def test_the_list_of_types_is_the_union() -> None:
    assert {model.model_fields["type"].default for model in MODELS} == EVENT_TYPES
    assert all(issubclass(model, Event) for model in MODELS)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_event_survives_its_line(model: type[Event], data: st.DataObject) -> None:
    event = ADAPTER.validate_python(data.draw(wire_values(model)))
    line = encode_event(event)
    assert line.endswith(b"\n")
    body = line[:-1]
    assert all(0x20 <= byte < 0x7F for byte in body), "no byte breaks a line or a terminal"
    assert decode_event(body) == event


@given(st.binary(max_size=200))
@example(b"")
@example(b"{")
@example(b"\xff\xfe")
@example(b"null")
@example(b'{"type":[]}')
@example(b'{"type":{}}')
@example(b'{"type":null}')
@example(b'{"type":"run.started"}')
@example(b'{"seq":NaN}')
@example(b'{"type":"\\ud800"}')
@example(b"[" * 100)
@example(b'{"a":' * 100_000)
@example(b"1" * 5_000)
@settings(deadline=None)
def test_any_bytes_give_a_value(line: bytes) -> None:
    found = decode_event(line, after=7)
    assert isinstance(found, (Event, UnknownEvent, Unreadable))
    if isinstance(found, Unreadable):
        assert (found.after, found.bytes) == (7, len(line))
        assert found.text.isprintable()
        assert len(found.text) <= limits.UNREADABLE_SHOWN_MAX_CHARS


@given(JSON, st.sampled_from([*sorted(EVENT_TYPES), "later.kind", "Bad Type", 5, None]))
@settings(deadline=None)
def test_any_json_gives_a_value(value: object, kind: object) -> None:
    whole = value if isinstance(value, dict) else {"op": value}
    line = json.dumps({**HEAD, "type": kind, **whole}).encode()
    assert isinstance(decode_event(line), (Event, UnknownEvent, Unreadable))


@pytest.mark.parametrize("field", sorted(HEAD))
@pytest.mark.parametrize("wrong", [None, "", -1, 2**60, "5", True, 1.5, (), ((),)], ids=repr)
def test_an_unsound_envelope_is_unreadable(field: str, wrong: object) -> None:
    sound = {**HEAD, "type": "run.summarized", "summary": "s"}
    assert isinstance(decode_event(json.dumps(sound).encode()), RunSummarized), "control"
    found = decode_event(json.dumps({**sound, field: wrong}).encode())
    harmless = (field, wrong) in {("run", "5"), ("v", True)}  # a uid may be "5"; true is 1, and is read as 1
    assert isinstance(found, RunSummarized if harmless else Unreadable)


def test_a_type_of_a_later_version_is_kept_whole() -> None:
    line = json.dumps({**HEAD, "type": "role.promoted", "x": 1}).encode()
    found = decode_event(line)
    assert isinstance(found, UnknownEvent)
    assert (found.type, found.raw) == ("role.promoted", line.decode())


def test_one_byte_too_many_is_unreadable() -> None:
    line = json.dumps({**HEAD, "type": "role.promoted", "x": ""}).encode()
    room = limits.EVENT_MAX_BYTES - len(line)
    fits = line.replace(b'"x": ""', b'"x": "' + b"a" * room + b'"')
    assert isinstance(decode_event(fits), UnknownEvent)
    assert isinstance(decode_event(fits + b" "), Unreadable)


def test_the_largest_event_of_one_text_fits_even_when_every_byte_is_escaped() -> None:
    """LS-02: 16 KiB of text, each character six bytes on the line, stays below the line's bound."""
    worst = ToolProgress.model_validate(
        {**HEAD, "type": "tool.progress", "op": "o1", "text": "\x01" * limits.EVENT_TEXT_MAX_BYTES}
    )
    line = encode_event(worst)
    assert 6 * limits.EVENT_TEXT_MAX_BYTES < len(line) <= limits.EVENT_MAX_BYTES
    assert decode_event(line[:-1]) == worst


def test_an_event_over_the_bound_is_refused_by_the_writer_not_cut() -> None:
    big = {**HEAD, "type": "changes.updated", "files": [
        {"path": "\x01" * 4_000, "status": "added"} for _ in range(limits.EVENT_CHANGED_FILES_MAX_COUNT)]}  # fmt: skip
    with pytest.raises(ValueError, match="at most 262144 are allowed"):
        encode_event(ADAPTER.validate_python(big))
