"""The example Guilds are valid, and this executor can run every one of them."""

from pathlib import Path

import pytest
import yaml
from guildhall_contracts.guild import GuildSpec, guild_problems
from guildhall_executor.roster import make_roster, snapshot_problems
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
        assert set(role.tools) <= set(members[role.name].tools)


def test_there_are_examples() -> None:
    assert GUILDS
