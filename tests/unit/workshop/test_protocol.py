"""The socket of the real binary: what it says of itself, and what becomes of frames that are none."""

import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from guildhall_contracts import frames, limits
from support.workshop import Client, Workshop, running, workshop_binary

pytestmark = pytest.mark.go


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with running(tmp_path, with_baseline=False) as workshop:
        yield workshop


@pytest.fixture
def client(shop: Workshop) -> Iterator[Client]:
    with shop.client() as one:
        yield one


def framed(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


def test_hello(client: Client) -> None:
    hello = client.call(frames.HelloRequest).last
    assert (hello.version, hello.shell) == (frames.PROTOCOL_VERSION, "bash")
    assert client.call(frames.HelloRequest, version=99).code == "unsupported"


@pytest.mark.parametrize(
    ("body", "code"),
    [(b'{"id":5,"op":"format"}', "unsupported"), (b'{"id":5,"op":"read","path":7}', "invalid_argument"),
     (b'{"id":5,"op":"read","pathB64":"*"}', "invalid_argument"),
     (b'{"id":5,"op":"exec","command":""}', "invalid_argument")],
)  # fmt: skip
def test_a_bad_request_is_answered_and_the_connection_lives(client: Client, body: bytes, code: str) -> None:
    reply = client.exchange(framed(body))
    assert (reply.id, reply.code) == (5, code)
    assert client.call(frames.HelloRequest).last.version == 1


@pytest.mark.parametrize(
    "raw",
    [framed(b"{}"), framed(b"not json"), framed(b'{"op":"hello"}'), b"\0\0\0\0", b"\0\0\0\1{", b"\xff\xff\xff\xff",
     struct.pack(">I", limits.FRAME_MAX_BYTES + 1), framed(b"[" * 500_000)],
)  # fmt: skip
def test_what_is_no_frame_closes_the_connection_and_nothing_else(shop: Workshop, client: Client, raw: bytes) -> None:
    assert client.exchange(raw) is None
    with shop.client() as again:
        assert again.call(frames.HelloRequest).last.version == 1


def test_an_id_in_flight_is_not_taken_twice(client: Client) -> None:
    number = client.start(frames.ExecRequest, command="sleep 600")
    client.next_id = number
    again = client.start(frames.ExecRequest, command="true")
    assert client.finish(again).code == "invalid_argument"
    client.call(frames.CancelRequest, target=number)
    assert client.finish(number).code == "cancelled"


def test_without_a_baseline_diff_says_so(client: Client) -> None:
    assert client.call(frames.DiffRequest).code == "unsupported"


def test_it_starts_at_once_and_is_small(tmp_path: Path) -> None:
    began = time.monotonic()
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        client.call(frames.HelloRequest)
        assert time.monotonic() - began < 1
        assert shop.rss_bytes() < 32 * limits.MIB
    assert workshop_binary().stat().st_size < 8 * limits.MIB
    assert shop.process.returncode == 0


def test_usage_errors_are_told(tmp_path: Path) -> None:
    with pytest.raises(OSError), running(tmp_path, "--socket-mode", "999", with_baseline=False) as shop:  # noqa: PT011
        shop.connect()
    with (
        pytest.raises(OSError),  # noqa: PT011
        running(tmp_path, env={"GUILDHALL_RUN_ENV": json.dumps({"A B": "x"})}, with_baseline=False) as shop,
    ):
        shop.connect()


def test_after_a_hard_end_it_starts_again_on_the_same_socket(tmp_path: Path) -> None:
    with running(tmp_path, with_baseline=False) as shop:
        with shop.client() as client:
            assert not client.call(frames.WriteRequest, path="kept", data="").code
        shop.process.kill()
        shop.process.wait(timeout=10)
        assert shop.socket_path.exists()
        with running(tmp_path, with_baseline=False) as again, again.client() as client:
            assert not client.call(frames.ReadRequest, path="kept").code
