"""Bytes to lines, with a bound: whatever a stream holds, no more than one line's worth is kept."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its newline. `cut`: it was longer than the bound, `data` is its head and `size` its whole size."""

    data: bytes
    size: int
    cut: bool = False


class LineSplitter:
    """Splits chunks cut anywhere; holds at most `max_bytes` and the chunk in hand."""

    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self._held = bytearray()
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The lines that `chunk` completes."""
        start = 0
        while True:
            end = chunk.find(b"\n", start)
            if end < 0:
                self._hold(chunk[start:])
                return
            if self._size:
                self._hold(chunk[start:end])
                yield self._taken()
            elif end - start <= self._max:
                yield Line(chunk[start:end], end - start)
            else:
                yield Line(chunk[start : start + self._max], end - start, cut=True)
            start = end + 1

    def rest(self) -> Line | None:
        """What stands after the last newline; the splitter is empty afterwards."""
        return self._taken() if self._size else None

    def _hold(self, piece: bytes) -> None:
        self._size += len(piece)
        room = self._max - len(self._held)
        if room > 0:
            self._held += piece[:room]

    def _taken(self) -> Line:
        line = Line(bytes(self._held), self._size, cut=self._size > self._max)
        self._held.clear()
        self._size = 0
        return line
