"""`docs/connections.md` names every reason, state and refusal there is, and its example is accepted."""

import re
import textwrap
from pathlib import Path
from typing import get_args

import yaml
from guildhall_contracts.connection import ConnectionReason, ConnectionSpec, ToolState
from guildhall_contracts.external import ExternalRefusal

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "connections.md").read_text()


def first_cells(heading: str) -> set[str]:
    """The code words in the first column of the table below a heading."""
    rows = [
        line for line in PAGE.split(f"\n{heading}\n", 1)[1].split("\n## ")[0].splitlines() if line.startswith("| `")
    ]
    return {word for row in rows for word in re.findall(r"`([^`]+)`", row.split("|")[1])}


def test_every_reason_says_what_to_do() -> None:
    assert first_cells("## Reasons") == set(get_args(ConnectionReason))


def test_every_refusal_and_outcome_is_explained() -> None:
    assert first_cells("## A call") == {*get_args(ExternalRefusal), "tool_error", "outcome_unknown"}


def test_every_state_is_named() -> None:
    for state in set(get_args(ToolState)) - {"offered"}:
        assert f"`{state}`" in PAGE


def test_the_example_is_a_connection() -> None:
    blocks = re.findall(r"```yaml\n   (.*?)```", PAGE, re.DOTALL)
    documents = [found for block in blocks for found in yaml.safe_load_all(textwrap.dedent(f"   {block}"))]
    spec = next(item["spec"] for item in documents if item.get("kind") == "Connection")
    assert ConnectionSpec.model_validate(spec).tools["read_note"].effect == "read"
