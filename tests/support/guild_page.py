"""`docs/guilds.md` as its reader builds it: the pieces put together into one Guild, and the scenario that tries it."""

import re
from typing import Any

import yaml
from support.chart import ROOT

PAGE = (ROOT / "docs" / "guilds.md").read_text()
GUILD = ROOT / "examples" / "guilds" / "changelog.yaml"
SCENARIO = ROOT / "examples" / "scenarios" / "changelog.yaml"
_ADDED = "# added to spec\n"


def blocks() -> list[str]:
    """The text of every YAML block, in order."""
    return re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def first() -> dict[str, Any]:
    """The Guild of step 1."""
    made: dict[str, Any] = yaml.safe_load(next(block for block in blocks() if "kind: Guild" in block))
    return made


def pieces() -> list[dict[str, Any]]:
    """What each later step adds to `spec`."""
    return [yaml.safe_load(block) for block in blocks() if block.startswith(_ADDED)]


def steps() -> list[dict[str, Any]]:
    """The Guild after each step: a piece's roles are added, its other fields put in place."""
    made = [first()]
    for piece in pieces():
        spec = made[-1]["spec"]
        more = {**piece, "roles": [*spec["roles"], *piece.get("roles", [])]}
        made.append({**made[-1], "spec": {**spec, **more}})
    return made


def run() -> dict[str, Any]:
    """The Run of step 5."""
    made: dict[str, Any] = yaml.safe_load(next(block for block in blocks() if "kind: Run" in block))
    return made


def scenario() -> dict[str, Any]:
    """The scenario of step 5."""
    made: dict[str, Any] = yaml.safe_load(next(block for block in blocks() if "a scenario" in block.splitlines()[0]))
    return made
