"""The watches list again after everything that could have made them wrong, and say when they are deaf."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from guildhall_api import watch as module
from guildhall_api.kube import Access, Kube, KubeError
from guildhall_api.source import Change
from guildhall_api.watch import STALE_SECONDS, WATCH_SECONDS, KubernetesRuns, watch_seconds
from support.api_run import UID, api_over, pod_object, run_object, until
from support.kube_stub import KubeStub

Wire = dict[str, Any]
LOGGER = "guildhall_api.watch"


def named(name: str, version: int) -> Wire:
    return {"metadata": {"name": name, "namespace": "team", "resourceVersion": str(version)}}


def event(kind: str, name: str = "p", version: int = 200) -> Wire:
    return {"type": kind, "object": named(name, version)}


class FakeKube(Kube):
    """The pods of one namespace; of other kinds nothing is heard. Each stream is read once, then there is silence."""

    def __init__(self) -> None:
        self.page: Any = {"items": [named("one", 1)], "metadata": {"resourceVersion": "101"}}
        self.lists: list[Exception] = []
        self.streams: list[list[Any]] = []
        self.watched: list[Mapping[str, str]] = []
        self.idle_seconds = 0.0
        self.spend: Callable[[], None] = lambda: None

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> Any:
        await asyncio.sleep(0)
        if not path.endswith("/pods"):
            await asyncio.Event().wait()
        if self.lists:
            raise self.lists.pop(0)
        return json.loads(json.dumps(self.page))

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], *, idle_seconds: float | None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        self.watched.append(params)
        self.idle_seconds = idle_seconds or 0
        yield self._chunks()

    async def _chunks(self) -> AsyncIterator[bytes]:
        if not self.streams:
            await asyncio.Event().wait()
        for each in self.streams.pop(0):
            await asyncio.sleep(0)
            self.spend()
            if isinstance(each, Exception):
                raise each
            yield each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Followed:
    """What came of the pods: `lists` by name, and each change after them."""

    def __init__(self, kube: FakeKube, clock: Clock | None = None) -> None:
        self.source = KubernetesRuns(kube, ["team"], clock or Clock())
        self.lists: list[list[str]] = []
        self.changes: list[tuple[str, str]] = []

    async def run(self) -> None:
        async for change in self.source.changes():
            self._take(change)

    def _take(self, change: Change) -> None:
        names = [str(item["metadata"]["name"]) for item in change.items]
        if change.verb == "synced":
            self.lists.append(names)
        else:
            self.changes += [(change.verb, name) for name in names]


@asynccontextmanager
async def following(kube: FakeKube, clock: Clock | None = None) -> AsyncIterator[Followed]:
    followed = Followed(kube, clock)
    task = asyncio.create_task(followed.run())
    try:
        yield followed
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _pauses(caplog: pytest.LogCaptureFixture) -> list[float]:
    """Of the failures that were told as such."""
    said = [record for record in caplog.records if record.name == LOGGER and record.levelno == logging.WARNING]
    return [float(str(record.args[-1])) for record in said if isinstance(record.args, tuple)]


async def test_events_become_changes_and_bookmarks_only_move_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY_FIRST_SECONDS", 0.0)
    kube = FakeKube()
    kube.streams = [[event("ADDED", "two", 201), event("BOOKMARK", "", 205), event("DELETED", "two", 206)], []]
    async with following(kube) as followed:
        await until(lambda: len(kube.watched) >= 3 and len(followed.changes) >= 2)
    assert followed.lists == [["one"]], "a watch that ended goes on without a list"
    assert followed.changes == [("set", "two"), ("deleted", "two")]
    assert [params["resourceVersion"] for params in kube.watched] == ["101", "206", "206"]
    assert [params["timeoutSeconds"] for params in kube.watched] == [str(WATCH_SECONDS)] * 3
    assert kube.idle_seconds == WATCH_SECONDS + 15


GONE = {"type": "ERROR", "object": {"code": 410, "reason": "Expired"}}
BREAKS: dict[str, tuple[list[Any], int]] = {
    "410 as an event": ([GONE], 2),
    "410 as an answer": ([KubeError(410, "Expired", "too old")], 2),
    "another error event": ([{"type": "ERROR", "object": {"code": 500}}], 1),
    "an error without words": ([{"type": "ERROR", "object": {"code": "x", "reason": 7}}], 1),
    "a lost connection": ([KubeError(0, "Unreachable", "reset")], 1),
    "forbidden": ([KubeError(403, "Forbidden", "no")], 1),
    "an object that is none": ([{"type": "ADDED", "object": "nonsense"}], 2),
    "metadata that is none": ([{"type": "BOOKMARK", "object": {"metadata": 7}}], 1),
    "an event that is none": ([[7]], 2),
    "no JSON": ([b"\xff{\n"], 2),
}


@pytest.mark.parametrize("case", BREAKS)
async def test_a_broken_watch_goes_on(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a list wherever it cannot know from where."""
    monkeypatch.setattr(module, "_RETRY_FIRST_SECONDS", 0.0)
    kube = FakeKube()
    stream, lists = BREAKS[case]
    kube.streams = [stream, [event("ADDED", "after", 300)]]
    async with following(kube) as followed:
        await until(lambda: followed.changes)
    assert followed.lists == [["one"]] * lists
    assert followed.changes == [("set", "after")]


@pytest.mark.parametrize(
    "page",
    [
        None, [], {"items": []}, {"metadata": {"resourceVersion": "1"}, "items": {"a": 1}},
        {"metadata": {"resourceVersion": "1"}, "items": {}}, {"metadata": {"resourceVersion": "1"}, "items": ["x"]},
        {"metadata": {"resourceVersion": 7}, "items": []},
    ],
    ids=str,
)  # fmt: skip
async def test_an_answer_that_is_no_list_deletes_nothing_and_is_asked_for_again(
    page: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_RETRY_FIRST_SECONDS", 0.0)
    kube = FakeKube()
    good, kube.page = kube.page, page
    async with following(kube) as followed:
        await until(lambda: len(_pauses(caplog)) >= 2)
        assert followed.lists == []
        kube.page = good
        await until(lambda: followed.lists == [["one"]])


@pytest.mark.parametrize(("seconds", "grows"), [(1.0, True), (module._RETRY_MAX_SECONDS + 1, False)])
async def test_only_failures_that_follow_one_another_make_it_wait_longer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, seconds: float, grows: bool
) -> None:
    """A load balancer that cuts silence, after a minute say, is no failure after a failure."""
    monkeypatch.setattr(module, "_RETRY_FIRST_SECONDS", 0.001)
    clock, kube = Clock(), FakeKube()

    def spend() -> None:
        clock.now += seconds

    kube.spend = spend
    failed = KubeError(0, "Unreachable", "reset")
    kube.streams = [[failed] for _ in range(4)] + [[GONE], [failed]]
    async with following(kube, clock) as followed:
        await until(lambda: len(kube.watched) >= 7)
    assert followed.lists == [["one"], ["one"]], "again after the 410, and not before"
    assert _pauses(caplog) == [*([0.001, 0.002, 0.004, 0.008] if grows else [0.001] * 4), 0.001], "last, after a 410"


async def test_an_expired_watch_is_listed_again_at_once_whatever_failed_before(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And told as what it is: nothing went wrong."""
    monkeypatch.setattr(module, "_RETRY_FIRST_SECONDS", 0.1)
    caplog.set_level(logging.INFO, LOGGER)
    kube = FakeKube()
    kube.streams = [*([KubeError(0, "Unreachable", "reset")] for _ in range(4)), [GONE], [GONE], [GONE]]
    async with following(kube) as followed:
        await until(lambda: not kube.streams[3:])
        await until(lambda: len(followed.lists) == 4, 3)  # with a pause that has grown it takes over ten seconds
    assert _pauses(caplog) == pytest.approx([0.1, 0.2, 0.4, 0.8])
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert told == ["watch of pods in team is out of date; listing again"] * 3


async def test_a_kind_of_which_nothing_is_heard_is_watched_without_a_break(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No bookmark, no event: the server ends each watch in time, and nobody takes that for a failure."""
    assert WATCH_SECONDS <= 60, "load balancers cut silence after a minute"
    assert WATCH_SECONDS < WATCH_SECONDS + module.IDLE_MORE_SECONDS < STALE_SECONDS
    monkeypatch.setattr(module, "WATCH_SECONDS", 1)
    monkeypatch.setattr(module, "IDLE_MORE_SECONDS", 2.0)
    monkeypatch.setattr(module, "STALE_SECONDS", 3)
    seen: list[tuple[str, str]] = []
    async with KubeStub().serving() as stub:
        kube = Kube(Access(stub.url))
        source = KubernetesRuns(kube, ["team"])
        task = asyncio.create_task(_into(source, seen))
        await until(lambda: len(seen) == 3)
        await asyncio.sleep(3.5)
        assert source.healthy() is None
        await stub.put("pods", pod_object())
        await until(lambda: seen[3:] == [("pods", "set")])
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await kube.aclose()
    assert sorted(seen[:3]) == [("guilds", "synced"), ("pods", "synced"), ("runs", "synced")], "listed once"
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == []


async def _into(source: KubernetesRuns, seen: list[tuple[str, str]]) -> None:
    async for change in source.changes():
        seen.append((change.kind, change.verb))  # noqa: PERF401  each is looked at as it comes


async def test_a_watch_that_is_always_refused_turns_it_red_though_its_list_was_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Trying is no sign of life; an answer is."""
    monkeypatch.setattr(module, "_RETRY_FIRST_SECONDS", 0.0)
    clock, kube = Clock(), FakeKube()

    def spend() -> None:
        clock.now += 10

    kube.spend = spend
    kube.streams = [[KubeError(403, "Forbidden", "watch taken away")] for _ in range(40)]
    async with following(kube, clock) as followed:
        await until(lambda: clock.now > STALE_SECONDS + 20)
        followed.source._alive |= {("runs", "team"): clock.now, ("guilds", "team"): clock.now}
        problem = followed.source.healthy() or ""
        assert followed.lists == [["one"]], "control: nothing is due to be listed again"
    assert "the watch of pods in team is dead" in problem
    assert "watch taken away" in problem


async def test_a_watch_that_ends_by_a_fault_of_ours_is_noticed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Else the api shows what was for five minutes, and is called well."""
    monkeypatch.setattr(module, "WATCH_SECONDS", 1)
    async with KubeStub().serving() as stub, api_over(stub, tmp_path) as api:
        await stub.put("runs", run_object())
        await until(lambda: UID in api.services.keeper.runs)
        assert (await api.stranger.get("/healthz")).status_code == 200

        def broken(_left: float) -> int:
            raise LookupError("nobody thought of this")

        monkeypatch.setattr(module, "watch_seconds", broken)
        await until(lambda: api.services.keeper.ended, 5)
        answer = await api.stranger.get("/healthz")
        assert answer.status_code == 503
    said = [record.getMessage() for record in caplog.records if record.name == LOGGER and record.exc_info]
    assert said
    assert all(words.startswith("the watch of ") for words in said)


@pytest.mark.parametrize(("left", "seconds"), [(600.0, WATCH_SECONDS), (29.2, 30), (0.3, 1), (-5.0, 1)])
def test_no_watch_outlasts_the_next_list(left: float, seconds: int) -> None:
    assert watch_seconds(left) == seconds
