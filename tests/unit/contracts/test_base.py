"""The few words that several pieces write must be the same."""

import json

import pytest
from guildhall_contracts.base import Record, dollars, first_problem
from pydantic import ValidationError
from support.chart import ROOT

AMOUNTS = json.loads((ROOT / "tests" / "golden" / "dollars.json").read_text())


@pytest.mark.parametrize(("micro_usd", "words"), AMOUNTS)
def test_money_is_written_as_the_console_writes_it(micro_usd: int, words: str) -> None:
    assert dollars(micro_usd) == words


class Inner(Record):
    count: int


class Outer(Record):
    roles: list[Inner]


def test_a_problem_names_its_field_and_nothing_of_what_was_given() -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"roles": [{"count": 1}, {"count": "a secret"}]})
    where, words = first_problem(caught.value)
    assert where == "roles.1.count"
    assert "integer" in words
    assert "secret" not in words
