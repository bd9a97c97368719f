"""The Lease: taken when free, held while renewed, lost at once when it is another's."""

import asyncio
import time
from typing import Any

import pytest
from guildhall_operator import leader as module
from guildhall_operator.client import KubeError
from guildhall_operator.leader import GIVE_UP_SECONDS, LEASE_NAME, LEASE_SECONDS, Leader
from unit.operator.fake_kube import FakeKube
from unit.operator.test_queue import Clock

PATH = f"/apis/coordination.k8s.io/v1/namespaces/team-a/leases/{LEASE_NAME}"


def two(kube: FakeKube | None = None) -> tuple[FakeKube, Clock, Leader, Leader]:
    kube, clock = kube or FakeKube(), Clock()
    return kube, clock, Leader(kube, "team-a", "one", clock), Leader(kube, "team-a", "two", clock)


def spec(kube: FakeKube) -> dict[str, Any]:
    found: dict[str, Any] = kube.objects[PATH]["spec"]
    return found


async def test_the_first_takes_it_and_the_second_does_not() -> None:
    kube, _, one, other = two()
    assert await one.try_once()
    assert not await other.try_once()
    assert (one.leading, other.leading) == (True, False)
    assert spec(kube)["holderIdentity"] == "one"


async def test_a_lease_that_is_not_renewed_is_taken_over_after_its_time() -> None:
    kube, clock, one, other = two()
    await one.try_once()
    assert not await other.try_once()
    clock.now = LEASE_SECONDS - 1
    assert not await other.try_once()
    clock.now = LEASE_SECONDS + 1
    assert await other.try_once()
    assert spec(kube)["leaseTransitions"] == 2
    assert not await one.try_once()


async def test_a_lease_that_is_renewed_is_not() -> None:
    _, clock, one, other = two()
    await one.try_once()
    for second in range(0, 60, 5):
        clock.now = second
        assert await one.try_once()
        assert not await other.try_once()


async def test_two_that_take_it_at_once_do_not_both_get_it() -> None:
    kube, clock, one, other = two()
    await one.try_once()
    third = Leader(kube, "team-a", "three", clock)
    await other.try_once()
    await third.try_once()
    clock.now = LEASE_SECONDS + 1
    assert sorted(await asyncio.gather(other.try_once(), third.try_once())) == [False, True]


async def test_a_released_lease_is_free_at_once() -> None:
    _, _, one, other = two()
    await one.try_once()
    assert not await other.try_once()
    await one.release()
    assert not one.leading
    assert await other.try_once()
    await one.release()
    assert other.leading


async def test_holding_ends_when_another_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_SECONDS", 0.0)
    kube, clock, one, other = two()
    await one.try_once()
    task = asyncio.create_task(one.hold())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done()
    kube.put(PATH, {**kube.objects[PATH], "spec": {**spec(kube), "holderIdentity": "two"}})
    await asyncio.wait_for(task, 1)
    assert not one.leading
    assert not other.leading
    assert clock.now == 0


async def test_holding_ends_before_another_may_begin_when_the_server_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEW_SECONDS", 0.0)
    kube, clock, one, _ = two()
    await one.try_once()

    def refuse(_method: str, _path: str) -> None:
        clock.now += 1
        raise KubeError(0, "Unreachable", "gone")

    kube.refuse = refuse
    await asyncio.wait_for(one.hold(), 1)
    assert not one.leading
    assert GIVE_UP_SECONDS <= clock.now < LEASE_SECONDS


class SlowKube(FakeKube):
    """Each call takes `seconds`; what is asked for is done at its end."""

    seconds = 0.0

    async def call(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        await asyncio.sleep(self.seconds)
        return await super().call(*arguments, **options)


@pytest.mark.parametrize("renew", [0.0, 0.09, 10.0])
async def test_holding_ends_in_time_when_the_server_takes_calls_and_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, renew: float
) -> None:
    """Wherever between two attempts it begins, by the clock everybody has."""
    monkeypatch.setattr(module, "RENEW_SECONDS", renew)
    monkeypatch.setattr(module, "GIVE_UP_SECONDS", 0.3)
    kube = SlowKube()
    one = Leader(kube, "team-a", "one")
    assert await one.try_once()
    began = time.monotonic()
    kube.seconds = 60.0
    await one.hold()
    assert not one.leading
    assert time.monotonic() - began < 0.4


async def test_it_counts_from_before_it_asked() -> None:
    """The server's answer may be late; what others see was written before it."""
    kube = FakeKube()
    clock = Clock()
    one = Leader(kube, "team-a", "one", clock)

    def slow(_method: str, _path: str) -> None:
        clock.now += 2.0

    kube.refuse = slow
    assert await one.try_once()
    assert one._left() == GIVE_UP_SECONDS - clock.now
