"""A live copy lists again after everything that could have made it wrong, and says when it is deaf."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from guildhall_operator import reflector as module
from guildhall_operator.client import Access, Kube, KubeError
from guildhall_operator.reflector import DEAF_SECONDS, Reflector, Sink
from support.kube_stub import KubeStub
from unit.operator.fake_kube import FakeKube, until
from unit.operator.test_queue import Clock

PATH = "/api/v1/namespaces/team-a/pods"


def named(name: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "team-a", "resourceVersion": str(version)}}


def event(kind: str, name: str = "p", version: int = 200) -> dict[str, Any]:
    return {"type": kind, "object": named(name, version)}


class Copy:
    """What the sink was told."""

    def __init__(self) -> None:
        self.lists: list[list[str]] = []
        self.changes: list[tuple[str, str]] = []

    def sink(self) -> Sink:
        def name(raw: dict[str, Any]) -> str:
            return str(raw["metadata"]["name"])

        return Sink(
            lambda raws: self.lists.append(sorted(name(raw) for raw in raws)),
            lambda kind, raw: self.changes.append((kind, name(raw))),
        )


async def follow(streams: Iterable[list[Any]], monkeypatch: pytest.MonkeyPatch, lists: int) -> tuple[FakeKube, Copy]:
    monkeypatch.setattr(module, "BACKOFF_FIRST_SECONDS", 0.0)
    kube, copy = FakeKube(), Copy()
    kube.put(f"{PATH}/one", named("one", 1))
    kube.streams = [list(stream) for stream in streams]
    task = asyncio.create_task(Reflector(kube, PATH, copy.sink()).run())
    await until(lambda: len(copy.lists) >= lists and not kube.streams)
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    return kube, copy


async def test_events_reach_the_sink_and_bookmarks_only_move_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = [event("ADDED", "two", 201), event("BOOKMARK", "", 205), event("DELETED", "two", 206)]
    kube, copy = await follow([stream, []], monkeypatch, 1)
    assert copy.lists == [["one"]]
    assert copy.changes == [("ADDED", "two"), ("DELETED", "two")]
    assert [params["resourceVersion"] for params in kube.watched][:2] == ["101", "206"]


GONE = {"type": "ERROR", "object": {"code": 410, "reason": "Expired"}}
BREAKS: dict[str, list[Any]] = {
    "410 as an event": [GONE],
    "410 as an answer": [KubeError(410, "Expired", "too old")],
    "another error event": [{"type": "ERROR", "object": {"code": 500}}],
    "a lost connection": [KubeError(0, "Unreachable", "reset")],
    "an unreadable event": [{"type": "ADDED", "object": "nonsense"}],
    "an unknown type": [{"type": "RENAMED", "object": {}}],
    "forbidden": [KubeError(403, "Forbidden", "no")],
}


@pytest.mark.parametrize("case", BREAKS)
async def test_a_broken_watch_is_listed_again(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, copy = await follow([BREAKS[case], [event("ADDED", "after", 300)]], monkeypatch, 2)
    assert copy.lists == [["one"], ["one"]]
    assert copy.changes == [("ADDED", "after")]


async def test_an_ended_watch_goes_on_without_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    _, copy = await follow([[], [], [event("ADDED", "x")]], monkeypatch, 1)
    assert copy.lists == [["one"]]
    assert copy.changes == [("ADDED", "x")]


async def test_silence_is_a_problem_and_hearing_again_is_none() -> None:
    clock = Clock()
    kube = FakeKube()
    reflector = Reflector(kube, PATH, Copy().sink(), clock=clock)
    assert reflector.problem() == ""
    clock.now = DEAF_SECONDS + 1
    assert "has heard nothing" in reflector.problem()
    task = asyncio.create_task(reflector.run())
    await asyncio.wait_for(reflector.synced.wait(), 1)
    assert reflector.problem() == ""
    task.cancel()


async def test_a_server_that_always_refuses_turns_it_deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BACKOFF_FIRST_SECONDS", 0.0)
    clock, kube = Clock(), FakeKube()

    def refuse(_method: str, _path: str) -> None:
        clock.now += 10
        raise KubeError(403, "Forbidden", "watch taken away")

    kube.refuse = refuse
    reflector = Reflector(kube, PATH, Copy().sink(), clock=clock)
    task = asyncio.create_task(reflector.run())
    await until(reflector.problem)
    kube.refuse = lambda _method, _path: None
    await asyncio.wait_for(reflector.synced.wait(), 1)
    assert reflector.problem() == ""
    task.cancel()


async def test_a_kind_that_is_not_served_names_what_to_do(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """HI-01: this chart is newer than the CRDs."""
    monkeypatch.setattr(module, "BACKOFF_FIRST_SECONDS", 0.0)
    kube = FakeKube()
    codes = [404, 403]

    def refuse(_method: str, _path: str) -> None:
        if codes:
            raise KubeError(codes.pop(0), "Refused", "the server could not find the requested resource")

    kube.refuse = refuse
    reflector = Reflector(kube, PATH, Copy().sink())
    task = asyncio.create_task(reflector.run())
    await asyncio.wait_for(reflector.synced.wait(), 5)
    task.cancel()
    missing, forbidden = [record.getMessage() for record in caplog.records if "failed" in record.getMessage()]
    assert "helm upgrade --install guildhall-crds" in missing
    assert "guildhall-crds" not in forbidden, "control"


async def test_a_kind_of_which_nothing_is_heard_is_watched_without_a_break(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No bookmark, no event: the server ends each watch in time, and nobody takes that for a failure."""
    assert module.WATCH_SECONDS < module.IDLE_SECONDS < DEAF_SECONDS
    monkeypatch.setattr(module, "WATCH_SECONDS", 1)
    monkeypatch.setattr(module, "IDLE_SECONDS", 3.0)
    stub, copy = KubeStub(), Copy()
    async with stub.serving():
        kube = Kube(Access(stub.url, False))
        reflector = Reflector(kube, PATH, copy.sink())
        task = asyncio.create_task(reflector.run())
        await asyncio.wait_for(reflector.synced.wait(), 5)
        await asyncio.sleep(3.5)
        assert reflector.silent_seconds < 2
        await stub.put("pods", {"metadata": {"name": "p", "namespace": "team-a"}})
        await until(lambda: copy.changes == [("ADDED", "p")])
        task.cancel()
        await kube.close()
    assert copy.lists == [[]], "listed once"
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == []


@pytest.mark.parametrize(("seconds", "grows"), [(1.0, True), (module.BACKOFF_MAX_SECONDS + 1, False)])
async def test_only_failures_that_follow_one_another_make_it_wait_longer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, seconds: float, grows: bool
) -> None:
    monkeypatch.setattr(module, "BACKOFF_FIRST_SECONDS", 0.001)
    clock, kube, copy = Clock(), FakeKube(), Copy()

    def later(_method: str, _path: str) -> None:
        clock.now += seconds

    kube.refuse = later
    failed = [KubeError(0, "Unreachable", "reset")]
    kube.streams = [[*failed] for _ in range(4)] + [[GONE], [*failed]]
    task = asyncio.create_task(Reflector(kube, PATH, copy.sink(), clock=clock).run())
    await until(lambda: len(copy.lists) >= 7)
    task.cancel()
    said = [record.args for record in caplog.records if record.levelname == "WARNING"]
    pauses = [arguments[-1] for arguments in said if isinstance(arguments, tuple)]
    assert pauses == [*([0.001, 0.002, 0.004, 0.008] if grows else [0.001] * 4), 0.001], "the last after a 410"
