"""What decides imports nothing that acts: no I/O, no clock, no chance, and none of the modules that have them."""

import ast
from pathlib import Path

import guildhall_operator
import pytest

FOLDER = Path(guildhall_operator.__file__).parent
PURE = [
    *(
        "actions",
        "admit",
        "again",
        "cancelling",
        "cron",
        "decision",
        "delivering",
        "delivery",
        "fetching",
        "finish",
        "follow",
        "guilds",
        "isolation",
        "missing",
        "names",
        "outcome",
    ),
    *(
        "plan",
        "quantity",
        "records",
        "reprint",
        "run_view",
        "schedule",
        "sources",
        "stalls",
        "start",
        "status",
        "template",
    ),
    *(f"manifests.{path.stem}" for path in (FOLDER / "manifests").glob("*.py")),
]
STANDARD = {"collections", "dataclasses", "datetime", "fractions", "json", "re", "typing"}
OTHERS = STANDARD | {"cronsim", "guildhall_contracts", "pydantic", "zoneinfo"}
MAY_USE = {f"guildhall_operator.{name}" for name in PURE} | {
    "guildhall_operator.config",
    "guildhall_operator.manifests",
}


def imported(module: str) -> set[str]:
    path = FOLDER / (module.replace(".", "/") + ".py")
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names if node.module == "guildhall_operator" else {str(node.module)}
    return found


@pytest.mark.parametrize("module", PURE)
def test_a_pure_module_stays_pure(module: str) -> None:
    ours = {name for name in imported(module) if name.startswith("guildhall_operator")}
    theirs = {name.split(".")[0] for name in imported(module)} - {"guildhall_operator"}
    assert ours <= MAY_USE
    assert theirs <= OTHERS


@pytest.mark.parametrize("module", PURE)
def test_nothing_pure_asks_for_the_time(module: str) -> None:
    text = (FOLDER / (module.replace(".", "/") + ".py")).read_text()
    assert ".now(" not in text
    assert "utcnow" not in text


def test_the_check_sees_what_acts() -> None:
    assert "aiohttp" in imported("client")
    assert "guildhall_operator.client" in imported("apply")
