"""CB-02: what a Run costs is the sum over its turns, and split by role the same in ledger, events and model."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from guildhall_api.fold import fold
from guildhall_api.model import Model
from support.executor_run import role
from support.executor_scene import scene, tool, turn

pytestmark = pytest.mark.go

CACHED = 9_000
PRICE = {"promptMicroUSD": 1_000_000, "cachedMicroUSD": 100_000, "outputMicroUSD": 2_000_000}
OUTPUT = {"lead": 100, "reviewer": 250}  # so that a turn booked on the other role shows
TURNS = {"lead": 4, "reviewer": 2}
COST = {name: 1_000 + CACHED // 10 + 2 * output for name, output in OUTPUT.items()}  # of one turn: 10,000 tokens
Sums = dict[str, tuple[int, int, int, int]]
EXPECTED: Sums = {
    name: (count * 10_000, count * CACHED, count * OUTPUT[name], count * COST[name]) for name, count in TURNS.items()
}


def step(name: str, call: dict[str, Any]) -> dict[str, Any]:
    usage = {"tokens": 10_000, "cachedPromptTokens": CACHED, "outputTokens": OUTPUT[name]}
    return turn(call, usage=usage)


def summed(rows: Iterable[tuple[str, Any, int | None]]) -> Sums:
    """Tokens, cached tokens, output and cost by role of rows of `(role, usage, cost)`."""
    sums: dict[str, Counter[int]] = {}
    for name, usage, cost in rows:
        assert cost is not None
        one = (usage.tokens, usage.cached_prompt_tokens, usage.output_tokens, cost)
        sums.setdefault(name, Counter()).update(dict(enumerate(one)))
    return {name: (found[0], found[1], found[2], found[3]) for name, found in sums.items()}


async def test_six_turns_over_two_roles_are_split_as_they_were_used(tmp_path: Path) -> None:
    look = tool("list_files")
    turns = {
        "lead": [
            step("lead", look),
            step("lead", tool("delegate", role="reviewer", brief="b")),
            step("lead", look),
            step("lead", tool("finish", result="done")),
        ],
        "reviewer": [step("reviewer", look), step("reviewer", tool("finish", result="seen"))],
    }
    roles = [role("lead", ["list_files"], ["reviewer"]), role("reviewer", ["list_files"])]
    async with scene(tmp_path, roles, turns, price=PRICE) as here:
        got = await here.outcome()
        ledger = here.served.gateway.ledger
        calls, totals = await ledger.calls("run-1"), await ledger.totals("run-1")
    assert got.message.outcome == "succeeded", got.message
    assert summed((call.role, call.usage, call.cost_micro_usd) for call in calls) == EXPECTED, "as the gateway booked"
    ended = got.of("model.finished")
    assert summed((event.role, event.usage, event.cost_micro_usd) for event in ended) == EXPECTED, "as was told"

    model = Model()
    for event in got.events:
        fold(model, event)
    wire = model.to_wire()
    shown = {one["role"]: one["metrics"] for one in wire["participants"] if one.get("role")}
    assert {name: of_metrics(found) for name, found in shown.items()} == EXPECTED, "as people see it"

    whole = tuple(sum(column) for column in zip(*EXPECTED.values(), strict=True))
    assert whole[1] == 54_000
    assert (totals.tokens, totals.cached, totals.output, totals.cost) == whole
    assert of_metrics(wire["run"]["metrics"]) == whole


def of_metrics(found: dict[str, Any]) -> tuple[int, ...]:
    return tuple(found[name] for name in ("tokens", "cachedPromptTokens", "outputTokens", "costMicroUSD"))
