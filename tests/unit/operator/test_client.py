"""The API client against a server that misbehaves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from guildhall_operator import client as module
from guildhall_operator.client import Access, Kube, KubeError, list_all, resource_of, version_of


@asynccontextmanager
async def server(handler: object) -> AsyncIterator[Kube]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)  # type: ignore[arg-type]
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    kube = Kube(Access(f"http://127.0.0.1:{runner.addresses[0][1]}", tls=False))
    try:
        yield kube
    finally:
        await kube.close()
        await runner.cleanup()


async def test_an_error_keeps_its_code_reason_and_message() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response({"reason": "AlreadyExists", "message": "there is one"}, status=409)

    async with server(handler) as kube:
        with pytest.raises(KubeError) as found:
            await kube.call("POST", "/api/v1/namespaces/a/pods", {})
        assert (found.value.code, found.value.reason, found.value.message) == (409, "AlreadyExists", "there is one")
        assert kube.writes == {("POST", "pods"): 1}


@pytest.mark.parametrize("body", [b"", b"not json", b"[1]", b"\xff\xfe", b'{"a":' * 100_000])
async def test_an_answer_that_is_no_object_is_an_error(body: bytes) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=body)

    async with server(handler) as kube:
        with pytest.raises(KubeError) as found:
            await kube.call("GET", "/x")
        assert found.value.code == 0


async def test_a_server_that_is_not_there_is_an_error() -> None:
    kube = Kube(Access("http://127.0.0.1:9", tls=False))
    with pytest.raises(KubeError, match="Unreachable"):
        await kube.call("GET", "/x")
    await kube.close()


async def test_pages_are_followed_to_the_end() -> None:
    async def handler(request: web.Request) -> web.Response:
        token = request.query.get("continue", "")
        meta = {"resourceVersion": "7", "continue": "next" if not token else ""}
        return web.json_response({"items": [{"metadata": {"name": token or "first"}}, "nonsense"], "metadata": meta})

    async with server(handler) as kube:
        items, version = await list_all(kube, "/x", {})
    assert [item["metadata"]["name"] for item in items] == ["first", "next"]
    assert version == "7"


async def test_a_watch_takes_lines_cut_anywhere_and_ends_on_silence() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        line = b'{"type":"ADDED","object":{"a":"' + b"x" * 300_000 + b'"}}\n'
        await answer.write(line[:7])
        await answer.write(line[7:200_000])
        await answer.write(line[200_000:] + b"\n")
        await asyncio.sleep(5)
        return answer

    async with server(handler) as kube:
        stream = kube.watch("/x", {}, 0.3)
        first = await anext(stream)
        assert len(first["object"]["a"]) == 300_000
        with pytest.raises(KubeError):
            await anext(stream)


async def test_a_line_beyond_all_bounds_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WATCH_EVENT_MAX_BYTES", 1_000)

    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=b"x" * 100_000)

    async with server(handler) as kube:
        with pytest.raises(KubeError, match="larger than"):
            await anext(kube.watch("/x", {}, 1))


async def test_an_answer_beyond_all_bounds_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"a": "x" * 100_000})

    async with server(handler) as kube:
        assert len((await kube.call("GET", "/x"))["a"]) == 100_000, "control"
        monkeypatch.setattr(module, "KUBE_ANSWER_MAX_BYTES", 1_000)
        with pytest.raises(KubeError, match="larger than 1000 bytes"):
            await kube.call("GET", "/x")


def test_a_rotated_token_is_read_again(tmp_path: Path) -> None:
    now = 0.0
    path = tmp_path / "token"
    path.write_text("one\n")
    access = Access("http://x", tls=False, token_file=path, clock=lambda: now)
    assert access.authorization() == {"Authorization": "Bearer one"}
    path.write_text("two")
    assert access.authorization() == {"Authorization": "Bearer one"}
    now = 61.0
    assert access.authorization() == {"Authorization": "Bearer two"}


def test_small_helpers() -> None:
    assert resource_of("/api/v1/namespaces/a/pods/x") == "pods"
    assert resource_of("/version") == "other"
    assert version_of({"metadata": {"resourceVersion": "12"}}) == 12
    assert version_of({"metadata": {"resourceVersion": "opaque"}}) == 0
