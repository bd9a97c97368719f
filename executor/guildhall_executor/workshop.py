"""The client of the workshop's socket. Guards against the workspace: whoever answers there may be its code.

Every frame is a claim. One that does not fit the protocol ends the connection, and what was in flight is lost; no
answer is waited for without a bound, and nothing is kept beyond what the contract allows.
"""

import asyncio
import socket
import struct
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from guildhall_contracts.frames import (
    PROTOCOL_VERSION,
    AnyRequest,
    AnyResult,
    CancelRequest,
    ChunkReply,
    ErrorReply,
    FrameRefused,
    HelloRequest,
    HelloResult,
    OutputReply,
    decode_reply,
    encode_frame,
    frame_length,
)

from guildhall_executor.tools.ask import WorkshopLost, sent_bytes

R = TypeVar("R", bound=AnyResult)
HELLO_SECONDS: Final = 10.0
WRITE_SECONDS: Final = 30.0
GIVEN_UP_REMEMBERED_MAX_COUNT: Final = 256
_CREDENTIALS: Final = struct.Struct("3i")


@dataclass(slots=True)
class _Waiting:
    """A request in flight: which results may end it, and who hears what comes before."""

    fits: Callable[[AnyResult], bool]
    op: str
    done: asyncio.Future[AnyResult | ErrorReply]
    on_output: Callable[[bytes, int], None] | None
    on_chunk: Callable[[int, bytes], None] | None


class _Link:
    """One connection, from its hello to its end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._waiting: dict[int, _Waiting] = {}
        self._given_up: OrderedDict[int, None] = OrderedDict()
        self._next_id = 0
        self.lost: str | None = None
        self._reading = asyncio.create_task(self._read())

    def take_id(self) -> int:
        self._next_id += 1
        return self._next_id

    async def send(self, request: AnyRequest) -> None:
        if self.lost is not None:
            raise WorkshopLost(self.lost)
        try:
            self._writer.write(encode_frame(request))
            async with asyncio.timeout(WRITE_SECONDS):
                await self._writer.drain()
        except (OSError, TimeoutError) as error:
            self.fail(f"the workshop does not take requests ({type(error).__name__})")
            raise WorkshopLost(self.lost or "") from error

    def send_soon(self, request: AnyRequest) -> None:
        """Sends without waiting for room: for small requests whose answer nobody reads."""
        if self.lost is None:
            self._writer.write(encode_frame(request))

    def wait_for(self, id_: int, waiting: _Waiting) -> None:
        self._waiting[id_] = waiting

    def give_up(self, id_: int) -> None:
        """Whatever still comes for `id_` is ignored."""
        if self._waiting.pop(id_, None) is not None:
            self._given_up[id_] = None
            while len(self._given_up) > GIVEN_UP_REMEMBERED_MAX_COUNT:
                self._given_up.popitem(last=False)

    def fail(self, reason: str) -> None:
        """Ends the connection; everything in flight is lost for `reason`."""
        if self.lost is None:
            self.lost = reason
        self._writer.close()
        for waiting in self._waiting.values():
            if not waiting.done.done():
                waiting.done.set_exception(WorkshopLost(self.lost))
                waiting.done.exception()  # marks it as seen: its asker may be gone already
        self._waiting.clear()

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self.fail("the connection was closed")

    async def _read(self) -> None:
        try:
            while self.lost is None:
                length = frame_length(await self._reader.readexactly(4))
                if isinstance(length, FrameRefused):
                    self.fail(f"the workshop spoke nonsense: {length.reason}")
                else:
                    self._take(decode_reply(await self._reader.readexactly(length)))
        except (OSError, EOFError):
            self.fail("the workshop went away; running out of memory is the usual cause")

    def _take(self, reply: AnyResult | ErrorReply | OutputReply | ChunkReply | FrameRefused) -> None:
        if isinstance(reply, FrameRefused):
            self.fail(f"the workshop spoke nonsense: {reply.reason}")
            return
        waiting = self._waiting.get(reply.id)
        if waiting is None:
            if reply.id not in self._given_up:
                self.fail("the workshop answered a request nobody made")
            return
        match reply:
            case OutputReply(data=data, skipped_bytes=skipped) if waiting.on_output is not None:
                on_output = waiting.on_output
                self._hand_on(waiting, data, lambda piece: on_output(piece, skipped))
            case ChunkReply(index=index, data=data) if waiting.on_chunk is not None:
                on_chunk = waiting.on_chunk
                self._hand_on(waiting, data, lambda piece: on_chunk(index, piece))
            case OutputReply() | ChunkReply():
                pass
            case ErrorReply():
                self._end(reply.id, waiting, reply)
            case _ if waiting.fits(reply) and reply.op == waiting.op:
                self._end(reply.id, waiting, reply)
            case _:
                self.fail("the workshop answered a request with something else")

    def _hand_on(self, waiting: _Waiting, data: str, deliver: Callable[[bytes], None]) -> None:
        try:
            piece = sent_bytes(data)
        except WorkshopLost as lost:
            self.fail(str(lost))
            return
        try:
            deliver(piece)
        except Exception as error:  # noqa: BLE001  the listener's fault, not the workshop's: its asker hears of it
            if not waiting.done.done():
                waiting.done.set_exception(error)

    def _end(self, id_: int, waiting: _Waiting, reply: AnyResult | ErrorReply) -> None:
        del self._waiting[id_]
        if not waiting.done.done():
            waiting.done.set_result(reply)


class Workshop:
    """Asks the workshop, over a connection that is made again when it was lost."""

    def __init__(self, path: Path, uid: int, connect_seconds: float) -> None:
        self._path = path
        self._uid = uid
        self._connect_seconds = connect_seconds
        self._link: _Link | None = None
        self._connecting = asyncio.Lock()
        self._away_since: float | None = None  # when the first try of those began that failed since it last answered
        self._given_up: tuple[int, str] = (0, "")  # how many times nobody answered in time, and why the last time

    async def ask(
        self,
        make: Callable[[int], AnyRequest],
        result: type[R],
        *,
        patience_seconds: float = 60.0,
        on_output: Callable[[bytes, int], None] | None = None,
        on_chunk: Callable[[int, bytes], None] | None = None,
    ) -> R | ErrorReply:
        """One request and the reply that ends it. Raises WorkshopLost, and ValueError for a request over the bound."""
        link = await self._linked()
        return await _exchange(link, make, result, patience_seconds, on_output, on_chunk)

    async def close(self) -> None:
        if self._link is not None:
            await self._link.close()

    async def _linked(self) -> _Link:
        """The connection, made anew if need be; who waited while another tried in vain does not try once more."""
        given_up, _ = self._given_up
        async with self._connecting:
            if self._link is None or self._link.lost is not None:
                if self._given_up[0] != given_up:
                    raise self._away(self._given_up[1])
                if self._link is not None:
                    await self._link.close()
                self._link = await self._connect()
            return self._link

    async def _connect(self) -> _Link:
        """Tries until `connect_seconds` are over: a restarted workshop needs a moment."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._connect_seconds
        self._away_since = loop.time() if self._away_since is None else self._away_since
        pause = 0.05
        while True:
            try:
                link = await self._hello()
            except (OSError, WorkshopLost) as error:
                if loop.time() + pause >= until:
                    self._given_up = (self._given_up[0] + 1, _why(error))
                    raise self._away(_why(error)) from error
            else:
                self._away_since = None
                return link
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1.0)

    def _away(self, why: str) -> WorkshopLost:
        now = asyncio.get_running_loop().time()
        return WorkshopLost(why, away_seconds=now - (now if self._away_since is None else self._away_since))

    async def _hello(self) -> _Link:
        reader, writer = await asyncio.open_unix_connection(self._path)
        uid = peer_uid(writer.get_extra_info("socket"))
        if uid != self._uid:
            writer.close()
            raise WorkshopLost(f"uid {uid} answers on the workshop's socket instead of {self._uid}")
        link = _Link(reader, writer)
        try:
            reply = await _exchange(link, lambda id_: HelloRequest(id=id_), HelloResult, HELLO_SECONDS, None, None)
        except BaseException:
            await link.close()
            raise
        if isinstance(reply, ErrorReply) or reply.version != PROTOCOL_VERSION:
            await link.close()
            raise WorkshopLost("the workshop speaks another version of the protocol")
        return link


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, WorkshopLost) else "the workshop does not answer on its socket"


def peer_uid(sock: socket.socket) -> int:
    """The uid the kernel says is at the other end."""
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(raw)[1]
    return uid


async def _exchange(  # noqa: PLR0913, PLR0917
    link: _Link,
    make: Callable[[int], AnyRequest],
    result: type[R],
    patience_seconds: float,
    on_output: Callable[[bytes, int], None] | None,
    on_chunk: Callable[[int, bytes], None] | None,
) -> R | ErrorReply:
    request = make(link.take_id())
    done: asyncio.Future[AnyResult | ErrorReply] = asyncio.get_running_loop().create_future()
    link.wait_for(request.id, _Waiting(lambda reply: isinstance(reply, result), request.op, done, on_output, on_chunk))
    try:
        await link.send(request)
        async with asyncio.timeout(patience_seconds):
            reply = await done
    except TimeoutError as error:
        link.fail(f"the workshop gave no answer for {patience_seconds:g} seconds")
        raise WorkshopLost(link.lost or "") from error
    except asyncio.CancelledError:
        link.give_up(request.id)
        _cancel(link, request.id)
        raise
    finally:
        link.give_up(request.id)
    if isinstance(reply, ErrorReply | result):
        return reply
    raise WorkshopLost("the workshop answered a request with something else")


def _cancel(link: _Link, target: int) -> None:
    """Tells the workshop to stop `target`; its answers, if any, are nobody's business."""
    id_ = link.take_id()
    done: asyncio.Future[AnyResult | ErrorReply] = asyncio.get_running_loop().create_future()
    link.wait_for(id_, _Waiting(lambda _: True, "cancel", done, None, None))
    link.give_up(id_)
    link.send_soon(CancelRequest(id=id_, target=target))
