"""`THREAT_MODEL.md` names files and policies that exist, and files that have a test here."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "THREAT_MODEL.md").read_text()
POLICIES = ROOT / "charts" / "guildhall" / "templates" / "admission"


def _section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def _critical() -> list[str]:
    """Paths of the table; a bare name is a neighbour of the one before it."""
    found: list[str] = []
    for row in re.findall(r"^\| (`.*`) \|", _section("Security-critical files"), re.MULTILINE):
        folder = ""
        for name in re.findall(r"`([^`]+)`", row):
            path = name if "/" in name and (ROOT / name.split("/")[0]).exists() else f"{folder}/{name}"
            folder = path.rstrip("/").rpartition("/")[0]
            found.append(path)
    return found


@pytest.mark.parametrize("path", _critical())
def test_each_critical_file_exists(path: str) -> None:
    folder = path.replace("/admission/*.yaml", "/admission")
    beside = folder.replace("/admission/_admission.tpl", "/_admission.tpl")
    assert (ROOT / folder).exists() or (ROOT / beside).exists(), path


def test_each_policy_named_is_in_the_chart() -> None:
    made = set(re.findall(r'dict "name" "([\w-]+)"', "".join(path.read_text() for path in POLICIES.glob("*.yaml"))))
    named = set(
        re.findall(r"`([\w-]+)`", _section("Who may create pods in a run namespace").split("What is **not**")[0])
    )
    cited = {name for name in named if name in made or name.startswith("run-")}
    assert len(cited) >= 6
    assert cited <= made


def test_each_critical_part_has_its_test_here() -> None:
    """By the word that names the part in the tests that hold it."""
    here = "".join(
        path.read_text() for path in Path(__file__).parent.glob("test_*.py") if path.name != Path(__file__).name
    )
    for word in (
        "manifests import job",
        "isolation",
        "guildhall-run",
        "operator-jobs",
        "frozen_run_fields",
        "events",
        "workshop",
    ):
        assert word in here, word
