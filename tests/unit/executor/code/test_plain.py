"""What leaves the interpreter is bounded JSON, whatever it was."""

import json
from typing import Any

import pytest
from guildhall_executor.code import plain
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_json_values_come_through_whole(value: Any) -> None:
    assert json.loads(plain.to_json(value, 1 << 20)) == value


def test_a_tuple_is_a_list() -> None:
    assert plain.to_json((1, (2,)), 100) == "[1,[2]]"


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


class Text(str):
    """Looks like text and is more."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (object(), "object is no JSON"),
        (b"x", "bytes is no JSON"),
        ({1}, "set is no JSON"),
        (Text("x"), "Text is no JSON"),
        (float("nan"), "nan"),
        (float("inf"), "nan"),
        ({1: 2}, "only str keys"),
        ({"a": [lambda: 1]}, "function is no JSON"),
        (10**2_000, "bits"),
        (deep(40), "deep"),
        (deep(100_000), "deep"),
        ([0] * 200_001, "items"),
        ("a" * 200, "bytes of JSON"),
    ],
)
def test_anything_else_is_refused_and_the_message_says_why(value: Any, why: str) -> None:
    with pytest.raises(plain.NotPlain, match=why):
        plain.to_json(value, 100)


def test_what_refers_to_itself_is_refused() -> None:
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(plain.NotPlain, match="deep"):
        plain.to_json(ring, 100)


def test_lone_surrogates_are_escaped() -> None:
    assert plain.to_json("\ud800", 100) == '"\\ud800"'


def test_arguments_go_by_place_and_by_name() -> None:
    text = plain.arguments("read_file", ["path", "start_line", "max_lines"], ["a"], {"max_lines": 3})
    assert json.loads(text) == {"path": "a", "max_lines": 3}


@pytest.mark.parametrize(
    ("positional", "named", "why"),
    [(["a", 1, 2, 3], {}, "takes 3 arguments: path"), (["a"], {"path": "b"}, "several values for 'path'")],
)
def test_arguments_that_do_not_fit_are_refused(positional: list[Any], named: dict[str, Any], why: str) -> None:
    with pytest.raises(TypeError, match=why):
        plain.arguments("read_file", ["path", "start_line", "max_lines"], positional, named)


def test_a_long_error_keeps_its_end() -> None:
    assert plain.tail("x" * 50 + "\nValueError: é", 20).endswith("ValueError: é")
    assert len(plain.tail("é" * 50, 21).encode()) <= 21
