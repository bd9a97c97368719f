"""R6: delegation without end: each loop meets a named limit, and no budget is exceeded on the way."""

from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.guild import GuildSpec
from pydantic import ValidationError
from support.executor_loop import Story, call
from support.executor_run import role, snapshot

LOOP = {
    "entryRole": "a",
    "roles": [role("a", [], ["b"]), role("b", [], ["a"])],
    "models": {"main": "scripted:test"},
}


def delegate(name: str, number: int = 0) -> dict[str, Any]:
    return call("delegate", {"role": name, "brief": "again"}, f"d{number}")


def other(name: str) -> str:
    return "b" if name == "a" else "a"


def run(steps: int, width: int) -> Story:
    """Every role answers every call by delegating `width` times; to the end."""
    story = Story(snapshot(LOOP, budget={"steps": steps, "seconds": 3_600}))
    for _ in range(steps * 2):
        waiting = [one for one in story.roles if one.wait is not None]
        if not waiting or story.state.ending is not None:
            return story
        one = waiting[0]
        story.answer(one.op, "", *(delegate(other(one.role), n) for n in range(width)))
    return story


@pytest.mark.parametrize(("width", "limit"), [(1, "DELEGATION_MAX_DEPTH"), (8, "DELEGATION_MAX_TOTAL"), (9, "FAN_OUT")])
def test_a_loop_of_roles_meets_a_limit_that_is_named(width: int, limit: str) -> None:
    story = run(400, width)
    assert any(limit in event.output for event in story.of("tool.finished"))
    assert story.state.delegations <= limits.DELEGATION_MAX_TOTAL
    assert max(len(state.roles) for state, _, _ in story.marks) <= 1 + limits.DELEGATION_MAX_TOTAL
    assert len(story.of("model.started")) == 400
    assert story.error is not None
    assert story.error.kind == "budget_exhausted"


def test_a_thousand_levels_are_asked_for_and_six_are_had() -> None:
    """Each role passes everything on, a thousand times over; the deepest is told by what it was stopped."""
    story = run(1_000, 1)
    deepest = max(state.roles[op].depth for state, _, _ in story.marks for op in state.roles)
    assert deepest == limits.DELEGATION_MAX_DEPTH
    assert len(story.of("model.started")) == 1_000
    refused = [event for event in story.of("tool.finished") if "DELEGATION_MAX_DEPTH" in event.output]
    assert len(refused) > 900
    assert {event.error_code for event in refused} == {"delegation_refused"}


def test_a_chain_of_a_thousand_roles_is_no_guild() -> None:
    def chain(count: int) -> dict[str, Any]:
        roles = [role(f"r{n}", [], [f"r{n + 1}"]) for n in range(count - 1)] + [role(f"r{count - 1}", [])]
        return {"entryRole": "r0", "roles": roles, "models": {"main": "scripted:test"}}

    with pytest.raises(ValidationError, match="roles"):
        GuildSpec.model_validate(chain(1_000))
    assert GuildSpec.model_validate(chain(limits.ROLES_MAX_COUNT)).roles[-1].name == "r15"


def test_a_role_cannot_delegate_to_itself_and_can_to_another() -> None:
    story = Story(snapshot(LOOP)).reply("", delegate("a", 1), delegate("b", 2))
    assert [event.error_code for event in story.of("tool.finished")] == ["delegation_refused"]
    assert [one.role for one in story.roles] == ["a", "b"]
