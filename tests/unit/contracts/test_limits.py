"""Every bound is explained, has one value in every language, and is used."""

import re
from pathlib import Path

import pytest
from guildhall_contracts import limits

ROOT = Path(__file__).resolve().parents[3]
GO = ROOT / "workshop" / "internal" / "limit" / "limit.go"
UNITS = {"KiB": 1024, "MiB": 1024 * 1024}
NAMES = [name for name in vars(limits) if name.isupper() and name not in {"KIB", "MIB"}]
ENDINGS = {"bytes": "_BYTES", "characters": "_CHARS", "seconds": "_SECONDS", "micro-USD": "_MICRO_USD"}


def _number(text: str) -> int:
    value, _, unit = text.replace(",", "").partition(" ")
    return int(value) * UNITS.get(unit, 1)


def _rows(columns: int) -> dict[str, list[str]]:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (ROOT / "docs" / "limits.md").read_text().splitlines()
        if line.startswith("| `")
    ]
    return {row[0].strip("`"): row[1:] for row in rows if len(row) == columns}


def _go() -> dict[str, int]:
    found: dict[str, int] = {}
    for name, expression in re.findall(r"^\t(\w+)\s+= ([^/\n]+)", GO.read_text(), re.MULTILINE):
        if name not in {"KiB", "MiB"}:
            factors = [UNITS.get(part) or int(part.replace("_", "")) for part in expression.strip().split(" * ")]
            found[name] = factors[0] * (factors[1] if len(factors) > 1 else 1)
    return found


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def test_the_page_has_every_limit_with_its_value_unit_owner_and_effect() -> None:
    rows = _rows(5)
    assert set(rows) == set(NAMES)
    for name, (value, unit, owner, effect) in rows.items():
        assert _number(value) == getattr(limits, name), name
        assert (ENDINGS[unit] in name) if unit in ENDINGS else (unit == "count"), name
        assert owner, name
        assert effect, name


def test_the_name_of_every_limit_says_its_unit() -> None:
    for name in NAMES:
        assert re.search(
            r"_(BYTES|CHARS|COUNT|ENTRIES|MATCHES|SECONDS|SECONDS_MAX|MICRO_USD|DEPTH|FAN_OUT|TOTAL)$", name
        ), name


def test_the_workshop_has_the_same_values() -> None:
    theirs = _go()
    shared = {_camel(name): getattr(limits, name) for name in NAMES if _camel(name) in theirs}
    assert len(shared) > 20
    assert {name: theirs[name] for name in shared} == shared


def test_the_workshops_own_limits_are_on_the_page() -> None:
    shared = {_camel(name) for name in NAMES}
    own = {name: value for name, value in _go().items() if name not in shared}
    assert {name: _number(row[0]) for name, row in _rows(4).items()} == own


@pytest.fixture(scope="module")
def used() -> set[str]:
    """Every word in the sources that could be a limit's name; Go's in Python's spelling."""
    words: set[str] = set()
    for part in ("contracts", "operator", "executor", "gateway", "api", "fetcher", "cli", "foundry"):
        for path in (ROOT / part).rglob("*.py"):
            if path.name != "limits.py" and "generate" not in path.parts:
                words |= set(re.findall(r"\b[A-Z][A-Z0-9_]{3,}\b", path.read_text()))
    for path in (ROOT / "web" / "src").rglob("*.js"):
        words |= set(re.findall(r"LIMITS\.([A-Z0-9_]+)", path.read_text()))
    camel = {_camel(name): name for name in NAMES}
    for path in (ROOT / "workshop").rglob("*.go"):
        words |= {camel[word] for word in re.findall(r"limit\.(\w+)", path.read_text()) if word in camel}
    return words


@pytest.mark.parametrize("name", NAMES)
def test_somebody_holds_to_it(used: set[str], name: str) -> None:
    assert name in used, f"{name} is promised and nobody keeps it: use it or delete it"
