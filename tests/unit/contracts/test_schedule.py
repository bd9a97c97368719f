"""RunSchedules as records: what a template may say, and that the example is one."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from guildhall_contracts.schedule import RunScheduleSpec
from pydantic import ValidationError

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples" / "schedules").glob("*.yaml"))
TEMPLATE = {"spec": {"guildRef": {"name": "g"}, "task": "t"}}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_one(path: Path) -> None:
    found = yaml.safe_load(path.read_text())
    assert found["kind"] == "RunSchedule"
    assert RunScheduleSpec.model_validate(found["spec"]).run_template.spec.mode == "scheduled"


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("times", ["* * * * *", "0 2 * * MON-FRI", "*/15 8-18 1,15 * *", "0 2 L * *", "0 2 * * 5#3"])
def test_five_fields(times: str) -> None:
    assert RunScheduleSpec.model_validate({"schedule": times, "runTemplate": TEMPLATE}).schedule == times


BAD: list[dict[str, Any]] = [
    {"schedule": "* * * *"},
    {"schedule": "* * * * * *"},
    {"schedule": "@reboot"},
    {"schedule": "@every 1h"},
    {"schedule": "@daily 0 0 0 0"},
    {"schedule": "0 2 * * *\n"},
    {"schedule": "0  2 * * *"},
    {"schedule": "* " * 4 + "1," * 70},
    {"timeZone": "../etc/passwd"},
    {"timeZone": ""},
    {"concurrencyPolicy": "Sometimes"},
    {"startingDeadlineSeconds": 0},
    {"runTemplate": {"spec": {**TEMPLATE["spec"], "mode": "interactive"}}},
    {"runTemplate": {**TEMPLATE, "annotations": {}}},
]


@pytest.mark.parametrize("change", BAD)
def test_what_is_none(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RunScheduleSpec.model_validate({"schedule": "0 2 * * *", "runTemplate": TEMPLATE, **change})
