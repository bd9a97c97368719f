"""The listening socket of the TLS port. Guards against one address taking every connection, idle ones, and too many.

Counted when a connection is accepted, before its handshake: TLS that never ends is held to the same bounds.
"""

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

from guildhall_contracts import limits

from guildhall_gateway import families

Asgi = Callable[[Any, Any, Any], Awaitable[None]]
Peer = tuple[str, int]
REFUSED_PER_ROUND_MAX_COUNT: Final = 64
OPEN_MAX_COUNT: Final = 2_000  # of all addresses; a further one is closed without a word


class Doorway:
    """Counts open connections of each peer address, and ends those that have asked nothing in time."""

    def __init__(
        self,
        per_peer: int = limits.CONNECTIONS_PER_PEER_MAX_COUNT,
        first_request_seconds: float = limits.FIRST_REQUEST_MAX_SECONDS,
        in_all: int = OPEN_MAX_COUNT,
    ) -> None:
        self._per_peer = per_peer
        self._in_all = in_all
        self._first_request_seconds = first_request_seconds
        self._open: Counter[str] = Counter()
        self._count = 0
        self._silent: dict[Peer, asyncio.TimerHandle] = {}

    def listen(self, host: str, port: int) -> "Listening":
        """A bound socket to serve on; port 0 takes any. Raises OSError."""
        listening = Listening(families.family(host), socket.SOCK_STREAM)
        families.bound(host, port, listening)
        listening.doorway = self
        return listening

    def around(self, app: Asgi) -> Asgi:
        """`app`, called once a request's head is complete: from then on the connection is not silent."""

        async def told(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http" and scope.get("client"):
                self._spoke(tuple(scope["client"]))
            await app(scope, receive, send)

        return told

    def enter(self, connection: "Connection", peer: Peer) -> bool:
        """Let a connection in; False when its address has as many as it may, or all have."""
        if self._count >= self._in_all or self._open[peer[0]] >= self._per_peer:
            return False
        self._count += 1
        self._open[peer[0]] += 1
        connection.gone = lambda: self._leave(peer)
        later = asyncio.get_running_loop().call_later
        self._silent[peer] = later(self._first_request_seconds, _end, connection)
        return True

    def _spoke(self, peer: Peer) -> None:
        deadline = self._silent.pop(peer, None)
        if deadline is not None:
            deadline.cancel()

    def _leave(self, peer: Peer) -> None:
        self._spoke(peer)
        self._count -= 1
        self._open[peer[0]] -= 1
        if self._open[peer[0]] <= 0:
            del self._open[peer[0]]


def _end(connection: "Connection") -> None:
    """Its transport reads the end and closes it, also in the middle of a handshake."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class Connection(socket.socket):
    """An accepted connection that says when it is closed."""

    gone: Callable[[], None] | None = None

    def close(self) -> None:
        gone, self.gone = self.gone, None
        super().close()
        if gone is not None:
            gone()


class Listening(socket.socket):
    """Accepts what its doorway lets in and closes the rest at once."""

    doorway: Doorway

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection. Raises BlockingIOError when there is none now."""
        for _ in range(REFUSED_PER_ROUND_MAX_COUNT):
            plain, address = super().accept()
            connection = Connection(plain.family, plain.type, plain.proto, fileno=plain.detach())
            if self.doorway.enter(connection, (address[0], address[1])):
                return connection, address
            connection.close()
        raise BlockingIOError("only connections of addresses that have enough are waiting")
