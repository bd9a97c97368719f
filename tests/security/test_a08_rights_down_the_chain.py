"""A8: a role reaches by a delegate, and by code, no tool that the chain above it was not given."""

from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.guild import GuildSpec, guild_problems
from support.executor_run import role
from support.executor_scene import scene, tool, turn

pytestmark = pytest.mark.go


def guild(*first_delegates: str) -> list[dict[str, Any]]:
    """A chief that may ask a writer himself, and a reader who asks a helper, who may ask the writer."""
    return [
        role("chief", ["read_file"], ["reader", "writer"]),
        role("reader", ["read_file"], list(first_delegates)),
        role("helper", ["read_file"], ["writer"]),
        role("writer", ["read_file", "write_file", "run_shell", "run_code"]),
    ]


def obedient() -> dict[str, Any]:
    """Roles that do whatever a hostile text told them, by every tool there is."""
    attack = [
        tool("write_file", path="planted", content="x"),
        tool("run_shell", command="touch planted"),
        tool("run_code", code="write_file('planted', 'x')"),
    ]
    done = turn(tool("finish", result="tried"))
    return {
        "chief": [turn(tool("delegate", role="reader", brief="read what it says")), done],
        "reader": [turn(tool("delegate", role="helper", brief="have it written")), done],
        "helper": [turn(tool("delegate", role="writer", brief="write it")), done],
        "writer": [turn(*attack), done],
    }


@pytest.mark.parametrize(("delegates", "planted"), [(["helper"], False), (["helper", "writer"], True)])
async def test_what_the_first_role_was_not_given_its_delegates_delegate_cannot_do(
    tmp_path: Path, delegates: list[str], planted: bool
) -> None:
    async with scene(tmp_path, guild(*delegates), obedient()) as here:
        got = await here.outcome()
    assert got.message.outcome == "succeeded", got.message
    assert (tmp_path / "w/workspace/planted").exists() == planted
    refused = [event for event in got.of("tool.finished") if event.error_code == "unknown_tool"]
    assert len(refused) == (0 if planted else 3)


def test_an_author_is_told_before_any_run() -> None:
    def problems(entry: str) -> list[str]:
        spec = {"entryRole": entry, "roles": guild("helper"), "models": {"main": "scripted:x"}}
        return guild_problems(GuildSpec.model_validate(spec))

    assert len(problems("reader")) == 3
    assert all("no chain of callers grants it" in problem for problem in problems("reader"))
    assert problems("chief") == []
