"""Reports of others about model APIs: the real executor, gateway, adapters and workshop against each wire format."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from guildhall_executor.attempt import run_attempt
from guildhall_gateway.live import Timeouts
from support.executor_run import QUICK, Outcome, places, role, snapshot
from support.providers import server as wire
from support.providers.chat import chat, piece
from support.providers.dialect import Call, Dialect, Say
from support.providers.server import Provider
from support.workshop import running
from unit.gateway import kit
from unit.gateway.asking import DIALECTS, EVERY, keys

pytestmark = pytest.mark.go
DONE = Say("", (Call("f", '{"result":"done"}', "finish"),), stop="calls")


@dataclass
class Scene:
    provider: Provider
    base: Path
    dialect: Dialect
    times: list[float]
    roles: list[dict[str, Any]]

    def says(self, *turns: Say | wire.Behave) -> None:
        """What the provider answers, turn by turn; what is said is streamed."""
        self.provider.script = [self._timed(self.told(turn)) for turn in turns]

    def told(self, turn: Say | wire.Behave) -> wire.Behave:
        return self.dialect.streamed(turn) if isinstance(turn, Say) else turn

    def _timed(self, behave: wire.Behave) -> wire.Behave:
        async def timed(write: wire.Write) -> None:
            self.times.append(time.monotonic())
            await behave(write)

        return timed

    def shown(self, request: int) -> list[tuple[str, str]]:
        return self.dialect.shown(self.provider.requests[request][2])

    async def run(self, **patience: Any) -> Outcome:
        """One Run to its end."""
        for folder in ("g", "w/workspace"):
            (self.base / folder).mkdir(parents=True)
        keys(self.base / "g")
        urls = {self.dialect.name: self.provider.url + self.dialect.base}
        models, times = {"allow": [f"{self.dialect.name}:*"]}, Timeouts(idle=1.0, call=30, heartbeat=0.5)
        guild = {"entryRole": "coder", "roles": self.roles, "models": {"main": self.dialect.model}}
        patient = (
            replace(QUICK, linger_seconds=0.1, stream_idle_seconds=30) if not patience else replace(QUICK, **patience)
        )
        async with kit.serve(self.base / "g", timeouts=times, models=models, base_urls=urls) as served:
            served.cluster.add_run()
            snap = snapshot(guild, url=served.url, run="run-1")
            with running(self.base / "w", "--unconfined") as workshop:
                at = places(self.base / "x", snap, workshop.socket_path)
                at.token.write_text(kit.TOKEN)
                fd = os.open(self.base / "out", os.O_WRONLY | os.O_CREAT)
                try:
                    message = await asyncio.wait_for(run_attempt(snap, 1, at, patient, fd), 60)
                finally:
                    os.close(fd)
        return Outcome(message, (self.base / "out").read_bytes(), at.journal / "run-1")


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with wire.provider() as made:
        yield made


@asynccontextmanager
async def scene(provider: Provider, base: Path, dialect: Dialect, *roles: dict[str, Any]) -> AsyncIterator[Scene]:
    yield Scene(provider, base, dialect, [], list(roles) or [role("coder")])


@EVERY
async def test_ma01_a_cut_call_is_not_executed_and_two_end_the_run(
    provider: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    async with scene(provider, tmp_path, dialect) as here:
        half = '{"path":"a.txt","content":"half"}' if dialect.name == "google" else '{"path":"a.txt","content":"half'
        cut = Say("", (Call("c1", half),), stop="length")
        here.says(*[cut] * 9)
        got = await here.run()
    assert (got.message.outcome, got.message.error_kind) == ("failed", "context_overflow")
    assert not (tmp_path / "w/workspace/a.txt").exists()
    assert len(provider.requests) == 2
    assert "cut" in here.shown(1)[-1][1], "the model was told"
    assert [event.usage.tokens for event in got.of("model.finished")] == [100, 100], "with its cost"


@EVERY
async def test_ma01_half_a_stream_is_no_result_and_its_calls_are_not_executed(
    provider: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    """A proxy ends the body properly in the middle of the model's answer."""
    async with scene(provider, tmp_path, dialect) as here:
        write = json.dumps({"path": "a.txt", "content": "half"})
        halves = (Say("I have looked at half of the fi"), Say("", (Call("c1", write), Call("c2", write))))
        here.says(*(dialect.streamed(half, then="short") for half in halves), DONE)
        got = await here.run()
    assert got.message.outcome == "succeeded", got.message
    assert got.of("run.finished")[0].result == "done", "it was asked again, and that was whole"
    assert len(provider.requests) == 3
    assert here.shown(2) == here.shown(0), "nothing of a half is in the history"
    assert not (tmp_path / "w/workspace/a.txt").exists()
    told = [event.error for event in got.of("error.raised")]
    assert [(error.kind, error.retryable) for error in told] == [("llm_unavailable", True)] * 2


@EVERY
async def test_ma01_a_stream_that_is_always_cut_fails_the_run(
    provider: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    async with scene(provider, tmp_path, dialect) as here:
        here.says(*[dialect.streamed(Say("I have looked at half of the fi"), then="short")] * 9)
        got = await here.run()
    assert (got.message.outcome, got.message.error_kind) == ("failed", "llm_unavailable")
    assert len(provider.requests) == 6


@EVERY
async def test_ma15_a_reply_that_meets_the_end_of_the_window_makes_room(
    provider: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    """Whatever word the provider has for it, or none of its own: old results go, and the same is asked again."""
    async with scene(provider, tmp_path, dialect) as here:
        flood = Call("c1", json.dumps({"command": "head -c 25000 /dev/zero | tr '\\0' x | fold -w 100"}), "run_shell")
        turns = [Say("", (replace(flood, id=f"c{n}"),), stop="calls") for n in range(3)]

        async def windowed(write: wire.Write) -> None:
            full = len(json.dumps(provider.last)) > WINDOW_BYTES
            said = Say("half of a", stop="window") if full else turns.pop(0) if turns else DONE
            await dialect.streamed(said)(write)

        provider.behave = windowed
        got = await here.run()
    assert got.message.outcome == "succeeded", got.message
    sizes = [len(json.dumps(body)) for _, _, body in provider.requests]
    assert max(sizes) > WINDOW_BYTES > sizes[-1], "control: the window was met"
    assert len(sizes) < 10


@EVERY
async def test_ma04_ma07_three_calls_run_and_answer_in_order(
    provider: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    async with scene(provider, tmp_path, dialect) as here:
        sleeps = tuple(
            Call(
                f"c{n}", json.dumps({"command": f"sleep {n / 10}; echo slept-{n}"}, separators=(",", ":")), "run_shell"
            )
            for n in (3, 2, 1)
        )
        here.says(Say("", sleeps, stop="calls"), DONE)
        got = await here.run()
    assert got.message.outcome == "succeeded", got.message
    kinds = [(kind, text) for kind, text in here.shown(1) if kind in ("call", "result")]
    assert [text.split()[0] for kind, text in kinds if kind == "call"] == ["c3", "c2", "c1"]
    results = [text for kind, text in kinds if kind == "result"]
    assert [f"slept-{n}" in text for n, text in zip((3, 2, 1), results, strict=True)] == [True] * 3
    assert len(got.of("tool.finished")) == 3


@EVERY
async def test_ma08_a_silent_stream_is_asked_once_more_and_ends_the_run(
    provider: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    async with scene(provider, tmp_path, dialect) as here:
        here.says(*[dialect.streamed(Say("two pieces"), then="hang")] * 5)
        got = await here.run()
    error = got.of("run.finished")[0].error
    assert error.kind == "llm_unavailable"
    assert "model stream stalled" in error.message
    assert len(provider.requests) == 2


@EVERY
async def test_ma10_two_empty_answers_are_no_success(provider: Provider, tmp_path: Path, dialect: Dialect) -> None:
    async with scene(provider, tmp_path, dialect) as here:
        look = Say("", (Call("c1", '{"path":"."}', "list_files"),), stop="calls")
        here.says(look, Say(""), Say(""), DONE)
        got = await here.run()
    assert got.message.outcome == "failed"
    assert "empty answer" in got.of("run.finished")[0].error.message
    assert len(provider.requests) == 3, "one nudge"


STARTS, ENDS = '{"path":"', '","content":"x"}'
TWO_CALLS: dict[str, tuple[list[dict[str, Any]], set[str]]] = {
    "interleaved on one index": (
        [piece(0, "c1", "write_file", STARTS), piece(0, "c2", "write_file", STARTS),
         piece(0, "c1", None, "a" + ENDS), piece(0, "c2", None, "b" + ENDS)],
        {"a", "b"},
    ),
    "interleaved without an index": (
        [piece(None, "c1", "write_file", STARTS), piece(None, "c2", "write_file", STARTS),
         piece(None, "c1", None, "a" + ENDS), piece(None, "c2", None, "b" + ENDS)],
        {"a", "b"},
    ),
    "one id, and no sign where one ends": (
        [piece(0, "c1", "write_file", STARTS + "a" + ENDS), piece(0, "c1", None, STARTS + "b" + ENDS)],
        set(),
    ),
    "interleaved without an index, an id only at their beginning": (
        [piece(None, "c1", "write_file", STARTS), piece(None, "c2", "write_file", STARTS),
         piece(None, None, None, "a" + ENDS), piece(None, None, None, "b" + ENDS)],
        set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", TWO_CALLS)
async def test_ma06_two_calls_stay_two_or_are_not_executed(provider: Provider, tmp_path: Path, how: str) -> None:
    """What cannot be told apart has no arguments anybody wrote: it is refused, the model is told, the loop goes on."""
    pieces, written = TWO_CALLS[how]
    (local,) = (dialect for dialect in DIALECTS if dialect.name == "local")
    async with scene(provider, tmp_path, local) as here:
        here.says(chat(*pieces, finish="tool_calls"), DONE)
        got = await here.run()
    assert got.message.outcome == "succeeded", got.message
    folder = tmp_path / "w/workspace"
    assert {path.name for path in folder.iterdir() if path.is_file()} == written
    assert {path.read_text() for path in folder.iterdir() if path.is_file()} <= {"x"}
    ended = got.of("tool.finished")
    assert {event.error_code for event in ended} == ({None} if written else {"invalid_arguments"})
    assert ["not executed" in text for kind, text in here.shown(1) if kind == "result"] == [not written] * len(ended)


@EVERY
async def test_ma11_a_tool_that_is_not_the_roles_is_refused_by_name_and_the_loop_goes_on(
    provider: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    """An invented one, one nobody in the Guild has, and one another role has: which that role then uses."""
    roles = role("coder", ["read_file"], ["reviewer"]), role("reviewer", ["read_file", "run_shell"])
    async with scene(provider, tmp_path, dialect, *roles) as here:
        foreign = (
            Call("c1", "{}", "no_such_tool"),
            Call("c2", '{"pattern":"x"}', "search_files"),
            Call("c3", '{"command":"touch coder"}', "run_shell"),
        )
        to_reviewer = Call("c4", '{"role":"reviewer","brief":"b"}', "delegate")
        own = Call("c5", '{"command":"touch reviewer"}', "run_shell")
        here.says(*(Say("", calls, stop="calls") for calls in (foreign, (to_reviewer,), (own,))), DONE, DONE)
        got = await here.run()
    assert got.message.outcome == "succeeded", got.message
    results = [text for kind, text in here.shown(1) if kind == "result"]
    assert len(results) == 3
    assert all("read_file" in text and "delegate" in text for text in results), "it names the tools that there are"
    assert [event.error_code for event in got.of("tool.finished")] == ["unknown_tool"] * 3 + [None]
    assert [path.name for path in (tmp_path / "w/workspace").iterdir() if path.is_file()] == ["reviewer"]


@EVERY
async def test_ma13_retry_after_is_waited_and_a_day_is_not(
    provider: Provider, tmp_path: Path, dialect: Dialect
) -> None:
    async with scene(provider, tmp_path / "1", dialect) as here:
        busy = dialect.problem("throttled", Retry_After="1")
        here.says(busy, busy, DONE)
        got = await here.run()
    assert got.message.outcome == "succeeded", got.message
    gaps = [b - a for a, b in zip(here.times, here.times[1:], strict=False)]
    assert len(gaps) == 2
    assert all(1.0 <= gap < 6.0 for gap in gaps)
    async with scene(provider, tmp_path / "2", dialect) as here:
        here.says(dialect.problem("throttled", Retry_After="86400"), DONE)
        got = await here.run()
    assert got.message.outcome == "failed"
    assert "86400" in got.of("run.finished")[0].error.message
    assert len(here.times) == 1


WINDOW_BYTES = 50_000


@EVERY
@pytest.mark.parametrize("still", [False, True], ids=["shorter-fits", "nothing-fits"])
async def test_ma15_a_result_larger_than_the_window_is_cut_and_shortened_once(
    provider: Provider, tmp_path: Path, dialect: Dialect, still: bool
) -> None:
    """2 MiB from a command, a model that takes 50 kB: as the first result, and again as the last."""
    async with scene(provider, tmp_path, dialect) as here:
        flood = Call("c1", '{"command":"head -c 2097152 /dev/zero | tr \\"\\\\0\\" x | fold -w 100"}', "run_shell")
        turns = [Say("", (flood,), stop="calls"), Say("", (replace(flood, id="c2"),), stop="calls"), DONE]

        async def windowed(write: wire.Write) -> None:
            size = len(json.dumps(provider.last))
            tight = size > WINDOW_BYTES or (still and len(provider.requests) > 1)
            behave = dialect.problem("overflow") if tight else dialect.streamed(turns.pop(0))
            await behave(write)

        provider.behave = windowed
        got = await here.run()
    assert all(len(json.dumps(body)) < 400_000 for _, _, body in provider.requests), "cut before it enters the history"
    assert len(provider.requests) < 10
    if still:
        assert (got.message.outcome, got.message.error_kind) == ("failed", "context_overflow")
    else:
        assert got.message.outcome == "succeeded", got.message
        assert "Make the tests pass." in json.dumps(provider.last), "the task is still there"


async def test_a_refusal_is_never_asked_again(provider: Provider, tmp_path: Path) -> None:
    for number, dialect in enumerate(DIALECTS):
        async with scene(provider, tmp_path / str(number), dialect) as here:
            here.says(*[Say("I will not", stop="refusal")] * 5)
            got = await here.run()
        assert (got.message.outcome, got.message.error_kind) == ("failed", "llm_refused"), dialect.name
        assert len(here.times) == 1
