"""Roles that work side by side on one budget: what one's open call holds ends no other, what it has spent does."""

from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.guild import Budget
from guildhall_gateway import calls, ledger_room
from support.executor_run import role
from support.executor_scene import scene, tool, turn

pytestmark = pytest.mark.go
PRICE = {"promptMicroUSD": 1_000_000, "outputMicroUSD": 1_000_000}
CHEAP = {"usage": {"tokens": 500, "outputTokens": 20}, "price": PRICE}  # and may use 11,000 or so, each
DEAR = {"usage": {"tokens": 9_000, "outputTokens": 20}, "price": PRICE}
ROLES = [role("lead", [], ["left", "right"]), role("left", []), role("right", [])]
LIMITS = {
    "cost": Budget(cost_micro_usd=15_000, steps=50, seconds=600),
    "tokens": Budget(tokens=15_000, steps=50, seconds=600),
}


def done(**more: Any) -> dict[str, Any]:
    return turn(tool("finish", result="done")) | more


def turns(*, at_once: bool, used: dict[str, Any], seconds: float = 0.5) -> dict[str, Any]:
    """A lead with two delegates, asked of one reply or of two."""
    left, right = (tool("delegate", role=name, brief="b") for name in ("left", "right"))
    asks = [turn(left, right) | CHEAP] if at_once else [turn(left) | CHEAP, turn(right) | CHEAP]
    mine = done(delaySeconds=seconds) | used
    return {"lead": [*asks, done() | CHEAP], "left": [mine], "right": [mine]}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("attended", [False, True], ids=["scheduled", "attended"])
@pytest.mark.parametrize("at_once", [False, True], ids=["one after another", "at once"])
async def test_delegates_at_once_end_where_delegates_one_after_another_end(
    tmp_path: Path, at_once: bool, attended: bool, limit: str
) -> None:
    """There is room for the call of one at a time, and for what both really use many times over."""
    async with scene(tmp_path, ROLES, turns(at_once=at_once, used=CHEAP)) as here:
        here.served.cluster.change_run(budget=LIMITS[limit], attended=attended)
        got = await here.outcome()
        totals = await here.served.gateway.ledger.totals("run-1")
        rows = await here.served.gateway.ledger.calls("run-1")
    assert got.message.outcome == "succeeded", got.message
    assert got.of("question.asked") == []
    assert got.of("error.raised") == []
    assert {row.state for row in rows} == {"settled"}
    assert (totals.cost, totals.calls_reserved, totals.cost_reserved) == (520 * totals.calls, 0, 0)


async def test_a_wait_longer_than_the_gateways_own_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "ELSEWHERE_WAIT_SECONDS", 0.1)
    monkeypatch.setattr(ledger_room, "LOOK_SECONDS", 0.05)
    async with scene(tmp_path, ROLES, turns(at_once=True, used=CHEAP, seconds=2.5)) as here:
        here.served.cluster.change_run(budget=LIMITS["cost"])
        got = await here.outcome()
    assert got.message.outcome == "succeeded", got.message
    told = [event.error for event in got.of("error.raised")]
    assert told, "control: the gateway's own wait was over"
    assert {(error.kind, error.retryable) for error in told} == {("budget_exhausted", True)}
    assert "calls under way hold" in told[0].message
    assert got.of("question.asked") == []


@pytest.mark.parametrize("attended", [False, True], ids=["scheduled", "attended"])
async def test_what_the_other_has_spent_is_a_stop_once_it_has(tmp_path: Path, attended: bool) -> None:
    async with scene(tmp_path, ROLES, turns(at_once=True, used=DEAR)) as here:
        here.served.cluster.change_run(budget=LIMITS["cost"], attended=attended)
        if attended:
            asked = await here.event("question.asked")
            assert "are left" in asked["text"], "it says what is left of what was spent"
            here.answer("i1", asked, "stop")
        got = await here.outcome()
        totals = await here.served.gateway.ledger.totals("run-1")
    assert (got.message.outcome, got.message.error_kind) == ("failed", "budget_exhausted")
    assert len(got.of("question.asked")) == attended
    assert (totals.cost, totals.cost_reserved) == (520 + 9_020, 0), (
        "the one that was made is paid, the other was not made"
    )
