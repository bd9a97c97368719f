"""However a call ends, those who wait for it hear so: a last line, its money settled, and nothing cut in half."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import AnyLine, FailureLine, ModelRequest, ReplyLine, TextDelta, ToolCall
from guildhall_gateway.calls import _cut
from guildhall_gateway.ledger_rows import Outcome
from guildhall_gateway.live import LiveCall, Timeouts
from guildhall_gateway.prices import Pricing, TokenCount
from guildhall_gateway.providers.base import ProviderReply
from guildhall_gateway.runs import RunView
from unit.gateway import kit

RUN = RunView("run-1", "team", "name-run-1", budget=Budget())


async def begun(served: kit.Served, call_id: str = "c1") -> LiveCall:
    call = await served.gateway.start_call(RUN, ModelRequest.model_validate(kit.request(call_id)))
    assert isinstance(call, LiveCall)
    return call


async def last(served: kit.Served, call: LiveCall) -> AnyLine:
    async with asyncio.timeout(5):
        return [line async for line in served.gateway.calls.follow(call)][-1]


class Told:
    """A provider that gives one reply of the test's making."""

    def __init__(self, reply: ProviderReply) -> None:
        self.reply = reply

    async def close(self) -> None:
        """It holds nothing."""

    def pricing(self, _request: ModelRequest) -> Pricing:
        return lambda count: count.prompt + count.output

    async def stream(self, _request: ModelRequest, _attempt: int) -> AsyncGenerator[str | ProviderReply, None]:
        yield self.reply


class Early(Told):
    """One that says something at once, and goes on when it is told to."""

    def __init__(self, reply: ProviderReply) -> None:
        super().__init__(reply)
        self.said, self.go_on = asyncio.Event(), asyncio.Event()

    async def stream(self, _request: ModelRequest, _attempt: int) -> AsyncGenerator[str | ProviderReply, None]:
        yield "first "
        self.said.set()
        await self.go_on.wait()
        yield "second"
        yield self.reply


class Kept(Told):
    """One whose answer the test holds too, so that nobody else ends it; without a reply it waits for ever."""

    answer: AsyncGenerator[str | ProviderReply, None] | None = None

    def stream(self, _request: ModelRequest, _attempt: int) -> AsyncGenerator[str | ProviderReply, None]:
        self.answer = self._pieces()
        return self.answer

    async def _pieces(self) -> AsyncGenerator[str | ProviderReply, None]:
        yield "first "
        if self.reply.text:
            yield self.reply
        while True:  # also when it is woken by a cancellation: a library may take one for its own
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            yield ""


@pytest.mark.parametrize(
    ("reply", "timeouts", "ends"),
    [("hi", Timeouts(), ReplyLine), ("", Timeouts(call=0.2), FailureLine)],
    ids=["reply", "timeout"],
)
async def test_the_provider_s_answer_is_closed_however_its_call_ends(
    tmp_path: Path, reply: str, timeouts: Timeouts, ends: type[AnyLine]
) -> None:
    async with kit.serve(tmp_path, timeouts=timeouts) as served:
        served.cluster.add_run()
        provider = Kept(ProviderReply(reply, count=TokenCount(prompt=1, output=1)))
        served.gateway.calls._providers = lambda _model: provider
        assert isinstance(await last(served, await begun(served)), ends)
        assert provider.answer is not None
        assert provider.answer.ag_frame is None, "it is over, not only given up"


async def test_text_that_comes_before_anybody_listens_is_heard(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        early = Early(ProviderReply("first second", count=TokenCount(prompt=1, output=1)))
        served.gateway.calls._providers = lambda _model: early
        call = await begun(served)
        await early.said.wait()
        lines = served.gateway.calls.follow(call)
        first = await anext(lines)
        early.go_on.set()
        heard = [first, *[line async for line in lines]]
    assert [line.text for line in heard if isinstance(line, TextDelta)] == ["first ", "second"]
    assert isinstance(heard[-1], ReplyLine)


@pytest.mark.parametrize("end", ["cut", "close"])
async def test_nothing_can_come_between_a_reply_and_its_settlement(tmp_path: Path, end: str) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        ledger, settling, go_on = served.gateway.ledger, asyncio.Event(), asyncio.Event()
        settle = ledger.settle

        async def slowly(run: str, call_id: str, attempt: int, outcome: Outcome, now: float) -> Any:
            settling.set()
            await go_on.wait()
            return await settle(run, call_id, attempt, outcome, now)

        ledger.settle = slowly  # type: ignore[method-assign]
        call = await begun(served)
        waiting = asyncio.create_task(last(served, call))
        await settling.wait()
        if end == "cut":
            served.gateway.calls.cut("run-1")
        closing = asyncio.create_task(served.gateway.calls.close(0.0))
        await asyncio.sleep(0.05)
        assert served.gateway.calls.busy() == {("run-1", "c1")}, "it is ours until its money is settled"
        assert not waiting.done()
        go_on.set()
        assert isinstance(await waiting, ReplyLine)
        await closing
        assert [row.state for row in await ledger.calls("run-1")] == ["settled"]
        assert served.gateway.calls.busy() == set()


async def test_a_call_cut_before_it_began_ends_like_any_other(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        call = await begun(served)
        served.gateway.calls.cut("run-1")
        line = await last(served, call)
        assert isinstance(line, FailureLine)
        assert line.failure.error.kind == "interrupted"
        await kit.until(lambda: not served.gateway.calls.busy())
        assert [row.state for row in await served.gateway.ledger.calls("run-1")] == ["failed"]
        assert isinstance(await last(served, await begun(served, "c2")), ReplyLine)


async def test_a_reply_that_cannot_be_kept_is_a_failure_that_was_paid_for(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        calls, count = served.gateway.calls, TokenCount(prompt=10, output=2)
        calls._providers = lambda _model: Told(ProviderReply(text="half \ud83d", count=count))
        line = await last(served, await begun(served))
        assert isinstance(line, FailureLine)
        assert line.failure.error.kind == "llm_unavailable"
        calls._providers = lambda _model: Told(ProviderReply(text="whole \U0001f600", count=count))
        assert isinstance(await last(served, await begun(served, "c2")), ReplyLine)
        rows = {row.call_id: row for row in await served.gateway.ledger.calls("run-1")}
        assert (rows["c1"].state, rows["c2"].state) == ("failed", "settled")
        assert rows["c1"].cost_micro_usd == rows["c2"].cost_micro_usd == 12


async def test_a_database_that_breaks_while_settling_still_ends_the_call(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()

        async def broken(*_: Any) -> Any:
            raise RuntimeError("a bug")

        served.gateway.ledger.settle = broken  # type: ignore[method-assign,assignment]
        line = await last(served, await begun(served))
        assert isinstance(line, FailureLine)
        assert line.failure.error.kind == "internal"


async def test_replies_are_cut_by_bytes(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        call = ToolCall.model_construct(id="t1", name="x", arguments="é" * limits.TOOL_ARGUMENTS_MAX_BYTES)
        long = "é" * limits.BLOB_RESULT_MAX_BYTES
        served.gateway.calls._providers = lambda _model: Told(ProviderReply(text=long, tool_calls=[call]))
        line = await last(served, await begun(served))
        assert isinstance(line, ReplyLine)
        assert len(line.reply.text.encode()) == limits.BLOB_RESULT_MAX_BYTES
        assert len(line.reply.tool_calls[0].arguments.encode()) == limits.TOOL_ARGUMENTS_MAX_BYTES
        assert line.reply.stop_reason == "max_tokens"


def test_a_cut_keeps_whole_characters() -> None:
    assert _cut("aé", 3) == "aé"
    assert _cut("aé", 2) == "a"
    assert _cut("\U0001f600" * 2, 7) == "\U0001f600"
