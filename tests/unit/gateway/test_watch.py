"""The watch cache against an API server that forgets, breaks off and sends rubbish: never green and deaf."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_gateway import watch
from guildhall_gateway.__main__ import server
from guildhall_gateway.kube import KubeClient, KubeError
from guildhall_gateway.runs import parse_guild, parse_intervention, parse_pod, parse_run
from guildhall_gateway.watch import KubernetesRuns
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from unit.gateway import kit


def run_object(uid: str, **status: Any) -> dict[str, Any]:
    meta = {"uid": uid, "name": f"n-{uid}", "namespace": "team", "resourceVersion": "5"}
    return {"metadata": meta, "spec": {"task": "x", "guildRef": {"name": "g"}}, "status": status}


class ApiServer:
    """Lists and watches of `runs`; other kinds are empty. A test changes `items` and sends `events`."""

    def __init__(self) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.lists = 0
        self.watches = 0
        self.status = 200
        self.patch_status = 0  # of patches alone, where it is set
        self.patches: list[tuple[str, str, Any]] = []
        self._queues: list[asyncio.Queue[bytes | None]] = []

    def app(self) -> Starlette:
        path = "/apis/guildhall.dev/v1alpha1/namespaces/team/{kind}"
        return Starlette(
            routes=[
                Route(path, self._get),
                Route("/api/v1/namespaces/team/{kind}", self._get),
                Route(path + "/{name}/status", self._patch, methods=["PATCH"]),
                Route(path + "/{name}", self._patch, methods=["PATCH"]),
                Route(path + "/{name}", self._one),
            ]
        )

    async def _get(self, request: Request) -> Response:
        runs = request.path_params["kind"] == "runs"
        if runs and self.status != 200:
            return JSONResponse({"message": "no"}, self.status)
        if request.query_params.get("watch"):
            queue: asyncio.Queue[bytes | None] = asyncio.Queue()
            if runs:
                self.watches += 1
                self._queues.append(queue)
            return StreamingResponse(self._stream(queue))
        if runs:
            self.lists += 1
        items = list(self.items.values()) if runs else []
        return JSONResponse({"metadata": {"resourceVersion": "5"}, "items": items})

    async def _one(self, request: Request) -> Response:
        named = [item for item in self.items.values() if item["metadata"]["name"] == request.path_params["name"]]
        status = self.status if named or self.status != 200 else 404
        return JSONResponse(named[0] if status == 200 else {"message": "no"}, status)

    async def _patch(self, request: Request) -> Response:
        content = request.headers["content-type"]
        self.patches.append((str(request.url.path), content, json.loads(await request.body())))
        return JSONResponse({"message": "no"}, self.patch_status or self.status)

    async def _stream(self, queue: "asyncio.Queue[bytes | None]") -> AsyncIterator[bytes]:
        while (item := await queue.get()) is not None:
            yield item

    def send(self, data: bytes | None) -> None:
        """To every open watch of runs; None ends them."""
        for queue in self._queues:
            queue.put_nowait(data)
        if data is None:
            self._queues.clear()

    def event(self, kind: str, item: Any) -> None:
        self.send(json.dumps({"type": kind, "object": item}).encode() + b"\n")


@contextlib.asynccontextmanager
async def watching(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[ApiServer, KubernetesRuns]]:
    monkeypatch.setattr(watch, "BACKOFF_FIRST_SECONDS", 0.02)
    monkeypatch.setattr(watch, "BACKOFF_MAX_SECONDS", 0.1)
    api = ApiServer()
    api.items["r1"] = run_object("r1")
    listener = server(api.app(), "127.0.0.1", 0)
    task = asyncio.create_task(listener.serve())
    await kit.until(lambda: listener.started)
    port = listener.servers[0].sockets[0].getsockname()[1]
    client = KubeClient(f"http://127.0.0.1:{port}", context=True, token_file=None)
    runs = KubernetesRuns(client, ["team"])
    runs.start()
    try:
        await kit.until(runs.ready)
        await kit.until(lambda: api.watches)
        yield api, runs
    finally:
        await runs.stop()
        await client.close()
        listener.should_exit = listener.force_exit = True
        await task


async def test_changes_arrive_and_deletions_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(monkeypatch) as (api, runs):
        seen: list[tuple[str, str]] = []
        runs.subscribe(lambda change, view: seen.append((change, view.uid)))
        assert runs.run("r1") is not None
        api.event("ADDED", run_object("r2"))
        await kit.until(lambda: runs.run("r2"))
        api.event("MODIFIED", run_object("r2", completionTime="now"))
        await kit.until(lambda: (found := runs.run("r2")) and found.finished)
        api.event("DELETED", run_object("r2"))
        await kit.until(lambda: runs.run("r2") is None)
        assert seen == [("set", "r2"), ("set", "r2"), ("gone", "r2")]
        assert runs.healthy()


async def test_410_relists_silently_and_finds_what_was_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(monkeypatch) as (api, runs):
        told: list[str] = []
        runs.subscribe(lambda change, view: told.append(f"{change} {view.uid}"))
        api.items["r3"] = run_object("r3")
        del api.items["r1"]
        api.event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})
        await kit.until(lambda: runs.run("r3"))
        assert runs.run("r1") is None
        assert sorted(told) == ["gone r1", "set r3"]
        assert api.lists == 2
        assert runs.healthy()


async def test_what_a_watch_lost_is_found_by_the_next_list_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(monkeypatch) as (api, runs):
        api.items["r2"] = run_object("r2")  # no event tells of it, nor of the other's end
        del api.items["r1"]
        api.send(None)
        await kit.until(lambda: api.watches == 2)
        assert (api.lists, runs.run("r2")) == (1, None), "the control: a watch that ends is taken up where it was"
        monkeypatch.setattr(watch, "RELIST_SECONDS", 0.0)
        api.send(None)
        await kit.until(lambda: runs.run("r2"))
        await kit.until(lambda: runs.run("r1") is None)
        assert api.lists == 2
        assert runs.healthy()


async def test_an_unchanged_object_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(monkeypatch) as (api, runs):
        told: list[str] = []
        runs.subscribe(lambda change, view: told.append(view.uid))
        for _ in range(3):
            api.event("MODIFIED", run_object("r1"))
        api.event("ADDED", run_object("r2"))
        await kit.until(lambda: told)
        assert told == ["r2"]


@pytest.mark.parametrize(
    "line",
    [b"{not json\n", b"[]\n", b'{"type":"ADDED","object":[]}\n', b'{"type":"ADDED"}\n', b'{"type":7,"object":{}}\n',
     b'{"type":"ADDED","object":{"metadata":7,"spec":[],"status":"x"}}\n', b'\xff\xfe\n',
     b'{"type":"ERROR","object":"?"}\n', b"x" * 9_000_000],
    ids=["not-json", "list", "object-list", "no-object", "odd-type", "odd-object", "bytes", "error", "endless-line"],
)  # fmt: skip
async def test_rubbish_on_the_watch_deafens_nobody(monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    async with watching(monkeypatch) as (api, runs):
        api.send(line)
        await asyncio.sleep(0.1)
        api.items["r9"] = run_object("r9")
        await kit.until(lambda: len(api._queues) > 0)
        api.event("ADDED", run_object("r9"))
        await kit.until(lambda: runs.run("r9"))
        assert runs.healthy()


async def test_losing_the_right_to_watch_turns_health_red_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(monkeypatch) as (api, runs):
        monkeypatch.setattr(watch, "DEAF_AFTER_SECONDS", 0.5)
        assert runs.healthy()
        api.status = 403
        api.send(None)
        await kit.until(lambda: not runs.healthy())
        api.status = 200
        monkeypatch.setattr(watch, "DEAF_AFTER_SECONDS", 60)
        api.items["r2"] = run_object("r2")
        await kit.until(lambda: runs.run("r2"))
        await kit.until(runs.healthy)


async def test_a_dead_watch_task_is_not_healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(monkeypatch) as (_, runs):
        assert runs.healthy()
        runs._tasks[0].cancel()
        await kit.until(lambda: not runs.healthy())


async def test_status_is_written_by_server_side_apply_with_our_name(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(monkeypatch) as (api, runs):
        run = runs.run("r1")
        assert run is not None
        await runs.write_run(run, {"cost": "$1.00"})
        path, content, body = api.patches[0]
        assert path.endswith("/namespaces/team/runs/n-r1/status")
        assert content == "application/apply-patch+yaml"
        assert body["metadata"]["uid"] == "r1"
        assert body["status"] == {"cost": "$1.00"}
        api.status = 409
        with pytest.raises(KubeError) as caught:
            await runs.write_run(run, {})
        assert caught.value.status == 409


ACT: dict[str, Any] = {
    "metadata": {"uid": "i1", "name": "n-i1", "namespace": "team"},
    "spec": {"runRef": {"name": "n-r1", "uid": "r1"}},
    "status": {"state": "Refused", "time": "2026-01-01T00:00:00Z"},
}


async def test_an_owner_is_given_by_a_patch_that_overwrites_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(monkeypatch) as (api, runs):
        item = parse_intervention(ACT)
        assert item is not None
        await runs.write_owner(item, {"kind": "Run"})
        assert api.patches == [("/apis/guildhall.dev/v1alpha1/namespaces/team/interventions/n-i1",
            "application/json-patch+json", [
                {"op": "test", "path": "/metadata/uid", "value": "i1"},
                {"op": "test", "path": "/metadata/ownerReferences", "value": None},
                {"op": "add", "path": "/metadata/ownerReferences", "value": [{"kind": "Run"}]},
            ])]  # fmt: skip
        for status in (403, 404, 409, 500):
            api.status = status
            with pytest.raises(KubeError) as caught:
                await runs.write_owner(item, {"kind": "Run"})
            assert caught.value.status == status


@pytest.mark.parametrize(
    ("there", "raised"),
    [
        ({"ownerReferences": [{"kind": "Run", "uid": "r1"}]}, None),
        ({"uid": "i2"}, None),
        ({}, 422),
        ({"ownerReferences": []}, 422),
        (None, 404),
    ],
    ids=["another-was-faster", "another-object", "admission-said-no", "empty", "gone"],
)
async def test_a_refused_owner_counts_as_given_only_where_one_is_there(
    monkeypatch: pytest.MonkeyPatch, there: dict[str, Any] | None, raised: int | None
) -> None:
    async with watching(monkeypatch) as (api, runs):
        item = parse_intervention(ACT)
        assert item is not None
        if there is not None:
            api.items["i1"] = ACT | {"metadata": ACT["metadata"] | there}
        api.patch_status = 422
        if raised is None:
            await runs.write_owner(item, {"kind": "Run"})
        else:
            with pytest.raises(KubeError) as caught:
                await runs.write_owner(item, {"kind": "Run"})
            assert caught.value.status == raised
        assert len(api.patches) == 1


async def test_a_run_is_asked_of_the_cluster_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(monkeypatch) as (api, runs):
        api.items["r2"] = run_object("r2")  # no event tells of it
        found = await runs.run_now("team", "n-r2")
        assert (found and found.uid, runs.run("r2")) == ("r2", None)
        assert await runs.run_now("team", "n-r3") is None
        api.status = 500
        with pytest.raises(KubeError):
            await runs.run_now("team", "n-r2")


def test_what_an_intervention_says_of_itself() -> None:
    found = parse_intervention(ACT)
    assert found is not None
    assert (found.run_uid, found.state, found.stated, found.owned) == ("r1", "Refused", "2026-01-01T00:00:00Z", False)
    for owners, owned in (([], False), ("no list", False), ([{"kind": "Run"}], True)):
        view = parse_intervention(ACT | {"metadata": ACT["metadata"] | {"ownerReferences": owners}})
        assert view is not None
        assert view.owned is owned


FIELDS = [
    *(
        "metadata",
        "spec",
        "status",
        "uid",
        "name",
        "namespace",
        "attempts",
        "podUid",
        "conditions",
        "labels",
        "ownerReferences",
        "time",
    ),
    *("podIPs", "budget", "guild", "defaults", "archive", "runRef", "number", "guildhall.dev/attempt"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6),
    max_leaves=25,
)


@given(item=JSON)
def test_objects_of_any_shape_give_a_view_or_nothing(item: Any) -> None:
    for parse in (parse_run, parse_pod, parse_guild, parse_intervention):
        parse(item)


def test_a_run_is_read_as_it_is_meant() -> None:
    item = run_object(
        "r",
        attempts=[{"number": 1, "podUid": "old", "endTime": "t"}, {"number": 2, "podUid": "new"}],
        archive={"storedSeq": 9, "resendFrom": 4},
    )
    view = parse_run(item)
    assert view is not None
    assert (view.attempt, view.pod_uid, view.stored_seq, view.resend_from) == (2, "new", 9, 4)
    waits = [{}, {"awaiting": {"questions": 0, "approvals": 0}}, {"awaiting": {"questions": 0, "approvals": 2}}]
    views = [parse_run(run_object("r", **status)) for status in waits]
    assert [found and found.awaits for found in views] == [False, False, True]
    item["status"]["attempts"][1]["endTime"] = "t"
    ended = parse_run(item)
    assert ended is not None
    assert ended.pod_uid is None, "an attempt that ended has no pod that may call"


@pytest.mark.parametrize(
    ("status", "finished"),
    [
        ({}, False),
        ({"conditions": [{"type": "Succeeded", "status": "Unknown"}]}, False),
        ({"conditions": [{"type": "Succeeded", "status": "False"}]}, True),
        ({"conditions": [{"type": "Succeeded", "status": "True"}]}, True),
        ({"completionTime": "2026-01-01T00:00:00Z"}, True),
    ],
)
def test_when_a_run_is_over(status: dict[str, Any], finished: bool) -> None:
    view = parse_run(run_object("r", **status))
    assert view is not None
    assert view.finished is finished


def test_a_deleted_run_is_over_and_a_broken_budget_allows_nothing() -> None:
    item = run_object("r")
    item["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    item["status"]["budget"] = {"steps": "many"}
    view = parse_run(item)
    assert view is not None
    assert view.finished
    assert view.budget is not None
    assert (view.budget.cost_micro_usd, view.budget.steps) == (0, 1)


async def test_the_account_token_is_read_again_when_it_rotates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    client = KubeClient("http://127.0.0.1:1", context=True, token_file=token)
    assert client._headers() == {"Authorization": "Bearer first"}
    token.write_text("second\n")
    assert client._headers() == {"Authorization": "Bearer first"}
    monkeypatch.setattr("guildhall_gateway.kube.TOKEN_REREAD_SECONDS", 0.0)
    assert client._headers() == {"Authorization": "Bearer second"}
    await client.close()
