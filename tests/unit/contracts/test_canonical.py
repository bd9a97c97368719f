"""A1: same meaning, same hash; other value, other hash; anything ambiguous is refused."""

import json
from typing import Any

import pytest
from guildhall_contracts.canonical import NotCanonical, arguments_hash, canonical_json, digest, parse_arguments
from guildhall_contracts.guild import Budget
from hypothesis import given
from hypothesis import strategies as st

SAFE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
OBJECTS = st.dictionaries(st.text(), SAFE, max_size=5)


@given(OBJECTS, st.randoms())
def test_key_order_and_spacing_do_not_matter(value: dict[str, Any], random: Any) -> None:
    keys = list(value)
    random.shuffle(keys)
    shuffled = {key: value[key] for key in keys}
    assert arguments_hash(parse_arguments(json.dumps(shuffled, indent=3))) == arguments_hash(
        parse_arguments(json.dumps(value, ensure_ascii=False))
    )


@given(OBJECTS, OBJECTS)
def test_another_value_has_another_hash(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (arguments_hash(one) == arguments_hash(other)) == (canonical_json(one) == canonical_json(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1.0}', '{"a":1}'), ('{"a":1e2}', '{"a":100}'), ('{"a":-0.0}', '{"a":0}'),
        ('{"a":"\\u00e9"}', '{"a":"é"}'), ('{"a":"\\/"}', '{"a":"/"}'), ('{"b":1,"a":2}', '{"a":2,"b":1}'),
    ],
)  # fmt: skip
def test_the_same_meaning_has_the_same_hash(one: str, other: str) -> None:
    assert arguments_hash(parse_arguments(one)) == arguments_hash(parse_arguments(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1}', '{"a":"1"}'), ('{"a":1}', '{"a":true}'), ('{"a":null}', "{}"), ('{"a":[1,2]}', '{"a":[2,1]}'),
        ('{"a":"e\\u0301"}', '{"a":"\\u00e9"}'), ('{"a":"x"}', '{"a":"x "}'),
        ('{"a":0.1}', '{"a":0.10000000000000002}'),
        ('{"a":"\\u200b"}', '{"a":""}'),
    ],
)  # fmt: skip
def test_one_byte_of_meaning_changes_the_hash(one: str, other: str) -> None:
    assert arguments_hash(parse_arguments(one)) != arguments_hash(parse_arguments(other))


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}', '{"a":{"b":1,"b":2}}', '{"a":NaN}', '{"a":Infinity}', '{"a":-Infinity}', '{"a":1e999}',
        '{"a":9007199254740993}', '{"a":"\\ud800"}', '{"\\ud800":1}', "[1]", '"x"', "1", "null", "", "{", '{"a":1}x',
        "{'a':1}", '{"a":01}', "{" + '"a":{' * 100_000, '{"a":' + "1" * 5_000 + "}",
    ],
    ids=lambda text: text[:24],
)  # fmt: skip
def test_the_ambiguous_is_refused(text: str) -> None:
    assert parse_arguments('{"a":1}') == {"a": 1}, "control"
    with pytest.raises(NotCanonical):
        parse_arguments(text)


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: data.decode("latin-1")))
def test_any_text_gives_an_object_or_a_typed_refusal(text: str) -> None:
    try:
        assert isinstance(parse_arguments(text), dict)
    except NotCanonical as refusal:
        assert str(refusal)  # noqa: PT017


def test_the_vector_of_the_standard() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27],
        "string": '€$\x0f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    assert (
        canonical_json(value)
        == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        ).encode()
    )


def test_a_digest_is_over_the_wire_form() -> None:
    assert digest(Budget(steps=1)) == digest(Budget.model_validate({"steps": 1, "tokens": None}))
    assert digest(Budget(steps=1)) != digest(Budget(steps=2))
