"""Every record: what it accepts goes out as it came in, fits its schema, is closed and frozen."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.base import Record, cut, one_line, wire_name
from guildhall_contracts.content import Block
from guildhall_contracts.generate.catalogue import SECTIONS, records
from guildhall_contracts.guild import Role
from guildhall_contracts.model_api import AssistantMessage, TextDelta, ToolCall
from guildhall_contracts.run import RunSpec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError
from support.wire import wire_values

ALL = [model for section in SECTIONS for module in section.modules for model in records(module)]
QUICK = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


@cache
def _validator(model: type[Record]) -> Draft202012Validator:
    return Draft202012Validator(model.model_json_schema(by_alias=True))


@pytest.mark.parametrize("model", ALL, ids=lambda model: model.__name__)
@given(data=st.data())
@QUICK
def test_the_way_out_and_back_is_the_identity(model: type[Record], data: st.DataObject) -> None:
    value = data.draw(wire_values(model))
    record = model.model_validate(value)
    wire = record.to_wire()
    _validator(model).validate(wire)
    assert model.model_validate(wire) == record
    assert model.model_validate_json(json.dumps(wire)) == record


@pytest.mark.parametrize("model", ALL, ids=lambda model: model.__name__)
def test_unknown_fields_are_refused_and_values_are_frozen(model: type[Record]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        model.model_validate({"noSuchField": 1})
    assert model.model_config["frozen"] is True


@pytest.mark.parametrize("model", ALL, ids=lambda model: model.__name__)
def test_errors_never_repeat_their_input(model: type[Record]) -> None:
    """What is refused may be a secret or a megabyte: the message says where, never what."""
    canary = "canary-" + "9f" * 8
    fields = [info.alias or name for name, info in model.model_fields.items()]
    with pytest.raises(ValidationError) as caught:
        model.model_validate({**{field: [canary] for field in fields}, "unknown": canary})
    assert canary not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "wire"),
    [
        ("cost_micro_usd", "costMicroUSD"), ("patch_sha256", "patchSHA256"), ("class_", "class"), ("uid", "uid"),
        ("cached_prompt_tokens", "cachedPromptTokens"), ("ttl_seconds_after_finished", "ttlSecondsAfterFinished"),
        ("namespace_per_day_micro_usd", "namespacePerDayMicroUSD"), ("pod_uid", "podUid"), ("path_b64", "pathB64"),
    ],
)  # fmt: skip
def test_wire_names(field: str, wire: str) -> None:
    assert wire_name(field) == wire


def test_no_two_fields_of_a_record_share_a_wire_name() -> None:
    for model in ALL:
        wires = [info.alias or name for name, info in model.model_fields.items()]
        assert len(wires) == len(set(wires)), model


def test_the_catalogue_holds_every_record_of_the_package() -> None:
    def below(model: type[Record]) -> set[type[Record]]:
        return {model}.union(*(below(child) for child in model.__subclasses__()))

    ours = {model for model in below(Record) if model.__module__.startswith("guildhall_contracts.")}
    assert ours - {Record} == set(ALL)


@given(st.text(), st.integers(1, 50))
def test_one_line_is_one_bounded_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line.splitlines() in ([], [line])
    assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in line)


@given(st.text(), st.integers(0, 50))
def test_cut_keeps_the_beginning(text: str, limit: int) -> None:
    assert text.startswith(cut(text, limit))
    assert len(cut(text, limit)) == min(len(text), limit)


def test_text_is_bounded_in_bytes_where_the_name_says_bytes() -> None:
    fits: dict[str, Any] = {"name": "a", "model": "m", "prompt": "é" * (limits.PROMPT_MAX_BYTES // 2)}
    Role.model_validate(fits)
    with pytest.raises(ValidationError, match="is 32770 bytes long; at most 32768 bytes are allowed"):
        Role.model_validate({**fits, "prompt": fits["prompt"] + "é"})
    RunSpec.model_validate({"task": "x" * limits.TASK_MAX_BYTES})
    with pytest.raises(ValidationError):
        RunSpec.model_validate({"task": "€" * (limits.TASK_MAX_BYTES // 3 + 1)})


@pytest.mark.parametrize("character", ["a", "é", "€", "\U0001f600"])
def test_what_a_model_is_sent_and_sends_is_bounded_in_bytes(character: str) -> None:
    width = len(character.encode())

    def block(text: str) -> Record:
        return Block(text=text, origin="model", authority="data")

    makers: list[tuple[Callable[[str], Record], int]] = [
        (block, limits.BLOB_RESULT_MAX_BYTES),
        (lambda text: AssistantMessage(text=text), limits.BLOB_RESULT_MAX_BYTES),
        (lambda text: ToolCall(id="1", name="x", arguments=text), limits.TOOL_ARGUMENTS_MAX_BYTES),
        (lambda text: TextDelta(text=text), limits.EVENT_TEXT_MAX_BYTES),
    ]
    for make, limit in makers:
        make(character * (limit // width))
        with pytest.raises(ValidationError, match="at most"):
            make(character * (limit // width + 1))
