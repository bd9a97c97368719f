"""The outbox: the newest letter of each object arrives, also after failures, and none holds up the others."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable

import pytest
from guildhall_gateway import outbox
from guildhall_gateway.kube import KubeError
from guildhall_gateway.outbox import REFUSED_MAX_COUNT, Outbox
from unit.gateway import kit


class Post:
    """Takes letters; fails once for each error that is laid ready for a letter, and always for those in `never`."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.taken: list[str] = []
        self.fails: dict[str, list[OSError]] = {}
        self.never: dict[str, OSError] = {}
        self.open = asyncio.Event()
        self.open.set()

    async def write(self, letter: str) -> None:
        self.begun.append(letter)
        await self.open.wait()
        if letter in self.never:
            raise self.never[letter]
        if self.fails.get(letter):
            raise self.fails[letter].pop()
        self.taken.append(letter)


@contextlib.asynccontextmanager
async def sending(monkeypatch: pytest.MonkeyPatch, first: float = 0.02) -> AsyncIterator[tuple[Post, Outbox[str]]]:
    monkeypatch.setattr(outbox, "RETRY_FIRST_SECONDS", first)
    monkeypatch.setattr(outbox, "RETRY_MAX_SECONDS", 2 * first)
    post = Post()
    box = Outbox[str]("a letter", post.write, frozenset({404, 409}))
    task = asyncio.create_task(box.run())
    try:
        yield post, box
    finally:
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_of_what_waits_the_newest_of_each_object_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    async with sending(monkeypatch) as (post, box):
        post.open.clear()
        box.put("a", "a1")
        await kit.until(lambda: post.begun)
        for letter in ("a2", "b1", "a3"):
            box.put(letter[0], letter)
        post.open.set()
        await kit.until(lambda: len(post.taken) == 3)
        assert post.taken == ["a1", "a3", "b1"]


@pytest.mark.parametrize("error", [OSError("away"), KubeError(500, "no"), KubeError(403, "no"), KubeError(0, "away")])
async def test_what_was_not_taken_comes_again_after_the_others(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    async with sending(monkeypatch) as (post, box):
        post.fails["a1"] = [error, error]
        box.put("a", "a1")
        box.put("b", "b1")
        await kit.until(lambda: len(post.taken) == 2)
        assert post.taken == ["b1", "a1"]
        assert not box._failed


@pytest.mark.parametrize("moment", ["under way", "resting"])
async def test_a_newer_letter_is_not_undone_by_one_that_failed(monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    async with sending(monkeypatch) as (post, box):
        post.fails = {"a1": [OSError("away")], "b1": [OSError("away")]}
        post.open.clear()
        box.put("a", "a1")
        await kit.until(lambda: post.begun)
        if moment == "resting":
            post.open.set()
            await kit.until(lambda: box._resting)
        box.put("a", "a2")
        box.put("b", "b1")  # rests behind what the first one might leave
        post.open.set()
        await kit.until(lambda: "b1" in post.taken)
        assert post.taken == ["a2", "b1"]
        assert post.begun == ["a1", "b1", "a2", "b1"]


@pytest.mark.parametrize("status", [404, 409])
async def test_where_nobody_is_left_nothing_comes_again(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    async with sending(monkeypatch) as (post, box):
        post.fails = {"a1": [KubeError(status, "gone")], "b1": [OSError("away")]}
        box.put("a", "a1")
        box.put("b", "b1")  # rests behind what the first one might leave
        await kit.until(lambda: post.taken)
        assert (post.taken, post.begun) == (["b1"], ["a1", "b1", "b1"])


async def test_letters_that_are_refused_hold_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    async with sending(monkeypatch, first=60) as (post, box):
        for letter in ("a1", "b1", "c1"):
            post.never[letter] = KubeError(403, "no")
            box.put(letter[0], letter)
        box.put("d", "d1")
        await kit.until(lambda: post.taken == ["d1"], 2)
        box.put("a", "a2")
        box.put("e", "e1")
        await kit.until(lambda: post.taken == ["d1", "e1"], 2)
        assert post.begun == ["a1", "b1", "c1", "d1", "e1"], "a newer letter keeps the rest of its object"
        assert set(box._resting) == {"a", "b", "c"}


async def test_each_failure_makes_the_rest_longer_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def soon(seconds: float, call: Callable[[str], None], uid: str) -> asyncio.Handle:
        pauses.append(seconds)
        return loop.call_soon(call, uid)

    async def write(_letter: str) -> None:
        if len(pauses) < 2_000:
            raise OSError("away")
        done.set()

    monkeypatch.setattr(loop, "call_later", soon)
    box = Outbox[str]("a letter", write)
    box.put("a", "a1")
    task = asyncio.create_task(box.run())
    await done.wait()
    task.cancel()
    assert pauses == [2, 4, 8, 16, *[30] * 1_996]


@pytest.mark.parametrize("status", [403, 422])
async def test_what_is_always_refused_is_given_up_and_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    async with sending(monkeypatch, first=0.001) as (post, box):
        post.never = {"a1": KubeError(status, "not you"), "b1": KubeError(500, "later")}
        box.put("a", "a1")
        box.put("b", "b1")
        await kit.until(lambda: post.begun.count("b1") > 3 * REFUSED_MAX_COUNT)
        assert post.begun.count("a1") == REFUSED_MAX_COUNT, "control: what is only late goes on"
        for letter in ("a1", "a1"):
            box.put("a", letter)
            await kit.until(lambda: not box._ready)
        assert post.begun.count("a1") == REFUSED_MAX_COUNT + 2, "a later letter gets one try"
        (said,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
        assert "given up after" in said.message
        assert "not you" in said.message
        box.put("a", "a2")
        await kit.until(lambda: "a2" in post.taken)
        assert "a" not in box._failed, "it is heard again"


async def test_refusals_that_others_come_between_are_not_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    async with sending(monkeypatch, first=0.001) as (post, box):
        row: list[OSError] = [KubeError(403, "starting")] * (REFUSED_MAX_COUNT - 1)
        post.fails["a1"] = [*row, OSError("away"), *row]
        box.put("a", "a1")
        await kit.until(lambda: post.taken)


async def test_what_is_gone_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    async with sending(monkeypatch, first=0.02) as (post, box):
        post.fails = {"a1": [OSError("away")], "b1": [OSError("away")]}
        box.put("a", "a1")
        await kit.until(lambda: box._resting)
        box.forget("a")
        box.put("b", "b1")
        await kit.until(lambda: post.taken)
        assert (post.taken, box._resting, box._failed) == (["b1"], {}, {})
