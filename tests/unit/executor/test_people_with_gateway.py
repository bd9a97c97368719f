"""People and an executor, with the real gateway and the real workshop between them."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.model_api import ModelRequest
from guildhall_gateway.gateway import Gateway
from guildhall_gateway.runs import RunView
from support.executor_run import role
from support.executor_scene import finish, scene, tool, turn
from unit.gateway import kit

pytestmark = pytest.mark.go


async def test_a_question_is_open_at_the_gateway_until_it_is_answered(tmp_path: Path) -> None:
    ask = tool("ask_human", question="Left or right?", options=["left", "right"])
    turns = {"coder": [turn(ask), finish(lastToolResult={"equals": "left"})]}
    async with scene(tmp_path, [role("coder", ["ask_human"])], turns) as here:
        question = await here.event("question.asked")
        await kit.until(lambda: here.served.cluster.run_statuses)
        calls = (await here.served.gateway.ledger.totals("run-1")).calls
        here.answer("i1", question, "left")
        got = await here.outcome()
        assert (await here.served.gateway.ledger.totals("run-1")).calls == calls + 1
        waiting = here.served.gateway.questions
        assert await waiting.open_count("run-1", here.served.gateway.clock()) == 0
    assert got.message.outcome == "succeeded", got.message
    assert got.of("question.answered")[0].author == "ann"


async def test_what_is_over_is_said_until_the_gateway_has_taken_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gateway's storage is away for the first three times."""
    turns = {"coder": [turn(tool("ask_human", question="One?")), turn(tool("ask_human", question="Two?")), finish()]}
    async with scene(tmp_path, [role("coder", ["ask_human"])], turns) as here:
        questions = here.served.gateway.questions
        withdraw, told = questions.withdraw, list[str]()

        async def late(run: str, question: str) -> bool:
            told.append(question)
            if len(told) < 4:
                raise OSError("away")
            return await withdraw(run, question)

        monkeypatch.setattr(questions, "withdraw", late)
        first = await here.event("question.asked")
        here.answer("i1", first, "yes")
        second = await here.event("question.asked", 2)
        await kit.until(lambda: len(told) >= 4, 20)
        assert told[:4] == [first["questionId"]] * 4
        here.answer("i22", second, "yes")
        got = await here.outcome()
    assert got.message.outcome == "succeeded", got.message


async def test_a_yes_is_used_up_where_the_tool_runs_and_a_no_is_read(tmp_path: Path) -> None:
    two = [tool("run_shell", command="echo one > one"), tool("run_shell", command="echo two > two")]
    turns = {"asked": [turn(*two), finish(toolResults=[{"contains": "exit code 0"}, {"contains": "tool_denied"}])]}
    async with scene(tmp_path, [role("asked", ["run_shell"])], turns) as here:
        first, second = await here.event("approval.requested", 1), await here.event("approval.requested", 2)
        assert not (tmp_path / "w/workspace/one").exists()
        await here.open_approvals(2)
        here.decide("d2", second, "deny")
        await here.event("approval.decided", decision="deny")
        here.decide("d1", first, "approve")
        got = await here.outcome()
    assert got.message.outcome == "succeeded", got.message
    assert (tmp_path / "w/workspace/one").exists()
    assert not (tmp_path / "w/workspace/two").exists()


async def test_an_approved_call_whose_yes_is_gone_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = {
        "asked": [turn(tool("run_shell", command="echo > ran")), finish(lastToolResult={"contains": "tool_denied"})]
    }
    async with scene(tmp_path, [role("asked", ["run_shell"])], turns) as here:
        asked = await here.event("approval.requested")
        await here.open_approvals(1)
        consume = here.served.gateway.approvals.consume

        async def twice(request: Any, run: str) -> str | None:
            await consume(request, run)
            return await consume(request, run)

        monkeypatch.setattr(here.served.gateway.approvals, "consume", twice)
        here.decide("d1", asked, "approve")
        got = await here.outcome()
    assert got.message.outcome == "succeeded", got.message
    assert not (tmp_path / "w/workspace/ran").exists()


async def test_abort_stops_two_delegates_in_a_model_call_and_a_command_and_withdraws_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = [tool("delegate", role=name, brief="b") for name in ("thinker", "doer")]
    turns = {
        "lead": [turn(*work, tool("ask_human", question="Go on?"))],
        "thinker": [turn(tool("read_file", path="a"), delaySeconds=60)],
        "doer": [turn(tool("run_shell", command="echo $$ > pid; exec sleep 600"))],
    }
    roles = [
        role("lead", ["ask_human"], ["thinker", "doer"]),
        role("thinker", ["read_file"]),
        role("doer", ["run_shell"]),
    ]
    requests: list[str] = []
    start_call = Gateway.start_call

    async def counted(self: Gateway, run: RunView, request: ModelRequest) -> Any:
        requests.append(request.call_id)
        return await start_call(self, run, request)

    monkeypatch.setattr(Gateway, "start_call", counted)
    async with scene(tmp_path, roles, turns) as here:
        await here.event("tool.started")
        await here.event("model.started", role="thinker")
        pid = tmp_path / "w/workspace/pid"
        await kit.until(lambda: pid.exists() and pid.read_text().strip())
        await here.event("question.asked")
        gateway = here.served.gateway
        await kit.until(lambda: len(requests) == 3)
        assert await gateway.questions.open_count("run-1", gateway.clock()) == 1
        assert len(gateway.calls.busy()) == 1, "the thinker's call is being made"
        began = time.monotonic()
        here.act("i1", interrupt={"intent": "abort", "message": "enough"})
        got = await here.outcome()
        await kit.until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())
        assert time.monotonic() - began <= 2, "the Run, the executor and the command are over"
        assert await gateway.questions.open_count("run-1", gateway.clock()) == 0
        await asyncio.sleep(0.3)
        assert requests == ["c1", "c2", "c3"], "no further call reached the gateway"
        here.served.cluster.change_run(finished=True)  # as the operator says of it now
        await kit.until(lambda: not gateway.calls.busy())
    assert got.message.outcome == "cancelled"
    assert got.of("question.answered")[0].outcome == "cancelled"
    assert {event.outcome for event in got.of("role.finished")} == {"cancelled"}


async def test_an_inquiry_is_answered_while_a_command_runs_and_a_redirect_is_read_after_it(tmp_path: Path) -> None:
    turns = {
        "coder": [
            turn(tool("run_shell", command="until [ -e go ]; do sleep 0.05; done")),
            finish(lastUser={"contains": "use tabs"}),
        ]
    }
    inquiries = [{"expect": {"lastUser": {"contains": "How far?"}}, "reply": {"text": "Half way."}}]
    async with scene(tmp_path, [role("coder", ["run_shell"])], turns, inquiries=inquiries) as here:
        await here.event("tool.started")
        here.act("i1", interrupt={"intent": "inquire", "message": "How far?"})
        answered = await here.event("interrupt.answered")
        assert answered["text"] == "Half way."
        assert not [e for e in here.printed if e["type"] == "tool.finished"]
        here.act("i22", interrupt={"intent": "redirect", "message": "use tabs"})
        await here.event("interrupt.received", 2)
        (tmp_path / "w/workspace/go").touch()
        got = await here.outcome()
    assert got.message.outcome == "succeeded", got.message


async def test_another_attempt_takes_the_answer_once(tmp_path: Path) -> None:
    ask = tool("ask_human", question="Which?")
    turns = {
        "coder": [turn(ask, tool("ask_human", question="And?")), finish(toolResults=[{"equals": "A"}, {"equals": "B"}])]
    }
    async with scene(tmp_path, [role("coder", ["ask_human"])], turns) as here:
        first, second = await here.event("question.asked", 1), await here.event("question.asked", 2)
        here.answer("i1", first, "A")
        await here.event("question.answered")
        here.attempts[0].cancel()  # the executor is gone without a word
        await asyncio.gather(here.attempts[0], return_exceptions=True)
        here.attempts.append(here.begin(2))
        await here.event("run.started", 2)
        here.answer("i22", second, "B")
        got = await here.outcome()
    assert got.message.outcome == "succeeded", got.message
    assert [event.text for event in got.of("question.answered")] == ["A", "B"]
