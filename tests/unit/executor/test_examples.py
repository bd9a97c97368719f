"""The example Guilds are valid, and this executor can run every one of them."""

import re
from pathlib import Path

import pytest
import yaml
from guildhall_contracts.guild import GuildSpec, guild_problems
from guildhall_contracts.policy import BUILT_IN_TOOLS
from guildhall_executor.roster import make_roster, snapshot_problems
from guildhall_executor.tools.catalog import CATALOG
from support.executor_run import snapshot

ROOT = Path(__file__).resolve().parents[3]
GUILDS = sorted((ROOT / "examples" / "guilds").glob("*.yaml"))


@pytest.mark.parametrize("path", GUILDS, ids=lambda path: path.name)
def test_an_example_guild_can_be_run(path: Path) -> None:
    resource = yaml.safe_load(path.read_text())
    spec = GuildSpec.model_validate(resource["spec"])
    assert guild_problems(spec) == []
    snap = snapshot(resource["spec"])
    assert snapshot_problems(snap) == []
    members = make_roster(snap).members
    assert set(members) == {role.name for role in spec.roles}
    for role in spec.roles:
        assert set(role.tools) <= set(members[role.name].tools.names)


def test_there_are_examples() -> None:
    assert GUILDS


def test_the_page_about_tools_names_every_tool_argument_and_error_code() -> None:
    page = (ROOT / "docs" / "tools.md").read_text()
    for name, tool in CATALOG.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        assert [f"`{field}`" for field in tool.arguments.model_fields if f"`{field}" not in row] == []
        assert f"| {BUILT_IN_TOOLS[name].effect} |" in row
    code = "".join(path.read_text() for path in (ROOT / "executor").rglob("*.py"))
    codes = set(re.findall(r'failed\(\s*"([a-z_]+)"', code))
    assert len(codes) > 5
    assert sorted(code for code in codes if f"`{code}`" not in page) == []
