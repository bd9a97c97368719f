"""`docs/guilds.md` can be followed: every step is a Guild that is accepted, every error it names is what is said."""

import copy
import re
from typing import Any

import pytest
import yaml
from guildhall_contracts.generate.crds import KINDS, crd
from guildhall_contracts.guild import GuildSpec, effective_policies, guild_problems
from guildhall_contracts.run import RunSpec
from guildhall_gateway.scenario import parse_scenario
from jsonschema import Draft202012Validator
from support import guild_page

SCHEMA = crd(next(item for item in KINDS if item.kind == "Guild"))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def closed(schema: Any) -> Any:
    """The CRD's schema as strict as `kubectl apply`, which refuses unknown fields instead of pruning them."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    is_record = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    return {**inner, "additionalProperties": False} if is_record else inner


SPEC = Draft202012Validator(closed(SCHEMA["properties"]["spec"]))


@pytest.mark.parametrize("number", range(len(guild_page.steps())))
def test_each_step_is_a_guild_that_is_accepted(number: int) -> None:
    spec = guild_page.steps()[number]["spec"]
    assert list(SPEC.iter_errors(spec)) == []
    assert guild_problems(GuildSpec.model_validate(spec)) == []
    misspelt = copy.deepcopy(spec)
    misspelt["roles"][0]["promt"] = misspelt["roles"][0].pop("prompt")
    assert list(SPEC.iter_errors(misspelt)), "the control: the schema sees a wrong word"


def test_the_steps_together_are_the_example_and_have_all_there_is() -> None:
    whole = guild_page.steps()[-1]
    assert yaml.safe_load(guild_page.GUILD.read_text()) == whole
    spec = GuildSpec.model_validate(whole["spec"])
    assert [role.name for role in spec.roles] == ["writer", "lead", "checker", "warden"]
    assert any(role.handler for role in spec.roles)
    assert any(role.limits for role in spec.roles)
    assert spec.defaults is not None
    shell = effective_policies(spec)["run_shell"]
    assert (shell.approval, shell.allowed_without_user_present) == (True, False)


def test_every_block_of_the_page_is_tested() -> None:
    assert len(guild_page.blocks()) == len(guild_page.steps()) + 2, "and the scenario, and the Run"


def test_the_run_is_one_and_names_the_guild() -> None:
    asked = guild_page.run()
    assert RunSpec.model_validate(asked["spec"]).guild_ref is not None
    assert asked["spec"]["guildRef"]["name"] == guild_page.first()["metadata"]["name"]


def test_the_scenario_is_the_example_s_and_plays_roles_of_the_guild() -> None:
    assert yaml.safe_load(guild_page.SCENARIO.read_text()) == guild_page.scenario()
    played = set(parse_scenario(guild_page.SCENARIO.read_bytes(), "the page").roles)
    assert played <= {role["name"] for role in guild_page.steps()[-1]["spec"]["roles"]}


def broken() -> list[str]:
    """What is said of the page's Guild when one thing in it is wrong, for each error the page lists."""
    said: list[str] = []

    def wrong(role: str, **fields: Any) -> None:
        spec = copy.deepcopy(guild_page.steps()[-1]["spec"])
        for member in spec["roles"]:
            if member["name"] == role:
                member.update(fields)
        said.extend(guild_problems(GuildSpec.model_validate(spec)))

    wrong("checker", tools=["shell"])
    wrong("checker", delegates=["writer"])
    wrong("lead", delegates=["ghost"])
    wrong("lead", delegates=["warden"])
    wrong("lead", model="big")
    wrong("checker", tools=["trigger_interrupt"])
    wrong("warden", tools=["edit_file"])
    wrong("writer", tools=["delegate"], delegates=["checker"])
    wrong("lead", tools=["read_file", "delegate"], delegates=["writer"])
    spec = copy.deepcopy(guild_page.steps()[-1]["spec"])
    spec["tools"]["run_shell"]["effect"] = "read"
    said.extend(guild_problems(GuildSpec.model_validate(spec)))
    deep = copy.deepcopy(guild_page.steps()[-1]["spec"])
    by_name = {role["name"]: role for role in deep["roles"]}
    by_name["lead"]["delegates"] = ["writer"]
    by_name["writer"].update(tools=["read_file", "delegate"], delegates=["checker"])
    by_name["checker"].update(tools=["delegate"], delegates=["runner"])
    deep["roles"].append({"name": "runner", "prompt": "p", "model": "main", "tools": ["run_shell"]})
    return said + guild_problems(GuildSpec.model_validate(deep))


def test_the_errors_it_lists_are_what_is_said() -> None:
    table = guild_page.PAGE.split("## Common errors")[1].split("What a schema can see")[0]
    listed = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(listed) >= 9
    said = broken()
    assert [line for line in listed if not any(line in problem for problem in said)] == []
