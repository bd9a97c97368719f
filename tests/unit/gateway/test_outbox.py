"""The outbox: the newest letter of each object arrives, also after failures, and none holds up the others."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from guildhall_gateway import outbox
from guildhall_gateway.kube import KubeError
from guildhall_gateway.outbox import Outbox
from unit.gateway import kit


class Post:
    """Takes letters; fails once for each error that is laid ready for a letter."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.fails: dict[str, list[OSError]] = {}
        self.open = asyncio.Event()
        self.open.set()

    async def write(self, letter: str) -> None:
        await self.open.wait()
        if self.fails.get(letter):
            raise self.fails[letter].pop()
        self.taken.append(letter)


@contextlib.asynccontextmanager
async def sending(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Post, Outbox[str]]]:
    monkeypatch.setattr(outbox, "RETRY_SECONDS", 0.02)
    post = Post()
    box = Outbox[str]("a letter", post.write, frozenset({404, 409}))
    task = asyncio.create_task(box.run())
    try:
        yield post, box
    finally:
        assert not task.done()
        task.cancel()


async def test_of_what_waits_the_newest_of_each_object_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    async with sending(monkeypatch) as (post, box):
        post.open.clear()
        box.put("a", "a1")
        await asyncio.sleep(0.02)  # it is under way
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


async def test_a_newer_letter_is_not_undone_by_one_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with sending(monkeypatch) as (post, box):
        post.fails["a1"] = [OSError("away")]
        post.open.clear()
        box.put("a", "a1")
        await asyncio.sleep(0.02)
        box.put("a", "a2")
        post.open.set()
        await kit.until(lambda: post.taken)
        await asyncio.sleep(0.1)
        assert post.taken == ["a2"]


@pytest.mark.parametrize("status", [404, 409])
async def test_where_nobody_is_left_nothing_comes_again(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    async with sending(monkeypatch) as (post, box):
        post.fails["a1"] = [KubeError(status, "gone")]
        box.put("a", "a1")
        box.put("b", "b1")
        await kit.until(lambda: post.taken)
        await asyncio.sleep(0.1)
        assert post.taken == ["b1"]
