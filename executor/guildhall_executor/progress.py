"""What a tool says while it runs, told at a pace: also the last words of one that then goes quiet."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from guildhall_executor.pace import PROGRESS_EVERY_SECONDS, Pace


class Progress:
    """Give it text as it comes; `tell` gets pieces, none after the `with` block is left."""

    def __init__(self, tell: Callable[[str], None], every_seconds: float = PROGRESS_EVERY_SECONDS) -> None:
        self._loop = asyncio.get_running_loop()
        self._pace = Pace(every_seconds, self._loop.time())
        self._tell = tell
        self._later: asyncio.TimerHandle | None = None

    def take(self, text: str) -> None:
        piece = self._pace.take(text, self._loop.time())
        if piece:
            self._tell(piece)
        wait = self._pace.wait_seconds(self._loop.time())
        if wait is not None and self._later is None:
            self._later = self._loop.call_later(wait, self._held_long_enough)

    def _held_long_enough(self) -> None:
        self._later = None
        self.take("")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._later is not None:
            self._later.cancel()
