"""The fold: the golden cases, the laws it keeps, and what the rules promise where a golden could hide a mistake."""

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from guildhall_api.fold import close, fold
from guildhall_api.model import Model
from guildhall_contracts.events import EVENT_TYPES, KnownEvent, UnknownEvent, Unreadable, decode_event
from guildhall_contracts.interaction import InteractionModel
from hypothesis import given, settings
from hypothesis import strategies as st

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = sorted((GOLDEN / "fold").glob("*.json"))
Wire = dict[str, Any]


def _cases() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fold_cases", GOLDEN / "fold_cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("fold_cases", module)
    spec.loader.exec_module(module)
    return module


cases = _cases()


def _decoded(lines: list[Any]) -> Iterator[KnownEvent | UnknownEvent | Unreadable]:
    for each in lines:
        yield decode_event((each if isinstance(each, str) else json.dumps(each)).encode())


def _folded(lines: list[Any], model: Model | None = None) -> Model:
    model = model or Model()
    for event in _decoded(lines):
        fold(model, event)
    return model


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden(path: Path) -> None:
    case = json.loads(path.read_text())
    model = _folded(case["lines"])
    if "close" in case:
        close(model, case["close"]["ts"], case["close"]["status"])
    assert model.to_wire() == case["model"]
    InteractionModel.model_validate(case["model"])  # what is served keeps the contract


def test_the_goldens_are_those_of_the_cases_and_meet_every_event_type() -> None:
    assert {path.stem for path in FILES} == set(cases.CASES)
    for path, text in cases.texts():
        assert json.loads(path.read_text()) == json.loads(text)
    seen = {each["type"] for _, lines, _ in cases.CASES.values() for each in lines if isinstance(each, dict)}
    assert seen >= EVENT_TYPES


ALL_LINES = [
    line
    for _, lines, _ in cases.CASES.values()
    for line in lines
    if isinstance(line, dict) and not isinstance(next(_decoded([line])), Unreadable)
]


@st.composite
def histories(draw: st.DrawFn) -> list[Wire]:
    """Runs nobody designed: events of every case in any order, numbered anew, some numbers left out or repeated."""
    picked = draw(st.lists(st.sampled_from(ALL_LINES), max_size=30))
    steps = draw(st.lists(st.sampled_from([1, 1, 1, 1, 0, 2]), min_size=len(picked), max_size=len(picked)))
    seq, lines = 0, []
    for event, step in zip(picked, steps, strict=True):
        seq = max(1, seq + step)
        lines.append(event | {"seq": seq, "op": event["op"]} if "op" in event else event | {"seq": seq})
    return lines


@settings(max_examples=150, deadline=None)
@given(histories())
def test_any_history_gives_a_model_within_the_contract(lines: list[Wire]) -> None:
    wire = _folded(lines).to_wire()
    InteractionModel.model_validate(json.loads(json.dumps(wire, allow_nan=False)))
    still_open = [operation for operation in wire["operations"] if operation["outcome"] == "active"]
    tools = [operation for operation in still_open if operation["destination"].startswith("tool:")]
    active = sum(each["active"] for each in wire["participants"] if each["id"] != "tools")
    assert active == len(still_open)
    assert all(each["active"] >= 0 and each["invocations"] >= each["active"] for each in wire["participants"])
    assert sum(each["active"] for each in wire["participants"] if each["id"] == "tools") == len(tools)


@settings(max_examples=100, deadline=None)
@given(histories())
def test_folding_twice_is_folding_once(lines: list[Wire]) -> None:
    once = _folded(lines).to_wire()
    assert _folded(lines, _folded(lines)).to_wire() == once
    assert _folded([each for line in lines for each in (line, line)]).to_wire() == once


@settings(max_examples=100, deadline=None)
@given(histories(), st.integers(0, 30))
def test_a_prefix_and_the_rest_are_the_whole(lines: list[Wire], cut: int) -> None:
    early = _folded(lines[:cut])
    early.to_wire()  # looking changes nothing
    assert _folded(lines[cut:], early).to_wire() == _folded(lines).to_wire()


@settings(max_examples=50, deadline=None)
@given(histories())
def test_nothing_is_open_after_close(lines: list[Wire]) -> None:
    model = close(_folded(lines), "2026-01-05T10:00:00.000Z", "failed")
    wire = model.to_wire()
    assert wire["run"]["status"] in {"succeeded", "failed", "cancelled"}
    was_ended = any(line["type"] == "run.finished" for line in lines)
    assert was_ended or all(operation["outcome"] != "active" for operation in wire["operations"])
    assert was_ended or all(each["active"] == 0 for each in wire["participants"])


def test_money_adds_up_along_every_way_it_is_shown() -> None:
    _, lines, _ = cases.CASES["stacks"]
    wire = _folded(lines).to_wire()
    by_id = {operation["id"]: operation for operation in wire["operations"]}
    assert by_id["o5"]["metrics"]["costMicroUSD"] == 1000
    assert by_id["o4"]["metrics"]["costMicroUSD"] == 1000  # its delegation
    assert by_id["o3"]["metrics"]["costMicroUSD"] == 1400  # with the call of its own
    assert by_id["o1"]["metrics"]["costMicroUSD"] == wire["run"]["metrics"]["costMicroUSD"] == 1400
    people = {each["id"]: each["metrics"]["costMicroUSD"] for each in wire["participants"]}
    assert people["role:reviewer"] == 1000
    assert people["role:coder"] == 400
    assert people["role:planner"] == 0
    assert by_id["o4"]["stack"] == ["planner", "coder", "reviewer"]


def test_an_unknown_price_spoils_only_its_own_chain() -> None:
    _, lines, _ = cases.CASES["unknown-price"]
    wire = _folded(lines).to_wire()
    cost = {operation["id"]: operation["metrics"]["costMicroUSD"] for operation in wire["operations"]}
    assert cost["o5"] == 0  # it failed: nothing was bought
    assert cost["o8"] is None
    assert cost["o7"] is None
    assert cost["o1"] is None
    assert cost["o12"] == 400  # another delegation is still known
    assert wire["run"]["metrics"]["costMicroUSD"] is None
    assert wire["run"]["metrics"]["tokens"] == 107


def test_parallel_delegates_are_told_apart_by_parent() -> None:
    """TU-02: events of two delegates alternate; each operation stays under its own."""
    _, lines, _ = cases.CASES["parallel"]
    wire = _folded(lines).to_wire()
    parents = {operation["id"]: operation["parent"] for operation in wire["operations"] if "parent" in operation}
    assert parents == {"o3": "o1", "o4": "o1", "o5": "o3", "o6": "o4", "o7": "o3", "o8": "o4", "o13": "o3"}
    tokens = {operation["id"]: operation["metrics"]["tokens"] for operation in wire["operations"]}
    assert (tokens["o3"], tokens["o4"]) == (50, 60)
    coder = next(each for each in wire["participants"] if each["id"] == "role:coder")
    assert coder["active"] == 1  # the left delegation; its calls and the right one have ended
    assert coder["invocations"] == 4


def test_prose_is_cut_by_code_points() -> None:
    _, lines, _ = cases.CASES["cutting"]
    operations = {operation["id"]: operation for operation in _folded(lines).to_wire()["operations"]}
    assert operations["o1"]["details"] == "\U0001f9ea" * 1_999 + "a"
    assert operations["o4"]["result"] == "\U0001f9ea" * 1_999 + "e"
    assert operations["o8"]["details"] == "y" * 1_998 + "\n\n"
    assert len(operations["o10"]["result"]) == 2_000
