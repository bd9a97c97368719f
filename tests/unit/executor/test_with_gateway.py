"""The executor with the real gateway and the real workshop, all on loopback: the three agree with one another."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.gate import ExecutorMessage
from guildhall_executor.attempt import run_attempt
from support.executor_run import QUICK, Outcome, places, role, snapshot
from support.workshop import running
from unit.gateway import kit

pytestmark = pytest.mark.go
GUILD = {"entryRole": "coder", "roles": [role("coder")], "models": {"main": "scripted:fix"}}
EDIT = {"name": "edit_file", "arguments": {"path": "a.txt", "old_text": "one", "new_text": "two"}}
READ = {"name": "read_file", "arguments": {"path": "a.txt"}}
FINISH = {"reply": {"toolCalls": [{"name": "finish", "arguments": {"result": "done"}}]}}


def steps(shown: str, **last: Any) -> list[dict[str, Any]]:
    """Read and edit, then finish if what was read is `shown`."""
    expect = {"toolResults": [{"equals": shown}, {"contains": "replaced"}]}
    return [{"reply": {"text": "I look.", "toolCalls": [READ, EDIT]}}, FINISH | {"expect": expect} | last]


@dataclass
class Scene:
    served: kit.Served
    running: asyncio.Task[ExecutorMessage]
    base: Path

    @property
    def printed(self) -> bytes:
        return (self.base / "out").read_bytes()

    async def outcome(self) -> Outcome:
        message = await asyncio.wait_for(self.running, 60)
        return Outcome(message, self.printed, self.base / "x" / "journal" / "run-1")

    async def until(self, what: bytes, count: int = 1) -> None:
        for _ in range(2_000):
            if self.printed.count(what) >= count:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{what!r} was not printed {count} times")


@asynccontextmanager
async def scene(base: Path, turns: list[dict[str, Any]], **fields: Any) -> AsyncIterator[Scene]:
    for folder in ("g", "w/workspace"):
        (base / folder).mkdir(parents=True)
    (base / "w/workspace/a.txt").write_text("one\n")
    (base / "g/scenarios").mkdir()
    kit.scenario(base / "g", "fix", turns)
    patience = replace(QUICK, linger_seconds=0.2, stream_idle_seconds=60, mailbox_wait_seconds=25, **fields)
    async with kit.serve(base / "g") as served:
        served.cluster.add_run()
        snap = snapshot(GUILD, url=served.url, run="run-1")
        with running(base / "w", "--unconfined") as workshop:
            at = places(base / "x", snap, workshop.socket_path)
            at.token.write_text(kit.TOKEN)
            fd = os.open(base / "out", os.O_WRONLY | os.O_CREAT)
            task = asyncio.create_task(run_attempt(snap, 1, at, patience, fd))
            try:
                yield Scene(served, task, base)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                os.close(fd)


async def test_a_scripted_run_succeeds_and_its_patch_is_kept(tmp_path: Path) -> None:
    async with scene(tmp_path, steps("one")) as here:
        got = await here.outcome()
    assert got.message.outcome == "succeeded", got.message
    assert all(event.scripted for event in got.of("model.finished"))
    sha256 = got.of("changes.updated")[-1].patch_sha256
    assert [path for path in (tmp_path / "g/blobs").rglob("*") if path.name.startswith(sha256)]


async def test_one_different_byte_ends_the_run_with_both_texts(tmp_path: Path) -> None:
    async with scene(tmp_path, steps("onE")) as here:
        got = await here.outcome()
    assert got.message.outcome == "failed"
    error = got.of("run.finished")[0].error
    assert (error.detail["expected"], error.detail["shown"]) == ("onE", "one")


async def test_a_cancelled_run_ends_cancelled_at_once_and_keeps_its_patch(tmp_path: Path) -> None:
    async with scene(tmp_path, steps("one", delaySeconds=60), changes_every_seconds=1_000.0) as here:
        await here.until(b'"model.started"', 2)
        began = time.monotonic()
        here.served.cluster.change_run(cancelled=True)
        await here.until(b'"run.finished"')
        assert time.monotonic() - began < 2
        got = await here.outcome()
    assert (got.message.outcome, got.message.error_kind) == ("cancelled", "interrupted")
    assert [file.path for file in got.of("changes.updated")[-1].files] == ["a.txt"]
