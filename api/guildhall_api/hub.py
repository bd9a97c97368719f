"""Fans one Run's events out to its viewers: each frame is serialised once and shared.

Guards the process and the other viewers against one who reads slowly: a queue that is full becomes one `resync`.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from guildhall_contracts.events import Unreadable
from guildhall_contracts.limits import STREAM_BURST_MAX_COUNT, STREAM_QUEUE_MAX_COUNT

FRAMES_PER_SECOND_MAX_COUNT: Final = 10
QUEUE_MAX_BYTES: Final = 8 * 1024 * 1024
FRAME_EVENTS_MAX_COUNT: Final = 500

HEARTBEAT: Final = b": alive\n\n"


@dataclass(frozen=True, order=True, slots=True)
class Cursor:
    """Where a viewer stands: the last seq, and how many unreadable rows it has seen."""

    seq: int = 0
    rows: int = 0

    def __str__(self) -> str:
        return f"{self.seq}.{self.rows}" if self.rows else str(self.seq)


def parse_cursor(text: str) -> Cursor:
    """A cursor as `Cursor` prints it. Raises ValueError."""
    seq, _, rows = text.partition(".")
    if not (seq.isascii() and seq.isdigit() and len(seq) <= 16) or (rows and not (rows.isdigit() and len(rows) <= 9)):
        raise ValueError(f"'{text[:40]}' is no cursor: a seq such as 812, or a seq and a row count such as 812.3")
    return Cursor(int(seq), int(rows or 0))


@dataclass(frozen=True, slots=True)
class Item:
    """One thing of a stream: `line` is JSON on one line, `at` where a viewer stands after it."""

    at: Cursor
    line: bytes


@dataclass(frozen=True, slots=True)
class Frame:
    """Bytes for the wire. `items` are there to cut it for a viewer who has some of them already."""

    data: bytes
    items: tuple[Item, ...] = ()
    last: bool = False


def message(event: str, data: Any, *, last: bool = False) -> Frame:
    """A frame that carries no events."""
    return Frame(f"event: {event}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode(), last=last)


def events_frame(items: tuple[Item, ...]) -> Frame:
    """The frame of `items`, in order; its id is where a viewer stands afterwards."""
    body = b",".join(item.line for item in items)
    return Frame(b"id: %s\nevent: events\ndata: [%s]\n\n" % (str(items[-1].at).encode(), body), items)


def newer(frame: Frame, seen: Cursor) -> Frame | None:
    """What of `frame` a viewer at `seen` lacks."""
    if not frame.items or not _has(seen, frame.items[0].at):
        return frame
    lacking = tuple(item for item in frame.items if not _has(seen, item.at))
    return events_frame(lacking) if lacking else None


def _has(seen: Cursor, at: Cursor) -> bool:
    return at.seq <= seen.seq and at.rows <= seen.rows


def row_line(row: Unreadable) -> bytes:
    """An unreadable row as it stands in a stream."""
    return json.dumps(row.to_wire(), separators=(",", ":")).encode("ascii")


class Viewer:
    """One reader's queue, bounded in frames and bytes."""

    def __init__(self) -> None:
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._some = asyncio.Event()
        self._stalled = False

    def offer(self, frame: Frame) -> None:
        """Queue a frame. A full queue becomes one `resync`, and nothing is added until the viewer took that."""
        if self._stalled and not frame.last:
            return
        full = len(self._frames) >= STREAM_QUEUE_MAX_COUNT or self._bytes + len(frame.data) > QUEUE_MAX_BYTES
        if full and not frame.last:
            self.resync("slow")
            return
        self._push(frame)

    def resync(self, reason: str) -> None:
        """Drop what is queued: the viewer is to read everything again."""
        last = [frame for frame in self._frames if frame.last]
        self._frames.clear()
        self._bytes = 0
        self._stalled = True
        for frame in (message("resync", {"reason": reason}), *last):
            self._push(frame)

    def _push(self, frame: Frame) -> None:
        self._frames.append(frame)
        self._bytes += len(frame.data)
        self._some.set()

    async def next(self, timeout_seconds: float) -> Frame | None:
        """The next frame, or None when there was none in time."""
        if not self._frames:
            self._some.clear()
            try:
                await asyncio.wait_for(self._some.wait(), timeout_seconds)
            except TimeoutError:
                return None
        frame = self._frames.popleft()
        self._bytes -= len(frame.data)
        self._stalled = False
        return frame

    @property
    def queued(self) -> int:
        return len(self._frames)


class Pace:
    """Ten frames a second in the long run, a few of them at once: a step's events come in a burst and are not held."""

    def __init__(self, now: float) -> None:
        self._credit = float(STREAM_BURST_MAX_COUNT)
        self._at = now

    def wait_seconds(self, now: float) -> float:
        """How long the next frame has to wait at `now`; 0 when it may go."""
        earned = max(now - self._at, 0) * FRAMES_PER_SECOND_MAX_COUNT
        self._credit, self._at = min(self._credit + earned, STREAM_BURST_MAX_COUNT), now
        return max(1 - self._credit, 0) / FRAMES_PER_SECOND_MAX_COUNT

    def spend(self) -> None:
        """A frame has gone. One that went out of turn is paid for by those that follow: no more than a burst is owed,
        so that whatever went before, a viewer is not left without frames for long."""
        self._credit = max(self._credit - 1, -float(STREAM_BURST_MAX_COUNT))


class Channel:
    """The viewers of one Run. Events are gathered into frames, which go at their pace; after a silence at once."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._pending: list[Item] = []
        self._pace = Pace(clock())
        self._timer: asyncio.TimerHandle | None = None
        self.viewers: set[Viewer] = set()

    def join(self) -> Viewer:
        viewer = Viewer()
        self.viewers.add(viewer)
        return viewer

    def leave(self, viewer: Viewer) -> None:
        self.viewers.discard(viewer)

    def publish(self, items: list[Item]) -> None:
        """Send `items` soon. Without viewers they are dropped: whoever comes reads the history first."""
        if not self.viewers:
            self._pending.clear()
            return
        self._pending += items
        if self._timer is None:
            wait = self._pace.wait_seconds(self._clock())
            if wait == 0:
                self._flush()
            else:
                self._timer = asyncio.get_running_loop().call_later(wait, self._flush)

    def tell(self, frame: Frame) -> None:
        """Send a frame that carries no events, after the events before it."""
        if self._pending:
            self._flush()
        for viewer in self.viewers:
            viewer.offer(frame)

    def resync(self, reason: str) -> None:
        self._pending.clear()
        for viewer in self.viewers:
            viewer.resync(reason)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        pending, self._pending = self._pending, []
        self._pace.wait_seconds(self._clock())
        self._pace.spend()
        for start in range(0, len(pending), FRAME_EVENTS_MAX_COUNT):
            frame = events_frame(tuple(pending[start : start + FRAME_EVENTS_MAX_COUNT]))
            for viewer in self.viewers:
                viewer.offer(frame)
