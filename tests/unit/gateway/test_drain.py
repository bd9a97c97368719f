"""What is under way while the gateway stops: nothing new is admitted, and the close ends after the last of it."""

import asyncio

import pytest
from guildhall_contracts.errors import error_info
from guildhall_executor.places import Patience
from guildhall_executor.retry import Failure, Pace, Tally, Wait, decide, from_gateway
from guildhall_gateway.drain import Drain
from guildhall_gateway.gateway import STOP_GRACE_SECONDS
from guildhall_gateway.problems import DRAINING, Refused


def nothing() -> None:
    """What was under way ends by itself."""


async def test_once_closed_it_admits_nothing() -> None:
    drain = Drain()
    drain.check()
    with drain.admitted():
        pass
    await asyncio.wait_for(drain.close(5.0, nothing), 1)
    with pytest.raises(Refused) as caught:
        drain.check()
    assert caught.value.refusal is DRAINING
    with pytest.raises(Refused), drain.admitted():
        raise AssertionError("it began")


async def test_who_joins_a_call_is_admitted_and_waited_for() -> None:
    drain, go_on = Drain(), asyncio.Event()
    drain.follow(asyncio.create_task(go_on.wait()))
    closing = asyncio.create_task(drain.close(5.0, nothing))
    await asyncio.sleep(0)
    with drain.admitted(joins=True):
        go_on.set()
        await asyncio.sleep(0.02)
        assert not closing.done()
    await asyncio.wait_for(closing, 1)


async def test_the_close_waits_for_a_call_that_was_only_beginning_and_for_what_it_became() -> None:
    drain, go_on, ended = Drain(), asyncio.Event(), asyncio.Event()

    async def begin() -> None:
        with drain.admitted():
            await go_on.wait()
            drain.follow(asyncio.create_task(ended.wait()))

    beginning = asyncio.create_task(begin())
    await asyncio.sleep(0)
    closing = asyncio.create_task(drain.close(5.0, nothing))
    await asyncio.sleep(0.02)
    go_on.set()
    await beginning
    await asyncio.sleep(0.02)
    assert not closing.done(), "its task goes on"
    ended.set()
    await asyncio.wait_for(closing, 1)


async def test_what_outlasts_the_grace_is_cut_and_what_only_then_goes_on_is_too() -> None:
    drain, go_on = Drain(), asyncio.Event()
    tasks: list[asyncio.Task[bool]] = []

    def cut() -> None:
        for task in tasks:
            task.cancel()

    def made() -> None:
        tasks.append(asyncio.create_task(asyncio.Event().wait()))
        drain.follow(tasks[-1])

    async def begin() -> None:
        with drain.admitted():
            await go_on.wait()
            made()

    made()
    beginning = asyncio.create_task(begin())
    await asyncio.sleep(0)
    closing = asyncio.create_task(drain.close(0.05, cut))
    await asyncio.sleep(0.02)
    assert not tasks[0].done(), "control: the grace is not over"
    await asyncio.wait(tasks, timeout=1)
    assert not closing.done()
    go_on.set()
    await asyncio.wait_for(closing, 1)
    await beginning
    assert [task.cancelled() for task in tasks] == [True, True]


async def test_a_call_that_fails_to_begin_holds_nothing_up() -> None:
    drain = Drain()
    with pytest.raises(OSError, match="no"), drain.admitted():
        raise OSError("no")
    await asyncio.wait_for(drain.close(5.0, nothing), 1)


def test_a_gateway_that_stops_uses_up_no_try() -> None:
    """A provider that fails once afterwards is asked again, as it would have been before."""
    failure = from_gateway(DRAINING.error)
    tally = Tally(tries=5)
    for second in range(4):
        tally = tally.after(failure, float(second))
    assert tally.tries == 5
    other = Failure(error_info("llm_unavailable", "busy"))
    assert Tally().after(failure, 0.0).after(other, 1.0).tries == 1, "control: a provider's failure is a try"


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_an_executor_outlasts_a_gateway_that_stops(jitter: float) -> None:
    """The executor's own decider, asked as often as it asks: it still waits when the grace is over."""
    patience, failure = Patience(), from_gateway(DRAINING.error)
    pace = Pace(patience.retry_base_seconds, patience.retry_after_max_seconds, patience.gateway_away_seconds, jitter)
    tally, now = Tally(), 0.0
    while now <= STOP_GRACE_SECONDS:
        tally = tally.after(failure, now)
        decision = decide(failure, tally, pace, now)
        assert isinstance(decision, Wait), f"it gave up after {now} seconds"
        now += decision.seconds
