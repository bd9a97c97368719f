"""The soft stop with the real gateway: one question, one answer, one raise; anything else ends with the patch kept."""

import json
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.guild import Budget
from unit.executor.test_with_gateway import EDIT, FINISH, READ, Scene, scene

pytestmark = pytest.mark.go
PRICE = {"promptMicroUSD": 1_000_000, "outputMicroUSD": 1_000_000}
USED = {"usage": {"tokens": 59_900, "outputTokens": 100}, "price": PRICE}
TURNS: list[dict[str, Any]] = [{"reply": {"toolCalls": [READ, EDIT]}} | USED, FINISH | USED]
ONE_CALL = Budget(cost_micro_usd=65_000, steps=50, seconds=600)


def give(here: Scene, **fields: Any) -> None:
    here.served.cluster.change_run(budget=ONE_CALL, **fields)


async def question(here: Scene) -> str:
    await here.until(b'"question.asked"')
    events = [json.loads(line) for line in here.printed.splitlines()]
    return str(next(event["questionId"] for event in events if event["type"] == "question.asked"))


def answer(here: Scene, question_id: str, text: str) -> None:
    run = here.served.cluster.run("run-1")
    assert run is not None
    here.served.cluster.intervene("i1", run, answer={"questionId": question_id, "text": text})


async def test_continue_lets_the_run_go_on_and_it_succeeds(tmp_path: Path) -> None:
    async with scene(tmp_path, TURNS) as here:
        give(here)
        answer(here, await question(here), "continue")
        got = await here.outcome()
        grant = await here.served.gateway.ledger.grant("run-1")
        totals = await here.served.gateway.ledger.totals("run-1")
    assert got.message.outcome == "succeeded", got.message
    assert (len(got.of("question.asked")), len(got.of("question.answered"))) == (1, 1)
    assert grant is not None
    assert (grant.raises, totals.cost, totals.cost_reserved) == (1, 120_000, 0)


async def test_any_other_answer_ends_the_run_with_its_patch_and_no_further_call(tmp_path: Path) -> None:
    async with scene(tmp_path, TURNS) as here:
        give(here)
        answer(here, await question(here), "stop")
        got = await here.outcome()
        totals = await here.served.gateway.ledger.totals("run-1")
    assert (got.message.outcome, got.message.error_kind) == ("failed", "budget_exhausted")
    assert [file.path for file in got.of("changes.updated")[-1].files] == ["a.txt"]
    assert (totals.calls, totals.cost) == (1, 60_000)
    assert got.of("run.summarized")[0].summary


async def test_where_nobody_may_be_asked_the_stop_is_hard(tmp_path: Path) -> None:
    async with scene(tmp_path, TURNS) as here:
        give(here, attended=False)
        got = await here.outcome()
    assert (got.message.outcome, got.message.error_kind) == ("failed", "budget_exhausted")
    assert got.of("question.asked") == []
    assert [file.path for file in got.of("changes.updated")[-1].files] == ["a.txt"]
