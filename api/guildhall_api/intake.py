"""Decides what of an executor's log is taken in: pure. Holes, repeats, foreign and unreadable lines end here.

Guards the history against lines that are no events of this Run and attempt, whoever wrote them.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.events import KnownEvent, UnknownEvent, Unreadable, decode_event, unreadable

from guildhall_api.lines import Line

STAMP_MAX_BYTES: Final = 40
LINE_MAX_BYTES: Final = limits.EVENT_MAX_BYTES + STAMP_MAX_BYTES
HOLES_MAX_COUNT: Final = 1_000
OVERLAP_SECONDS: Final = 2

_STAMP: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) ")
_PLAIN: Final = re.compile(rb"[\x20-\x7e]*")
_OP: Final = re.compile(r"o[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True)
class Taken:
    """An event to store: `line` is printable ASCII on one line, safe to send on as it is."""

    seq: int
    op: str | None
    line: bytes
    event: KnownEvent | UnknownEvent


@dataclass
class Intake:
    """What is known of one Run's log. `holes` are ranges that may still come, `lost` those nobody will send."""

    run: str
    last_seq: int = 0
    unreadable: int = 0
    holes: list[tuple[int, int]] = field(default_factory=list)
    lost: list[tuple[int, int]] = field(default_factory=list)
    pod: str = ""
    attempt: int = 0
    stamp: str = ""

    @property
    def stored_seq(self) -> int:
        """Every event up to this one is here, or known to be lost."""
        return self.holes[0][0] - 1 if self.holes else self.last_seq

    def follow(self, pod: str, attempt: int) -> None:
        """From now on lines come from this pod; the stamps of another one's clock mean nothing."""
        if self.pod != pod:
            self.pod, self.stamp = pod, ""
        self.attempt = attempt

    def since(self) -> str | None:
        """From when to ask for the log again: a little before the last line, whose repeats are then dropped."""
        return _earlier(self.stamp) if self.stamp else None

    def take(self, line: Line) -> Taken | Unreadable | None:
        """One line of the log. None: nothing new, or not of the container (see `is_stamped`)."""
        match = _STAMP.match(line.data)
        if match is None:
            return None
        stamp, data = match[1].decode(), line.data[match.end() :]
        repeated = stamp <= self.stamp
        self.stamp = max(self.stamp, stamp)
        if line.cut or len(data) > limits.EVENT_MAX_BYTES:
            size = line.size - match.end()
            row = unreadable(data, self.last_seq, f"a line of {size} bytes; at most {limits.EVENT_MAX_BYTES} are read")
            return self._row(row.model_copy(update={"bytes": size}), repeated=repeated)
        return self._judge(data, repeated=repeated)

    def _judge(self, data: bytes, *, repeated: bool) -> Taken | Unreadable | None:
        event = decode_event(data, self.last_seq)
        if type(event) is Unreadable:
            return self._row(event, repeated=repeated)
        assert not isinstance(event, Unreadable)  # noqa: S101
        if event.run != self.run:
            return self._row(unreadable(data, self.last_seq, "an event of another Run"), repeated=repeated)
        if event.seq <= self.last_seq:
            return self._filled(event, data)
        if event.attempt != self.attempt:
            reason = f"an event of attempt {event.attempt} in the log of attempt {self.attempt}"
            return self._row(unreadable(data, self.last_seq, reason), repeated=repeated)
        if event.seq > self.last_seq + 1:
            self._open(self.last_seq + 1, event.seq - 1)
        self.last_seq = event.seq
        return _taken(event, data)

    def _row(self, row: Unreadable, *, repeated: bool) -> Unreadable | None:
        if repeated:
            return None
        self.unreadable += 1
        return row

    def _filled(self, event: KnownEvent | UnknownEvent, data: bytes) -> Taken | None:
        """An older event: taken if it fills a hole or comes after all, dropped if it is here."""
        if event.attempt > self.attempt or not (_cut_out(self.holes, event.seq) or _cut_out(self.lost, event.seq)):
            return None
        return _taken(event, data)

    def _open(self, first: int, last: int) -> None:
        self.holes.append((first, last))
        if len(self.holes) > HOLES_MAX_COUNT:
            self.give_up()

    def give_up(self) -> tuple[int, int] | None:
        """The first hole is lost for good: nobody sends it."""
        if not self.holes:
            return None
        hole = self.holes.pop(0)
        self.lost = [*self.lost, hole][-HOLES_MAX_COUNT:]
        return hole


def is_stamped(line: Line) -> bool:
    """Whether a line carries a runtime's stamp. One without is the kubelet speaking, not the container."""
    return _STAMP.match(line.data) is not None


def _cut_out(ranges: list[tuple[int, int]], seq: int) -> bool:
    for index, (first, last) in enumerate(ranges):
        if first <= seq <= last:
            ranges[index : index + 1] = [part for part in ((first, seq - 1), (seq + 1, last)) if part[0] <= part[1]]
            return True
    return False


def _taken(event: KnownEvent | UnknownEvent, data: bytes) -> Taken:
    line = data if _PLAIN.fullmatch(data) and event.v == 1 else _plain(data)
    op = event.op if not isinstance(event, UnknownEvent) else _op_of(line)
    return Taken(event.seq, op, line, event)


def _plain(data: bytes) -> bytes:
    """The same JSON in printable ASCII: a raw carriage return would end a line of the event stream."""
    text = json.dumps(json.loads(data), separators=(",", ":"), ensure_ascii=True)
    return text.replace("\x7f", "\\u007f").encode("ascii")


def _op_of(line: bytes) -> str | None:
    op = json.loads(line).get("op")
    return op if isinstance(op, str) and _OP.fullmatch(op) else None


def _earlier(stamp: str) -> str:
    moment = datetime.fromisoformat(stamp[:19] + (stamp[-6:] if stamp[-1] != "Z" else "+00:00"))
    return (moment.astimezone(UTC) - timedelta(seconds=OVERLAP_SECONDS)).strftime("%Y-%m-%dT%H:%M:%SZ")
