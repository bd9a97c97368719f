"""HTTP/1.1 to one address, with connections that are kept. Guards against redirects, proxies and answers without end.

Only what the gateway needs: no redirects, cookies, proxies, compression or name look-ups. h11 does the parsing; every
read and connect is bounded in time here, every body by whoever reads it.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

import h11

READ_BYTES: Final = 64 * 1024
HEAD_MAX_BYTES: Final = 64 * 1024
KEPT_MAX_COUNT: Final = 4
WRITE_SECONDS: Final = 60.0

Headers = list[tuple[str, str]]
Body = Sequence[bytes]  # pieces of one body


class HttpFault(Exception):  # noqa: N818  reads as what it says
    """The exchange failed on the way; asking again may help."""


class NoAnswer(HttpFault):
    """There was no connection, or none that brought the head of an answer."""


class Silence(HttpFault):
    """Nothing came for as long as was to be waited."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to connect, and the name to prove (TLS) and to ask for (`Host`)."""

    ip: str
    port: int
    name: str
    host_header: str


class _Wire:
    """One connection; serves one exchange after another."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_MAX_BYTES)

    @property
    def is_usable(self) -> bool:
        return not self._reader.at_eof() and not self._writer.is_closing()

    async def send(self, request: h11.Request, body: Body) -> None:
        """Writes a long body piece by piece: a transport moves what it has not sent yet each time it sends."""
        self._writer.write(self._state.send(request) or b"")
        async with asyncio.timeout(WRITE_SECONDS):
            for piece in body:
                self._writer.write(self._state.send(h11.Data(data=piece)) or b"")
                await self._writer.drain()
            self._state.send(h11.EndOfMessage())
            await self._writer.drain()

    async def event(self, idle_seconds: float) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self._state.next_event()) is h11.NEED_DATA:
            try:
                async with asyncio.timeout(idle_seconds):
                    data = await self._reader.read(READ_BYTES)
            except TimeoutError as error:
                raise Silence(f"nothing came for {idle_seconds:g} seconds") from error
            self._state.receive_data(data)
        return event

    def finish(self) -> bool:
        """Readies the connection for another exchange; False when it cannot serve one."""
        if self._state.our_state is h11.DONE and self._state.their_state is h11.DONE:
            self._state.start_next_cycle()
            return True
        return False

    def close(self) -> None:
        self._writer.close()


class Answer:
    """A status, and a body that is read piece by piece. `close` must be called, whatever was read."""

    def __init__(self, http: "Http", wire: _Wire, head: h11.Response, idle_seconds: float) -> None:
        self.status = head.status_code
        self.retry_after_seconds = _seconds(dict(head.headers).get(b"retry-after", b""))
        self._http = http
        self._wire = wire
        self._idle_seconds = idle_seconds

    async def pieces(self) -> AsyncIterator[bytes]:
        """Raises HttpFault when the body breaks off, and Silence when it stalls."""
        try:
            while isinstance(event := await self._wire.event(self._idle_seconds), h11.Data):
                yield bytes(event.data)
        except (h11.ProtocolError, OSError) as error:
            raise HttpFault(f"the answer broke off ({type(error).__name__})") from error
        if not isinstance(event, h11.EndOfMessage):
            raise HttpFault("the answer broke off")

    def close(self) -> None:
        self._http.take_back(self._wire)


def _seconds(value: bytes) -> float | None:
    """A `Retry-After` in whole seconds; one that is no such number, or longer than a month, is none."""
    return float(value) if value.isdigit() and len(value) < 8 else None


class Http:
    """A few connections to `address`. Every failure is an HttpFault."""

    def __init__(self, address: Address, tls: ssl.SSLContext | None, connect_seconds: float) -> None:
        self._address = address
        self._tls = tls
        self._connect_seconds = connect_seconds
        self._kept: list[_Wire] = []

    async def ask(self, method: str, target: str, headers: Headers, body: Body, *, idle_seconds: float) -> Answer:
        """Sends one request and reads the head of its answer. A kept connection that has died is replaced once."""
        try:
            everything = [("Host", self._address.host_header), *headers, ("Content-Length", str(sum(map(len, body))))]
            request = h11.Request(method=method, target=target, headers=everything)
        except h11.LocalProtocolError as error:
            raise HttpFault("the request holds characters no request may have") from error
        while self._kept:
            wire = self._kept.pop()
            if wire.is_usable:
                try:
                    return await self._exchange(wire, request, body, idle_seconds)
                except Silence:
                    raise
                except HttpFault:
                    continue
            wire.close()
        return await self._exchange(await self._connect(), request, body, idle_seconds)

    async def _connect(self) -> _Wire:
        name = self._address.name if self._tls else None
        try:
            async with asyncio.timeout(self._connect_seconds):
                reader, writer = await asyncio.open_connection(
                    self._address.ip, self._address.port, ssl=self._tls, server_hostname=name, limit=READ_BYTES
                )
        except (OSError, TimeoutError) as error:
            raise NoAnswer(f"no connection ({type(error).__name__})") from error
        return _Wire(reader, writer)

    async def _exchange(self, wire: _Wire, request: h11.Request, body: Body, idle_seconds: float) -> Answer:
        try:
            await wire.send(request, body)
            while isinstance(event := await wire.event(idle_seconds), h11.InformationalResponse):
                pass
        except (h11.ProtocolError, OSError, TimeoutError) as error:
            wire.close()
            raise NoAnswer(f"the connection failed ({type(error).__name__})") from error
        except BaseException:
            wire.close()
            raise
        if not isinstance(event, h11.Response):
            wire.close()
            raise NoAnswer("the connection was closed without an answer")
        return Answer(self, wire, event, idle_seconds)

    def take_back(self, wire: _Wire) -> None:
        if wire.finish() and wire.is_usable and len(self._kept) < KEPT_MAX_COUNT:
            self._kept.append(wire)
        else:
            wire.close()

    def close(self) -> None:
        while self._kept:
            self._kept.pop().close()
