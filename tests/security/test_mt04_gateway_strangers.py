"""Promise: whoever is nobody gets 401 at every address and by every method, unread, and is counted; then 429.

What is no HTTP gets no answer at all. Control: a caller of ours is told that there is no such address.
"""

import asyncio
import contextlib
import logging
from pathlib import Path

import httpx
import pytest
from guildhall_contracts import limits
from guildhall_gateway.identity import WINDOW_SECONDS
from unit.gateway import kit
from unit.gateway.kit import Served

CAP = limits.UNAUTHENTICATED_PER_POD_PER_MINUTE_COUNT
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "get"]
TARGETS = [
    "/",
    "*",
    "/anything",
    "/metrics",
    "/healthz",
    "/docs",
    "/openapi.json",
    "/v1",
    "/v1/model",
    "/v1/model/",
    "/v1/mailbox/?a=b",
    "//v1/model",
    "/v1//model",
    "/V1/MODEL",
    "/v1/model%2f",
    "/v1%2Fmodel",
    "/v1/%6dodel",
    "/v1/model%00",
    "/v1/model%0a",
    "/v1/blobs/%0A",
    "/%",
    "/%zz",
    "/%ff%fe",
    "/%c0%af",
    "/%F0%9F%92%A9",
    "/../v1/model",
    "/%2e%2e/v1/model",
    "/v1/blobs/../model",
    "/v1/model;a=b",
    "/v1/model#x",
    "http://elsewhere.example/v1/model",
    "elsewhere.example:443",
    "/internal/v1/runs/run-1/ledger/",
    "/" + "a" * 8_000,
    "/?" + "q=1&" * 2_000,
]


async def ask(served: Served, head: str) -> bytes:
    """All that comes back for these bytes until the gateway closes the connection."""
    url = httpx.URL(served.url)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(head.encode("latin-1"))
    try:
        return await asyncio.wait_for(reader.read(), 5)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def request(method: str, target: str, *headers: str) -> str:
    return "\r\n".join((f"{method} {target} HTTP/1.1", "Host: x", *headers)) + "\r\n\r\n"


def fresh(served: Served) -> None:
    """A minute goes by: nobody has used anything up."""
    now = served.gateway.authenticator._clock() + WINDOW_SECONDS + 1
    served.gateway.authenticator._clock = lambda: now


def is_401(answer: bytes, method: str = "GET") -> bool:
    head, _, body = answer.partition(b"\r\n\r\n")
    said = method == "HEAD" or b'"error"' in body
    return head.startswith(b"HTTP/1.1 401 ") and b"connection: close" in head.lower() and said


async def test_every_address_and_method_answers_a_stranger_alike(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        kinds = set()
        for target in TARGETS:
            fresh(served)
            for method in METHODS:
                answer = await ask(served, request(method, target))
                assert is_401(answer, method), (method, target, answer[:300])
                if method != "HEAD":
                    kinds.add(answer.partition(b"\r\n\r\n")[2])
                assert b"location" not in answer.lower()
        assert len(kinds) == 1, "what is there cannot be told from what is not"
        assert served.cluster.reviews == 0


async def test_of_ours_and_only_they_learn_what_is_not_there(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        for token, status in ((kit.TOKEN, 404), (kit.API_TOKEN, 404), ("junk", 401), (None, 401)):
            async with served.client(token) as client:
                for method, path in (("GET", "/nowhere"), ("PUT", "/v1/model"), ("GET", "/v1/model/")):
                    answer = await client.request(method, path)
                    assert answer.status_code == status, (token, method, path)
                    assert answer.json()["error"]["kind"] == "internal"
        served.cluster.change_run(finished=True)
        async with served.client() as client:
            assert (await client.get("/nowhere")).status_code == 401, "the token of a finished Run is a stranger's"


@pytest.mark.parametrize("path", ["/anything", "/v1/model/", "/v1/model", "/%ff"])
@pytest.mark.parametrize("method", ["POST", "OPTIONS", "PROPFIND"])
async def test_unknown_addresses_are_counted_as_known_ones(tmp_path: Path, method: str, path: str) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        async with served.client(None) as client:
            statuses = [(await client.request(method, path)).status_code for _ in range(CAP + 5)]
            assert statuses == [401] * CAP + [429] * 5
            assert (await client.get("/v1/mailbox")).status_code == 429, "it is one count for all addresses"
        async with served.client(None, source="127.0.0.2") as client:
            assert (await client.request(method, path)).status_code == 401, "control: another address has its own"


async def test_no_body_of_a_stranger_is_read(tmp_path: Path) -> None:
    """A gigabyte is announced and not sent, with and without asking leave: the answer comes, and the end."""
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        for method, target in (("PUT", "/anything"), ("POST", "/v1/mailbox"), ("PATCH", "/v1/model")):
            for extra in ("X-Nothing: 1", "Expect: 100-continue"):
                answer = await ask(served, request(method, target, "Content-Length: 1073741824", extra))
                assert is_401(answer), answer[:300]
                assert b"100 Continue" not in answer


async def test_a_websocket_is_a_request_like_any_other(tmp_path: Path) -> None:
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
               "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")  # fmt: skip
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        for target in ("/", "/v1/model", "/v1/mailbox"):
            for headers in (upgrade, ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AA")):
                assert is_401(await ask(served, request("GET", target, *headers)))
        statuses = [(await ask(served, request("GET", "/", *upgrade)))[9:12] for _ in range(CAP)]
        assert statuses[-6:] == [b"429"] * 6, "and is counted"
        fresh(served)
        ours = request("GET", "/nowhere", f"Authorization: Bearer {kit.TOKEN}", *upgrade, "Connection: close")
        assert (await ask(served, ours)).startswith(b"HTTP/1.1 404 "), "control: the token is read all the same"


@pytest.mark.parametrize(
    "words",
    [
        "GET /v1/model\r\n\r\n",
        "GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        "G\x00T / HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "SSH-2.0-client\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA: " + "a" * 100_000,
    ],
)
async def test_what_is_no_http_is_answered_with_nothing(
    tmp_path: Path, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with kit.serve(tmp_path) as served:
        caplog.set_level(logging.ERROR)
        answer = await ask(served, words)
        assert not answer or is_401(answer)
        assert is_401(await ask(served, request("GET", "/"))), "control: HTTP is answered, and the gateway goes on"
        assert not caplog.records
