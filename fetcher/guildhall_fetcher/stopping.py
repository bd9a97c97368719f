"""SIGTERM: heeded at once where the process waits, and otherwise at the next wait, so that no step is left half done.

The first process of a container does not heed it by itself. Imports nothing heavy, so that it listens from the start.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Stopped(SystemExit):
    """This process is to end: its pod's deadline, a drained node, or a person who cancelled. Nothing new is begun."""


class _Signal:
    """Whether it came and nobody was told yet, and whether somebody waits."""

    came = False
    awaited = False


def listen() -> None:
    """From now on SIGTERM is heeded, once."""
    signal.signal(signal.SIGTERM, _on_signal)


def _on_signal(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _Signal.came = True
    if _Signal.awaited:
        _tell()


def _tell() -> None:
    _Signal.came = False
    raise Stopped(128 + signal.SIGTERM)


@contextmanager
def waiting() -> Iterator[None]:
    """Around a wait. Raises Stopped, once: who catches it may still wait for something short.

    Looking up a name is no wait that can be broken off: it raises when the resolver has answered.
    """
    _Signal.awaited = True
    try:
        if _Signal.came:
            _tell()
        yield
    finally:
        _Signal.awaited = False
