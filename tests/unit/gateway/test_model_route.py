"""The model route end to end on loopback: replies, replays, budgets, cuts, and a gateway that is killed."""

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import ModelRequest
from guildhall_gateway.live import Timeouts
from guildhall_gateway.runs import RunView
from unit.gateway import kit

SLOW = {"reply": {"text": "late"}, "delaySeconds": 0.4, "usage": {"tokens": 10, "outputTokens": 2}}
HANG = {"fault": "hang"}
DOLLAR = {"promptMicroUSD": 1_000_000, "cachedMicroUSD": 100_000, "outputMicroUSD": 2_000_000}


def asked(**more: Any) -> ModelRequest:
    return ModelRequest.model_validate(kit.request(**more))


async def refused(served: kit.Served, body: dict[str, Any], token: str = kit.TOKEN) -> tuple[int, str, str]:
    async with served.client(token) as client:
        answer = await client.post("/v1/model", json=body)
    error = answer.json()["error"]
    return answer.status_code, error["kind"], error["message"]


async def test_a_scripted_reply_streams_and_is_settled(tmp_path: Path) -> None:
    text = "a text longer than one piece, so that it comes in several"
    kit.scenario(tmp_path, "hi", [{"reply": {"text": text}, "usage": {"tokens": 10, "outputTokens": 2}}])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        lines = await served.model(kit.request())
        texts = [line["text"] for line in lines if line["type"] == "text"]
        assert "".join(texts) == text
        assert len(texts) > 1
        reply = lines[-1]["reply"]
        assert (reply["text"], reply["scripted"], reply["totals"]["calls"]) == (text, True, 1)


async def test_a_settled_call_replays_its_reply_and_is_not_paid_again(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI], price=DOLLAR)
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        first = (await served.model(kit.request()))[-1]["reply"]
        again = await served.model(kit.request())
        assert len(again) == 1
        replayed = again[0]["reply"]
        assert (replayed.pop("replayed"), first.pop("replayed")) == (True, False)
        assert replayed == first
        assert first["costMicroUSD"] == 14
        status, _, message = await refused(served, kit.request(maxOutputTokens=99))
        assert status == 409, "the same id for another request"
        assert "c1" in message


async def test_two_who_ask_for_one_call_at_once_get_one_call(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [SLOW])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()

        async def ask() -> str:
            for _ in range(50):
                async with served.client() as client:
                    answer = await client.post("/v1/model", json=kit.request())
                if answer.status_code == 200:
                    return str(json.loads(answer.text.splitlines()[-1])["reply"]["text"])
                assert answer.json()["error"]["retryable"] is True
                await asyncio.sleep(0.05)
            raise AssertionError("never answered")

        assert await asyncio.gather(*(ask() for _ in range(5))) == ["late"] * 5
        assert [row.state for row in await served.gateway.ledger.calls("run-1")] == ["settled"]


async def test_a_caller_that_leaves_finds_its_reply_later(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [SLOW])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        async with served.client() as client:
            with pytest.raises(httpx.ReadTimeout):
                await client.post("/v1/model", json=kit.request(), timeout=httpx.Timeout(5, read=0.15))
        async with asyncio.timeout(5):
            while [row.state for row in await served.gateway.ledger.calls("run-1")] != ["settled"]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        reply = (await served.model(kit.request()))[-1]["reply"]
        assert (reply["text"], reply["replayed"]) == ("late", True)


async def test_a_caller_that_leaves_leaves_nothing_running(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [HANG])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        before = len(asyncio.all_tasks())
        for _ in range(5):
            async with served.client() as client:
                with pytest.raises(httpx.ReadTimeout):
                    await client.post("/v1/model", json=kit.request(), timeout=httpx.Timeout(5, read=0.15))
        await kit.until(lambda: len(asyncio.all_tasks()) <= before + 3)  # the call, its asking and its stream
        live = next(iter(served.gateway.calls._live.values()))
        await kit.until(lambda: not live.followers)
        assert len(served.gateway.calls.busy()) == 1, "the call itself goes on"


async def test_a_reader_too_slow_for_the_text_still_gets_the_reply(tmp_path: Path) -> None:
    text = "x" * 200_000
    kit.scenario(tmp_path, "hi", [{"reply": {"text": text}}])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        call = await served.gateway.start_call(RunView("run-1", "team", "name-run-1", budget=Budget()), asked())
        lines = served.gateway.calls.follow(call)  # type: ignore[arg-type]
        await anext(lines)
        await kit.until(lambda: not served.gateway.calls.busy())
        rest = [line async for line in lines]
        assert len(rest) < 2_000
        assert rest[-1].reply.text == text  # type: ignore[union-attr]


async def test_heartbeats_while_the_provider_thinks(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [SLOW])
    async with kit.serve(tmp_path, timeouts=Timeouts(heartbeat=0.1)) as served:
        served.cluster.add_run()
        kinds = [line["type"] for line in await served.model(kit.request())]
        assert kinds.count("heartbeat") >= 2
        assert kinds[-1] == "reply"


@pytest.mark.parametrize("end", ["cancelled", "finished", "gone"])
async def test_a_run_that_ends_cuts_its_calls_and_is_charged_the_worst_case(tmp_path: Path, end: str) -> None:
    kit.scenario(tmp_path, "hi", [HANG], price=DOLLAR)
    async with kit.serve(tmp_path) as served:
        run = served.cluster.add_run()
        served.cluster.add_run("other", token="other")
        calls = [
            asyncio.create_task(served.model(kit.request("c1"))),
            asyncio.create_task(served.model(kit.request("c2"))),
            asyncio.create_task(served.model(kit.request("c1"), "other")),
        ]
        await kit.until(lambda: len(served.gateway.calls.busy()) == 3)
        await asyncio.sleep(0.1)
        if end == "gone":
            served.cluster.tell("gone", run)
        else:
            served.cluster.change_run(cancelled=end == "cancelled", finished=end == "finished")
        for call in calls[:2]:
            failure = (await asyncio.wait_for(call, 2))[-1]["failure"]["error"]
            assert (failure["kind"], failure["retryable"]) == ("interrupted", False)
        assert not calls[2].done(), "another Run's call goes on"
        served.cluster.change_run("other", cancelled=True)
        await calls[2]
        rows = await served.gateway.ledger.calls("run-1")
        assert [row.state for row in rows] == ["failed", "failed"]
        assert all((row.cost_micro_usd or 0) == row.reserved_micro_usd > 0 for row in rows)
        totals = await served.gateway.ledger.totals("run-1")
        assert (totals.calls_reserved, totals.cost_reserved, totals.tokens_reserved) == (0, 0, 0)


async def test_budgets_end_a_run_with_words_a_person_can_act_on(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI], price=DOLLAR)
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run(budget={"steps": 2})
        await served.model(kit.request("c1"))
        await served.model(kit.request("c2"))
        status, kind, message = await refused(served, kit.request("c3"))
        assert (status, kind) == (402, "budget_exhausted")
        assert "budget.steps" in message
        served.cluster.add_run("poor", token="poor", budget={"cost_micro_usd": 50})
        status, kind, message = await refused(served, kit.request("c1"), "poor")
        assert (status, kind) == (402, "budget_exhausted")
        assert "$" in message
        served.cluster.add_run("small", token="small", budget={"tokens": 500})
        _, kind, message = await refused(served, kit.request("c1"), "small")
        assert kind == "budget_exhausted"
        assert "budget.tokens" in message
        served.cluster.add_run("rich", token="rich", budget={"tokens": 50_000, "cost_micro_usd": 50_000})
        assert (await served.model(kit.request("c1"), "rich"))[-1]["type"] == "reply"


async def test_cached_tokens_add_up_over_turns_and_roles(tmp_path: Path) -> None:
    """CB-02: six turns with 9,000 cached tokens, over two roles, are 54,000."""
    step = {"reply": {"text": "x"}, "usage": {"tokens": 10_000, "cachedPromptTokens": 9_000, "outputTokens": 100}}
    kit.scenario(tmp_path, "hi", [step], price=DOLLAR)
    data = {"name": "two", "price": DOLLAR, "roles": {"coder": [step], "reviewer": [step]}}
    (tmp_path / "scenarios" / "two.yaml").write_text(json.dumps(data))
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        for number in range(6):
            role = "coder" if number % 2 else "reviewer"
            reply = (await served.model(kit.request(f"c{number}", "scripted:two", role=role)))[-1]["reply"]
        assert reply["costMicroUSD"] == 1_000 + 900 + 200
        assert reply["totals"]["cachedPromptTokens"] == 54_000
        assert reply["totals"]["tokens"] == 60_000
        assert reply["totals"]["costMicroUSD"] == 6 * 2_100


async def test_the_budget_is_the_one_of_the_snapshot_and_stays_as_it_was_at_the_first_call(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        served.cluster.change_run(budget=None)
        status, kind, _ = await refused(served, kit.request("c1"))
        assert (status, kind) == (503, "llm_unavailable"), "nothing is spent before the operator's record is seen"
        served.cluster.change_run(budget=Budget(steps=2))
        await served.model(kit.request("c1"))
        served.cluster.change_run(budget=Budget(steps=100))
        await served.model(kit.request("c2"))
        assert (await refused(served, kit.request("c3")))[1] == "budget_exhausted"


async def test_models_that_are_not_allowed_are_not_called(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    kit.scenario(tmp_path, "demo-1", [kit.SAY_HI])
    async with kit.serve(tmp_path, models={"allow": ["scripted:demo-*"]}) as served:
        served.cluster.add_run()
        assert (await served.model(kit.request("c1", "scripted:demo-1")))[-1]["type"] == "reply"
        for model in ("scripted:hi", "openai:gpt-4o", "nothing:x"):
            assert (await refused(served, kit.request("c2", model)))[:2] == (403, "llm_refused")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"callId": 1}',
        b"\xff\xfe",
        json.dumps(kit.request() | {"surprise": 1}).encode(),
        json.dumps(kit.request() | {"messages": []}).encode(),
        json.dumps(kit.request() | {"model": "no colon"}).encode(),
        json.dumps(kit.request() | {"maxOutputTokens": 10**9}).encode(),
        json.dumps(kit.request()).replace("do it", "\\ud800").encode(),
        b'{"messages":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    ],
)
async def test_any_bytes_give_a_typed_refusal(tmp_path: Path, body: bytes) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        async with served.client() as client:
            answer = await client.post("/v1/model", content=body)
            assert answer.status_code == 422
            assert answer.json()["error"]["retryable"] is False
            assert (await client.post("/v1/model", json=kit.request())).status_code == 200


FAULTS = {
    "401": ("llm_refused", False),
    "429": ("llm_unavailable", True),
    "500": ("llm_unavailable", True),
    "empty": ("llm_unavailable", True),
    "garbage": ("llm_unavailable", True),
    "hang": ("llm_unavailable", True),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_scripted_faults_look_like_a_providers(tmp_path: Path, fault: str) -> None:
    kit.scenario(tmp_path, "hi", [{"fault": fault}])
    async with kit.serve(tmp_path, timeouts=Timeouts(idle=0.2)) as served:
        served.cluster.add_run()
        failure = (await served.model(kit.request()))[-1]["failure"]["error"]
        assert (failure["kind"], failure["retryable"]) == FAULTS[fault]


async def test_a_fault_that_passes_is_retried_under_the_same_id(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI | {"fault": {"kind": "429", "retryAfterSeconds": 4, "firstTries": 2}}])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run(budget={"steps": 1})
        for _ in range(2):
            failure = (await served.model(kit.request()))[-1]["failure"]
            assert failure["retryAfterSeconds"] == 4.0
        reply = (await served.model(kit.request()))[-1]["reply"]
        assert (reply["text"], reply["totals"]["calls"]) == ("hi", 1), "a call that was not made is no step"


async def started(folder: Path) -> tuple[asyncio.subprocess.Process, str]:
    tests = str(Path(__file__).parents[2])
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "unit.gateway.killable",
        str(folder),
        stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": tests},
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        return process, (await process.stdout.readline()).decode().strip()


async def test_kill_dash_nine_in_the_middle_of_a_call(tmp_path: Path) -> None:
    """The call is cut with the gateway; the next one makes the same id once more, and only then is it settled."""
    kit.scenario(tmp_path, "hi", [kit.SAY_HI | {"fault": {"kind": "hang", "firstTries": 1}}], price=DOLLAR)
    process, url = await started(tmp_path)
    headers = {"Authorization": f"Bearer {kit.TOKEN}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False) as client:
        call = asyncio.create_task(client.post("/v1/model", json=kit.request(), timeout=30))
        await asyncio.sleep(1.0)
        assert not call.done()
        process.send_signal(signal.SIGKILL)
        await process.wait()
        with pytest.raises(httpx.HTTPError):
            await call
    process, url = await started(tmp_path)
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=30) as client:
        first = json.loads((await client.post("/v1/model", json=kit.request())).text.splitlines()[-1])["reply"]
        again = json.loads((await client.post("/v1/model", json=kit.request())).text.splitlines()[-1])["reply"]
        api = {"Authorization": f"Bearer {kit.API_TOKEN}"}
        ledger = (await client.get("/internal/v1/runs/run-1/ledger", headers=api)).json()
    process.send_signal(signal.SIGKILL)
    await process.wait()
    assert (first["text"], first["replayed"], again["replayed"]) == ("hi", False, True)
    assert sorted(row["state"] for row in ledger["calls"]) == ["failed", "settled"]
    lost, paid = sorted(ledger["calls"], key=lambda row: str(row["state"]))
    assert lost["costMicroUSD"] == lost["reservedMicroUSD"]
    assert ledger["totals"]["costMicroUSD"] == lost["costMicroUSD"] + paid["costMicroUSD"]
    assert paid["costMicroUSD"] == 14


async def test_the_ledger_view_holds_no_prompt_and_no_reply(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [{"reply": {"text": "CANARY-REPLY"}}])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        body = kit.request(messages=[{"kind": "user", "content": [kit.block("CANARY-PROMPT")]}])
        assert (await served.model(body))[-1]["reply"]["text"] == "CANARY-REPLY"
        async with served.client(kit.API_TOKEN) as client:
            text = (await client.get("/internal/v1/runs/run-1/ledger")).text
        assert '"settled"' in text
        assert "CANARY" not in text


async def test_run_status_gets_the_ledgers_figures_throttled(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI], price=DOLLAR)
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        for number in range(20):
            await served.model(kit.request(f"c{number}"))
        await kit.until(lambda: served.cluster.run_statuses)
        written = len(served.cluster.run_statuses)
        assert written <= 2, "many calls, few writes"
        served.cluster.change_run(finished=True)
        await kit.until(lambda: served.cluster.run_statuses[-1][1]["usage"]["calls"] == 20)
        status = served.cluster.run_statuses[-1][1]
        assert status["usage"]["costMicroUSD"] == 20 * 14
        assert status["cost"] == "$0.0003"
        assert status["awaiting"] == {"questions": 0, "approvals": 0}
