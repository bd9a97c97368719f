"""The queue: each key once, later and later after failures, and never two workers on one key."""

import asyncio

from guildhall_operator.queue import BACKOFF_MAX_SECONDS, WorkQueue


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def make() -> tuple[WorkQueue[str], Clock]:
    clock = Clock()
    return WorkQueue(clock), clock


async def test_a_key_added_twice_is_taken_once() -> None:
    queue, _ = make()
    queue.add("a")
    queue.add("b")
    queue.add("a")
    assert [queue.take(), queue.take(), queue.take()] == ["a", "b", None]


async def test_a_key_added_during_work_comes_once_more_after_it() -> None:
    queue, _ = make()
    queue.add("a")
    assert queue.take() == "a"
    queue.add("a")
    queue.add("a")
    assert queue.take() is None
    queue.done("a")
    assert [queue.take(), queue.take()] == ["a", None]


async def test_a_later_look_is_taken_when_due_and_the_earliest_counts() -> None:
    queue, clock = make()
    queue.add_after("a", 10)
    queue.add_after("a", 5)
    queue.add_after("a", 20)
    clock.now = 4.9
    assert queue.take() is None
    clock.now = 5
    assert queue.take() == "a"
    queue.done("a")
    clock.now = 30
    assert queue.take() is None


async def test_a_look_now_replaces_a_later_one() -> None:
    queue, clock = make()
    queue.add_after("a", 10)
    queue.add("a")
    assert queue.take() == "a"
    queue.done("a")
    clock.now = 11
    assert queue.take() is None


async def test_failures_pause_longer_each_time_up_to_a_bound_and_success_resets() -> None:
    queue, clock = make()
    pauses = []
    for _ in range(12):
        queue.add("bad")
        assert queue.take() == "bad"
        pauses.append(queue.failed("bad"))
        queue.done("bad")
    assert pauses[:4] == [0.2, 0.4, 0.8, 1.6]
    assert pauses[-1] == BACKOFF_MAX_SECONDS
    queue.succeeded("bad")
    clock.now = 1_000
    assert queue.take() == "bad"
    assert queue.failed("bad") == 0.2


async def test_one_failing_key_does_not_hold_the_others() -> None:
    queue, _ = make()
    queue.add("bad")
    queue.add("good")
    assert queue.take() == "bad"
    queue.failed("bad")
    queue.done("bad")
    assert queue.take() == "good"


async def test_get_wakes_for_added_and_for_due_keys() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiter = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("now")
    assert await asyncio.wait_for(waiter, 1) == "now"
    queue.add_after("soon", 0.05)
    assert await asyncio.wait_for(queue.get(), 1) == "soon"


async def test_two_waiting_workers_get_two_keys() -> None:
    queue: WorkQueue[str] = WorkQueue()
    workers = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.add("a")
    queue.add("b")
    assert set(await asyncio.wait_for(asyncio.gather(*workers), 1)) == {"a", "b"}


async def test_one_key_wakes_one_worker_and_a_cancelled_one_hands_it_on() -> None:
    queue: WorkQueue[str] = WorkQueue()
    first, second, third = (asyncio.create_task(queue.get()) for _ in range(3))
    await asyncio.sleep(0)
    assert len(queue._waiters) == 3
    queue.add("a")
    assert len(queue._waiters) == 2, "the others sleep on"
    first.cancel()
    assert await asyncio.wait_for(second, 1) == "a"
    queue.add_after("b", 0.01)
    queue.add_after("c", 5)
    assert await asyncio.wait_for(third, 1) == "b"
    assert first.cancelled()


async def test_an_earlier_key_moves_the_alarm_forward() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add_after("late", 60)
    waiter = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add_after("soon", 0.01)
    assert await asyncio.wait_for(waiter, 1) == "soon"


async def test_the_oldest_waiting_or_busy_key_is_known() -> None:
    queue, clock = make()
    assert queue.oldest_seconds() == 0
    queue.add("a")
    clock.now = 7
    assert queue.oldest_seconds() == 7
    queue.take()
    clock.now = 9
    assert queue.oldest_seconds() == 2
    queue.done("a")
    assert queue.oldest_seconds() == 0
