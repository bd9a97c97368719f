"""The record of a Run on its own volume, and its copy on stdout. Guards against lost lines and against a full log.

`events.jsonl` holds what was said, `inputs.jsonl` what happened. Inputs are synced before anything follows from them;
events that a power cut takes away follow from them again, number by number. A torn last line is cut off before
anything is added.
"""

import contextlib
import json
import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.events import KnownEvent

from guildhall_executor.emit import line_of
from guildhall_executor.inputs import At, decode_at, encode_at

EVENTS_FILE: Final = "events.jsonl"
INPUTS_FILE: Final = "inputs.jsonl"


def seq_of(line: bytes) -> int | None:
    """The number of the event in a line; None where it holds none."""
    try:
        seq = json.loads(line)["seq"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return seq if isinstance(seq, int) else None


class Journal:
    """Appends; never rewrites but for the torn end. `out_fd` is where LogEvents are printed."""

    def __init__(self, folder: Path, out_fd: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._out_fd = out_fd
        self._out_open = True
        self._seqs = array("Q")  # rising; a power cut can leave a hole where nothing but streamed text was
        self._offsets = array("Q")
        self._end_bytes = 0
        self.last_seq = 0
        self.stored_seq = 0
        self.inputs = self._recover_inputs()
        self._recover_events()
        self._events_fd = _open(folder / EVENTS_FILE)
        self._inputs_fd = _open(folder / INPUTS_FILE)
        sync_folder(folder)

    def _recover_inputs(self) -> list[At]:
        sound: list[At] = []
        path = self.folder / INPUTS_FILE
        size = 0
        for line in _whole_lines(path):
            at = decode_at(line)
            if at is None:
                break
            sound.append(at)
            size += len(line) + 1
        _cut(path, size)
        return sound

    def _recover_events(self) -> None:
        path = self.folder / EVENTS_FILE
        for line in _whole_lines(path):
            seq = seq_of(line)
            if seq is None or seq <= self.last_seq:
                break
            self._note(seq, len(line) + 1)
        _cut(path, self._end_bytes)

    def _note(self, seq: int, size: int) -> None:
        self._seqs.append(seq)
        self._offsets.append(self._end_bytes)
        self._end_bytes += size
        self.last_seq = seq

    def write_input(self, at: At) -> None:
        """Durable before it returns: what follows from an input may already be irrevocable."""
        write_all(self._inputs_fd, encode_at(at))
        os.fdatasync(self._inputs_fd)

    def write_events(self, events: Iterable[KnownEvent], *, durable: bool = False) -> None:
        """Appends events in order of their numbers, then prints them. Raises OSError, and then holds none of them."""
        lines = [(event.seq, line_of(event)) for event in events]
        data = b"".join(line for _, line in lines)
        try:
            write_all(self._events_fd, data)
        except OSError:
            with contextlib.suppress(OSError):  # half a line would swallow the next one
                os.ftruncate(self._events_fd, self._end_bytes)
            raise
        for seq, line in lines:
            self._note(seq, len(line))
        if durable:
            os.fdatasync(self._events_fd)
        self._print(data)

    def _print(self, data: bytes) -> None:
        """A reader that is gone is no reason to stop: the journal has the lines."""
        if self._out_open:
            try:
                write_all(self._out_fd, data)
            except OSError:
                self._out_open = False

    def acknowledge(self, stored_seq: int) -> None:
        """The api holds everything up to `stored_seq`, which may be more than this journal knows of."""
        self.stored_seq = max(self.stored_seq, min(stored_seq, self.last_seq))

    @property
    def ahead_bytes(self) -> int:
        """What was printed and is not stored yet."""
        return self._end_bytes - self._offset_of(self.stored_seq + 1)

    @property
    def has_room(self) -> bool:
        return self.ahead_bytes < limits.LOG_AHEAD_MAX_BYTES

    @property
    def is_stored(self) -> bool:
        return self.stored_seq >= self.last_seq

    def _offset_of(self, seq: int) -> int:
        index = bisect_left(self._seqs, seq)
        return self._offsets[index] if index < len(self._offsets) else self._end_bytes

    def print_again(self, from_seq: int, max_bytes: int = limits.LOG_AHEAD_MAX_BYTES) -> None:
        """Prints lines from `from_seq` on once more, at most `max_bytes` of them."""
        offset = self._offset_of(from_seq)
        until = min(self._end_bytes, offset + max_bytes)
        with (self.folder / EVENTS_FILE).open("rb") as file:
            file.seek(offset)
            data = file.read(until - offset)
        self._print(data[: data.rfind(b"\n") + 1])

    def close(self) -> None:
        os.fdatasync(self._events_fd)
        os.close(self._events_fd)
        os.close(self._inputs_fd)


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)


def sync_folder(folder: Path) -> None:
    """Makes the names in `folder` durable. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _whole_lines(path: Path) -> Iterable[bytes]:
    """Lines that end in a newline, without it."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line[:-1]


def _cut(path: Path, size: int) -> None:
    """Takes away what comes after the last sound line."""
    if path.exists() and path.stat().st_size > size:
        os.truncate(path, size)
