"""`may_execute` fails closed, overrides only tighten, and tools reach a role only when listed and permitted."""

from itertools import product

import pytest
from guildhall_contracts.policy import (
    ALWAYS_TOOLS,
    BUILT_IN_TOOLS,
    HANDLER_TOOLS,
    CallContext,
    ToolPolicy,
    may_execute,
    tightened,
    tools_at_assembly,
)

FLAGS = (False, True)
POLICIES = [
    ToolPolicy(effect=effect, allowed_in_private=private, allowed_without_user_present=unattended, approval=approval)
    for effect, private, unattended, approval in product(("read", "write", "consequential"), FLAGS, FLAGS, FLAGS)
]
CONTEXTS = [
    CallContext(approved=approved, private=private, interactive=interactive)
    for approved, private, interactive in product(FLAGS, FLAGS, FLAGS)
]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("context", CONTEXTS, ids=str)
def test_the_whole_table(policy: ToolPolicy, context: CallContext) -> None:
    forbidden_in_private = context.private and not policy.allowed_in_private
    nobody_there = not context.interactive and not policy.allowed_without_user_present
    needs_a_yes = policy.effect == "consequential" or policy.approval
    expected = not forbidden_in_private and not nobody_there and (context.approved or not needs_a_yes)
    assert may_execute(policy, context) is expected


@pytest.mark.parametrize("context", CONTEXTS, ids=str)
def test_an_unknown_tool_never_runs(context: CallContext) -> None:
    assert may_execute(None, context) is False


def test_the_default_context_approves_nothing() -> None:
    assert not may_execute(ToolPolicy(effect="consequential", allowed_in_private=True), CallContext())
    assert may_execute(ToolPolicy(effect="read"), CallContext()), "control"


@pytest.mark.parametrize("base", POLICIES, ids=str)
def test_what_is_tightened_allows_nothing_more_anywhere(base: ToolPolicy) -> None:
    accepted = 0
    for override in POLICIES:
        wider = [c for c in CONTEXTS if may_execute(override, c) and not may_execute(base, c)]
        if tightened(base, override) is not None:
            accepted += 1
            assert tightened(base, override) == override
            assert not wider
    assert accepted >= 1
    assert tightened(base, base) == base


def test_a_lower_effect_is_a_loosening_even_with_an_approval_added() -> None:
    base = ToolPolicy(effect="consequential")
    assert tightened(base, ToolPolicy(effect="write", approval=True)) is None
    assert tightened(ToolPolicy(effect="write"), ToolPolicy(effect="consequential")) is not None


def test_assembly_keeps_the_order_listed_and_adds_finish() -> None:
    tools = tools_at_assembly(["run_shell", "read_file", "run_shell"], BUILT_IN_TOOLS, private=False, interactive=True)
    assert tools == ("run_shell", "read_file", "finish")
    assert tools_at_assembly([], BUILT_IN_TOOLS, private=False, interactive=True) == ("finish",)
    assert tools_at_assembly(["finish"], BUILT_IN_TOOLS, private=False, interactive=True) == ("finish",)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize(("private", "interactive"), list(product(FLAGS, FLAGS)))
def test_a_tool_is_assembled_where_some_call_of_it_could_run(
    policy: ToolPolicy, private: bool, interactive: bool
) -> None:
    """A yes can be had only where a person is there."""
    tools = tools_at_assembly(["x"], {"x": policy}, private=private, interactive=interactive)
    yes_or_not = FLAGS if interactive else (False,)
    contexts = [CallContext(approved=yes, private=private, interactive=interactive) for yes in yes_or_not]
    assert ("x" in tools) is any(may_execute(policy, context) for context in contexts)


def test_a_scheduled_run_loses_the_tools_that_need_a_yes() -> None:
    unattended = {"allowed_in_private": True, "allowed_without_user_present": True}
    policies = {
        "send": ToolPolicy(effect="consequential", **unattended),
        "ask": ToolPolicy(effect="read", approval=True, **unattended),
        "write": ToolPolicy(effect="write", **unattended),
    }
    assert tools_at_assembly(policies, policies, private=False, interactive=True) == ("send", "ask", "write", "finish")
    assert tools_at_assembly(policies, policies, private=False, interactive=False) == ("write", "finish")


def test_a_scheduled_run_loses_the_tools_that_need_a_person() -> None:
    listed = ["ask_human", "read_file"]
    assert "ask_human" in tools_at_assembly(listed, BUILT_IN_TOOLS, private=False, interactive=True)
    assert tools_at_assembly(listed, BUILT_IN_TOOLS, private=False, interactive=False) == ("read_file", "finish")


def test_a_private_run_loses_what_is_not_allowed_in_private() -> None:
    policies = {**BUILT_IN_TOOLS, "send": ToolPolicy(effect="consequential", allowed_without_user_present=True)}
    assert "send" in tools_at_assembly(["send"], policies, private=False, interactive=True)
    assert "send" not in tools_at_assembly(["send"], policies, private=True, interactive=True)


def test_an_unlisted_or_unknown_tool_is_not_there() -> None:
    assert tools_at_assembly(["rеad_file", "fetch"], BUILT_IN_TOOLS, private=False, interactive=True) == ("finish",)


def test_nothing_built_in_is_consequential_and_the_sets_are_built_in() -> None:
    assert {policy.effect for policy in BUILT_IN_TOOLS.values()} == {"read", "write"}
    assert set(BUILT_IN_TOOLS) >= HANDLER_TOOLS | ALWAYS_TOOLS
