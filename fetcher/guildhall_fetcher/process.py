"""Starts one program at a time, in a process group of its own, and reads it within bounds.

Guards against a program that never ends, writes without end, or leaves children behind.
"""

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from guildhall_contracts.limits import FETCH_ERRORS_MAX_BYTES

from guildhall_fetcher.failure import FetchFailed
from guildhall_fetcher.stopping import waiting

PIECE_BYTES: Final = 64 * 1024
PROXY_VARIABLES: Final = ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")
Sink = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Deadline:
    """When all must be over; `seconds` is what it had. `late` says what did not get done, `advice` what else helps."""

    at: float
    seconds: int
    late: str = "the repository could not be fetched"
    advice: str = "lower workspace.git.depth or "

    @classmethod
    def after(cls, seconds: int) -> "Deadline":
        return cls(time.monotonic() + seconds, seconds)

    def left(self) -> float:
        """Seconds that remain. Raises FetchFailed where none do."""
        left = self.at - time.monotonic()
        if left <= 0:
            what = f"{self.late} within {self.seconds} s; {self.advice}raise the chart value fetcher.timeoutSeconds"
            raise FetchFailed("timed_out", what)
        return left

    def pause(self, seconds: float) -> None:
        """Waits so long, or as long as there is time. Raises FetchFailed where there is none."""
        with waiting():
            time.sleep(min(seconds, self.left()))


def bound_self(file_bytes: int, memory_bytes: int) -> None:
    """Limits of this process and every one it starts: size of one file, memory, no core files."""
    for kind, value in (
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        bounded = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bounded, bounded))


class Tail:
    """The last bytes of a stream: git's final words are what explains."""

    def __init__(self) -> None:
        self._kept = b""

    def __call__(self, piece: bytes) -> None:
        self._kept = (self._kept + piece)[-FETCH_ERRORS_MAX_BYTES:]

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")


def _end(child: subprocess.Popen[bytes]) -> None:
    """Nothing of the group is left, whatever became of its leader."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()


def _pump(child: subprocess.Popen[bytes], out: Sink, errors: Tail, deadline: Deadline) -> None:
    assert child.stdout is not None  # noqa: S101  both are pipes
    assert child.stderr is not None  # noqa: S101
    with selectors.DefaultSelector() as streams:
        streams.register(child.stdout, selectors.EVENT_READ, out)
        streams.register(child.stderr, selectors.EVENT_READ, errors)
        while streams.get_map():
            for key, _ in streams.select(min(1.0, deadline.left())):
                piece = os.read(key.fd, PIECE_BYTES)
                if piece:
                    key.data(piece)
                else:
                    streams.unregister(key.fileobj)


def run(argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, out: Sink, deadline: Deadline) -> tuple[int, str]:
    """Exit code and last words. Whatever `out` raises ends the program; so do deadline and SIGTERM."""
    errors = Tail()
    child = subprocess.Popen(  # noqa: S603  fixed words and checked values, no shell
        list(argv),
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        restore_signals=False,  # a file over its bound is an error git can name, not a signal that kills it
    )
    try:
        with waiting():
            _pump(child, out, errors, deadline)
            return child.wait(deadline.left()), errors.text
    except subprocess.TimeoutExpired:
        deadline.left()
        raise
    finally:
        _end(child)
