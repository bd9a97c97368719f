"""Names and policies of external tools: what a Guild may say of them without knowing their Connection."""

import pytest
from guildhall_contracts.guild import GuildSpec, effective_policies, external_policy, guild_problems, resolved_tools
from guildhall_contracts.policy import (
    BUILT_IN_TOOLS,
    EXTERNAL_DEFAULT,
    CallContext,
    ToolPolicy,
    is_external,
    may_execute,
    needs_approval,
    stricter,
    tightened,
)
from hypothesis import given
from hypothesis import strategies as st

POLICIES = st.builds(
    ToolPolicy,
    effect=st.sampled_from(["read", "write", "consequential"]),
    allowed_in_private=st.booleans(),
    allowed_without_user_present=st.booleans(),
    approval=st.booleans(),
)
CONTEXTS = st.builds(CallContext, approved=st.booleans(), private=st.booleans(), interactive=st.booleans())


def guild(*tools: str, **overrides: dict[str, object]) -> GuildSpec:
    role = {"name": "solo", "prompt": "p", "model": "m", "tools": [*tools, "finish"]}
    value = {"entryRole": "solo", "models": {"m": "scripted:x"}, "roles": [role], "tools": overrides}
    return GuildSpec.model_validate(value)


@pytest.mark.parametrize("name", ["notes__read", "a__b", "n0tes__a__b", "a" * 24 + "__" + "b" * 38, "notes___x"])
def test_external_names(name: str) -> None:
    assert is_external(name)
    assert guild_problems(guild(name)) == []
    assert len(name) <= 64


@pytest.mark.parametrize(
    "name",
    ["notes_read", "__read", "notes__", "Notes__read", "no-tes__read", "1n__x", "nоtes__x", "a" * 25 + "__b",
     "a__" + "b" * 39],
)  # fmt: skip
def test_other_names_are_not(name: str) -> None:
    assert not is_external(name)


def test_no_tool_of_our_own_looks_external() -> None:
    assert not any(map(is_external, BUILT_IN_TOOLS))


@given(POLICIES, POLICIES, CONTEXTS)
def test_the_stricter_of_two_allows_what_both_allow(one: ToolPolicy, two: ToolPolicy, context: CallContext) -> None:
    both = stricter(one, two)
    assert may_execute(both, context) == (may_execute(one, context) and may_execute(two, context))
    assert tightened(one, both) == both
    assert stricter(two, one) == both
    assert stricter(one, one) == one


def test_the_default_asks_a_person_who_is_there() -> None:
    assert needs_approval(EXTERNAL_DEFAULT)
    assert may_execute(EXTERNAL_DEFAULT, CallContext(approved=True))
    assert not may_execute(EXTERNAL_DEFAULT, CallContext(approved=False))
    assert not may_execute(EXTERNAL_DEFAULT, CallContext(approved=True, private=True))
    assert not may_execute(EXTERNAL_DEFAULT, CallContext(approved=True, interactive=False))


def test_an_override_meets_what_the_connection_says() -> None:
    read = ToolPolicy(effect="read", allowed_in_private=True, allowed_without_user_present=True)
    strict = guild("notes__read", notes__read={"effect": "write", "approval": True})
    loose = guild("notes__read", notes__read={"effect": "read", "allowedInPrivate": True})
    assert external_policy(strict, "notes__read", read) == ToolPolicy(effect="write", approval=True)
    assert external_policy(loose, "notes__read", EXTERNAL_DEFAULT) == EXTERNAL_DEFAULT, "nothing loosens"
    assert external_policy(guild("notes__read"), "notes__read", read) == read
    assert guild_problems(strict) == guild_problems(loose) == []


def test_the_guild_alone_takes_tools_away_from_private_and_scheduled_runs() -> None:
    spec = guild("notes__read", "notes__write", notes__write={"effect": "write", "allowedInPrivate": True})
    role = spec.roles[0]
    assert resolved_tools(spec, role) == ("notes__read", "notes__write", "finish")
    assert resolved_tools(spec, role, interactive=False) == ("notes__read", "finish"), "the gateway decides of the rest"
    assert resolved_tools(spec, role, private=True) == ("notes__read", "notes__write", "finish")


def test_what_nobody_offers_has_no_policy() -> None:
    assert not any(map(is_external, effective_policies(guild("notes__read"))))
    assert not may_execute(effective_policies(guild("notes__read")).get("notes__read"), CallContext(approved=True))
