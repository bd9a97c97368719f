"""How often a stream of pieces may become events. Guards the log against a model or command that dribbles."""

from typing import Final

TEXT_EVERY_SECONDS: Final = 0.4
PROGRESS_EVERY_SECONDS: Final = 1.0
PIECES_PER_CALL_MAX_COUNT: Final = 400
HELD_MAX_CHARS: Final = 4_000


class Pace:
    """Collects text; `take` gives what is due at `now` (seconds), or nothing; over the bounds the end is kept.

    Nothing is due before `every_seconds` have passed since `now`: what ends soon is told by its end alone.
    """

    def __init__(self, every_seconds: float, now: float) -> None:
        self._every_seconds = every_seconds
        self._held = ""
        self._due = now + every_seconds
        self._left = PIECES_PER_CALL_MAX_COUNT

    def wait_seconds(self, now: float) -> float | None:
        """How long until what is held is due; None when nothing is held or nothing may be told any more."""
        return max(self._due - now, 0.0) if self._held and self._left > 0 else None

    def take(self, text: str, now: float) -> str:
        self._held = (self._held + text)[-HELD_MAX_CHARS:]
        if not self._held or now < self._due or self._left <= 0:
            return ""
        self._due, self._left = now + self._every_seconds, self._left - 1
        piece, self._held = self._held, ""
        return piece
