"""The one timer of a Run: rings when something ends by the clock, and never before."""

import asyncio
from collections.abc import Callable
from typing import Final

SLACK_SECONDS: Final = 0.01  # so that the Run is not found a rounding error too young


class Alarm:
    """Calls `ring` when the Run has the age it was set to; setting it again replaces what was set."""

    def __init__(self, age_milliseconds: Callable[[], int], ring: Callable[[], None]) -> None:
        self._age_milliseconds = age_milliseconds
        self._ring = ring
        self._due: int | None = None
        self._timer: asyncio.TimerHandle | None = None

    def set(self, due_milliseconds: int | None) -> None:
        if due_milliseconds == self._due:
            return
        self.stop()
        self._due = due_milliseconds
        if due_milliseconds is not None:
            seconds = max(due_milliseconds - self._age_milliseconds(), 0) / 1_000 + SLACK_SECONDS
            self._timer = asyncio.get_running_loop().call_later(seconds, self._go_off)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._due = None

    def _go_off(self) -> None:
        self._timer = self._due = None
        self._ring()
