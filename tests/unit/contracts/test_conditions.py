"""The phase follows from conditions alone; errors and reasons fit together."""

from itertools import product
from typing import Any, get_args

import pytest
from guildhall_contracts.conditions import ERROR_KIND_REASONS, Condition, ConditionType, Phase, Reason, phase_of
from guildhall_contracts.errors import ERROR_RULES, ErrorKind, error_info

TABLE: list[tuple[dict[str, str], bool, Phase]] = [
    ({}, False, "Pending"),
    ({"Accepted": "False/GuildInvalid"}, False, "Pending"),
    ({"Accepted": "True/Accepted"}, False, "Preparing"),
    ({"Accepted": "True/Accepted"}, True, "Queued"),
    ({"Accepted": "True/Accepted", "Queued": "True/ConcurrencyLimit"}, False, "Queued"),
    ({"Accepted": "True/Accepted", "Queued": "False/Started", "Running": "True/Started"}, False, "Running"),
    ({"Running": "True/Started", "AwaitingHuman": "True/QuestionOpen"}, False, "AwaitingHuman"),
    ({"Running": "True/Started", "AwaitingHuman": "False/NothingOpen"}, True, "Running"),
    ({"Running": "True/Started", "Succeeded": "Unknown/Preparing"}, False, "Running"),
    ({"Running": "False/Ended", "Succeeded": "True/Completed"}, False, "Succeeded"),
    ({"AwaitingHuman": "True/QuestionOpen", "Succeeded": "False/Evicted"}, False, "Failed"),
    ({"Running": "True/Started", "Succeeded": "False/Cancelled"}, False, "Cancelled"),
    ({"Accepted": "False/GuildInvalid", "Succeeded": "False/GuildInvalid"}, False, "Failed"),
]


def conditions(states: dict[str, str]) -> list[Condition]:
    made = []
    for kind, state in states.items():
        status, reason = state.split("/")
        fields: dict[str, Any] = {"type": kind, "status": status, "reason": reason, "lastTransitionTime": "t"}
        made.append(Condition.model_validate(fields))
    return made


@pytest.mark.parametrize(("states", "suspended", "phase"), TABLE, ids=[str(row[0]) for row in TABLE])
def test_the_table(states: dict[str, str], suspended: bool, phase: Phase) -> None:
    assert phase_of(conditions(states), suspended=suspended) == phase
    assert phase_of(list(reversed(conditions(states))), suspended=suspended) == phase, "order does not matter"


def test_every_phase_is_in_the_table() -> None:
    assert {row[2] for row in TABLE} == set(get_args(Phase))


def test_any_combination_has_a_phase_and_the_end_wins() -> None:
    kinds = get_args(ConditionType)
    for values in product(("True", "False", "Unknown"), repeat=len(kinds)):
        states = {kind: f"{value}/Internal" for kind, value in zip(kinds, values, strict=True)}
        phase = phase_of(conditions(states))
        ended = states["Succeeded"] != "Unknown/Internal"
        assert (phase in {"Succeeded", "Failed", "Cancelled"}) == ended


def test_every_error_has_a_rule_and_a_reason() -> None:
    kinds = set(get_args(ErrorKind))
    assert set(ERROR_RULES) == kinds
    assert set(ERROR_KIND_REASONS) == kinds
    assert set(ERROR_KIND_REASONS.values()) <= set(get_args(Reason))


@pytest.mark.parametrize("kind", get_args(ErrorKind))
def test_an_error_is_cut_and_never_refused(kind: ErrorKind) -> None:
    info = error_info(kind, "m" * 10_000, detail={f"{'k' * 60}{index}": "v" * 20_000 for index in range(20)})
    assert len(info.message) == 4_000
    assert (info.retryable, info.actor) == ERROR_RULES[kind]
    assert error_info(kind, "m", retryable=True).retryable is True
