"""Whether anybody answers: every address of a name is tried, and no dead one takes the time of the others."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from guildhall_contracts.fetch import GitUrl
from guildhall_fetcher import address
from guildhall_fetcher.address import reach
from guildhall_fetcher.failure import FetchFailed

URL = GitUrl("https", "", "git.example.test", 443, "/x.git")


@contextmanager
def full() -> Iterator[int]:
    """A port that takes no more connections, and refuses none: who asks hears nothing."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        port = int(server.getsockname()[1])
        for _ in range(3):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        yield port


def at(monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
    """The name leads to these ports of loopback, in this order."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port)) for port in ports]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(address, "FETCH_CONNECT_MAX_SECONDS", 1)


def test_an_address_that_swallows_everything_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with full() as dead, socket.create_server(("127.0.0.1", 0)) as good:
        at(monkeypatch, dead, good.getsockname()[1])
        began = time.monotonic()
        reach(URL)
        assert 0.4 < time.monotonic() - began < 0.9, "its share, and no more"


def test_where_none_answers_the_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with full() as one, full() as other:
        at(monkeypatch, one, other)
        began = time.monotonic()
        with pytest.raises(FetchFailed) as caught:
            reach(URL)
        assert 0.9 < time.monotonic() - began < 1.5
    assert (caught.value.outcome, caught.value.transient) == ("unreachable", True)
