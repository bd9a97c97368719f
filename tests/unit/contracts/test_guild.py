"""What makes a Guild invalid: each sentence, on its own, naming role and field."""

from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.guild import (
    Budget,
    GuildSpec,
    effective_policies,
    guild_problems,
    resolved_budget,
    resolved_tools,
)
from guildhall_contracts.policy import BUILT_IN_TOOLS


def role(name: str = "lead", **fields: Any) -> dict[str, Any]:
    return {"name": name, "prompt": "p", "model": "main", "tools": ["read_file"], **fields}


def spec(*roles: dict[str, Any], **fields: Any) -> GuildSpec:
    return GuildSpec.model_validate(
        {"entryRole": "lead", "roles": list(roles) or [role()], "models": {"main": "scripted:x"}, **fields}
    )


def test_a_sound_guild_has_no_problems() -> None:
    lead = role(tools=["delegate", "finish"], delegates=["worker"])
    handler = role("watcher", handler={"on": "loop"}, tools=["trigger_interrupt", "list_role_messages"])
    sound = spec(lead, role("worker"), handler, tools={"run_shell": {"effect": "write", "approval": True}})
    assert guild_problems(sound) == []


PROBLEMS: list[tuple[GuildSpec, str]] = [
    (spec(role(), role()), "two roles share one name"),
    (spec(role("other")), "entryRole 'lead' is not a role of this Guild (other)"),
    (spec(role(handler={"on": "loop"}, tools=[])), "entryRole 'lead' is a handler"),
    (spec(role(tools=["read_fil"])), "role 'lead': unknown tool 'read_fil'; known tools are"),
    (spec(role(tools=["delegate"], delegates=["ghost"])), "role 'lead': delegates to 'ghost', which is not a role"),
    (
        spec(role(tools=["delegate"], delegates=["h"]), role("h", handler={"on": "error"}, tools=[])),
        "role 'lead': delegates to 'h', which is a handler",
    ),
    (spec(role(tools=["delegate"], delegates=["lead"])), "role 'lead': delegates to itself"),
    (spec(role(model="big")), "role 'lead': model alias 'big' is not in spec.models (main)"),
    (spec(role(delegates=["w"]), role("w")), "role 'lead': has delegates but does not list the tool 'delegate'"),
    (spec(role(tools=["delegate"])), "role 'lead': lists the tool 'delegate' but has no delegates"),
    (spec(role(tools=["trigger_interrupt"])), "role 'lead': tool 'trigger_interrupt' is for handler roles"),
    (spec(tools={"fetch": {"effect": "read"}}), "spec.tools names 'fetch', which is not a tool"),
    (spec(tools={"run_shell": {"effect": "read"}}), "spec.tools.run_shell loosens the built-in policy"),
    (
        spec(tools={"ask_human": {"effect": "read", "allowedInPrivate": True, "allowedWithoutUserPresent": True}}),
        "spec.tools.ask_human loosens",
    ),
    (
        spec(*[role(f"r{index}", prompt="p" * limits.PROMPT_MAX_BYTES) for index in range(7)], entryRole="r0"),
        f"at most {limits.GUILD_MAX_CANONICAL_BYTES} are allowed",
    ),
]


@pytest.mark.parametrize(("guild", "sentence"), PROBLEMS, ids=[sentence[:48] for _, sentence in PROBLEMS])
def test_each_problem_is_one_sentence_its_author_can_act_on(guild: GuildSpec, sentence: str) -> None:
    found = guild_problems(guild)
    assert len(found) == 1, found
    assert sentence in found[0]
    assert "\n" not in found[0]


def test_all_problems_are_reported_at_once() -> None:
    assert len(guild_problems(spec(role("a", model="x", tools=["y"]), entryRole="b"))) == 3


def test_an_override_that_loosens_has_no_effect() -> None:
    loose = spec(tools={"run_shell": {"effect": "read", "allowedInPrivate": True, "allowedWithoutUserPresent": True}})
    assert effective_policies(loose) == BUILT_IN_TOOLS
    strict = spec(tools={"run_shell": {"effect": "consequential"}})
    assert effective_policies(strict)["run_shell"].effect == "consequential"
    assert set(effective_policies(strict)) == set(BUILT_IN_TOOLS)


def test_tools_of_a_role_follow_the_mode_of_the_run() -> None:
    guild = spec(role(tools=["ask_human", "run_shell"]), tools={"run_shell": {"effect": "write"}})
    (lead,) = guild.roles
    assert resolved_tools(guild, lead) == ("ask_human", "run_shell", "finish")
    assert resolved_tools(guild, lead, interactive=False) == ("finish",)
    assert resolved_tools(guild, lead, private=True) == ("ask_human", "finish")


def test_budgets_resolve_field_by_field() -> None:
    assert resolved_budget(None, None) == Budget(
        steps=limits.BUDGET_DEFAULT_STEPS_COUNT, seconds=limits.BUDGET_DEFAULT_SECONDS
    )
    mixed = resolved_budget(Budget(steps=5), Budget(steps=7, tokens=9, cost_micro_usd=0))
    assert mixed == Budget(steps=5, tokens=9, cost_micro_usd=0, seconds=limits.BUDGET_DEFAULT_SECONDS)


def chain(*first_delegates: str) -> GuildSpec:
    return spec(
        role(tools=["read_file", "delegate"], delegates=list(first_delegates)),
        role("middle", tools=["read_file", "delegate"], delegates=["worker"]),
        role("worker", tools=["read_file", "write_file"]),
    )


def test_a_tool_that_no_chain_of_callers_grants_is_a_problem() -> None:
    (problem,) = guild_problems(chain("middle"))
    assert problem == (
        "role 'worker': no chain of callers grants it the tool 'write_file'; "
        "let lead hold it, or name 'worker' among its delegates"
    )
    assert guild_problems(chain("middle", "worker")) == []


def test_a_role_nobody_calls_is_no_problem() -> None:
    assert guild_problems(spec(role(), role("unused", tools=["write_file"]))) == []


def test_a_handler_has_nobody_work_for_it() -> None:
    handler = role("watcher", handler={"on": "loop"}, tools=["delegate"], delegates=["worker"])
    (problem,) = guild_problems(spec(role(), handler, role("worker", tools=["write_file"])))
    assert problem == "role 'watcher': a handler only looks and interrupts; remove the tool 'delegate'"


def test_mutual_delegates_are_no_endless_search() -> None:
    pair = [role(tools=["delegate"], delegates=["b"]), role("b", tools=["delegate", "run_shell"], delegates=["lead"])]
    assert guild_problems(spec(*pair)) == []
