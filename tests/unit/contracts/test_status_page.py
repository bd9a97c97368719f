"""`docs/status.md` names every condition, reason, phase and status field, and no other."""

import re
from pathlib import Path
from typing import get_args

from guildhall_contracts.base import Record
from guildhall_contracts.conditions import RETRYABLE_REASONS, ConditionType, Phase, Reason
from guildhall_contracts.guild import GuildStatus
from guildhall_contracts.intervention import InterventionStatus
from guildhall_contracts.run import RunStatus
from guildhall_contracts.schedule import RunScheduleStatus, ScheduleReason

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "status.md").read_text()


def _table(heading: str) -> list[list[str]]:
    section = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows]


def test_every_condition() -> None:
    assert [row[0] for row in _table("Conditions of a Run")] == list(get_args(ConditionType))


def test_every_phase() -> None:
    assert {row[0] for row in _table("Phase")} == set(get_args(Phase))


def test_every_reason_has_a_meaning_and_an_act() -> None:
    rows = _table("Reasons")
    assert [row[0] for row in rows] == list(get_args(Reason))
    for reason, meaning, act in rows:
        assert meaning, reason
        assert act, reason


def test_every_state_of_an_intervention() -> None:
    assert [row[0] for row in _table("Interventions")] == list(
        get_args(InterventionStatus.model_fields["state"].annotation)
    )


def test_every_field_has_its_one_writer() -> None:
    rows = _table("Who writes what")
    fields = [(kind, field) for kind, field, _ in rows]
    assert len(fields) == len(set(fields))
    kinds: dict[str, type[Record]] = {
        "Run": RunStatus,
        "Guild": GuildStatus,
        "RunSchedule": RunScheduleStatus,
        "Intervention": InterventionStatus,
    }
    assert set(fields) == {
        (kind, info.alias or name) for kind, model in kinds.items() for name, info in model.model_fields.items()
    }
    assert {writer for _, _, writer in rows} == {"operator", "gateway", "api"}


def test_the_writers_are_those_admission_lets_write() -> None:
    policy = (Path(__file__).resolve().parents[3] / "charts/guildhall/templates/admission/status.yaml").read_text()
    lists = {
        name: set(re.findall(r'"(\w+)"', text)) for name, text in re.findall(r"\{\{- \$(\w+) := list (.*) \}\}", policy)
    }
    page: dict[str, set[str]] = {}
    for kind, field, writer in _table("Who writes what"):
        if kind == "Run":
            page.setdefault(writer, set()).add(field)
    assert lists == page


def test_the_reasons_that_allow_another_attempt_are_named() -> None:
    section = PAGE.split("\n## Attempts\n", 1)[1].split("\n## ", 1)[0]
    assert set(re.findall(r"`(\w+)`", section)) & set(get_args(Reason)) == RETRYABLE_REASONS


def test_every_reason_of_a_schedule_is_explained() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/schedules.md").read_text()
    explained = re.findall(r"^\| `(\w+)` \|", page.split("| reason | meaning |")[1], re.MULTILINE)
    assert set(explained) == set(get_args(ScheduleReason))
