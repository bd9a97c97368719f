"""A deadline kept by a thread of its own: it holds where the interpreter's own clock does not look."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Deadline:
    """Calls `expire` on its thread after `seconds`, not counting the time spent `paused`. Stops once."""

    def __init__(self, seconds: float, expire: Callable[[], object]) -> None:
        self._changed = threading.Condition()
        self._left = seconds
        self._since: float | None = time.monotonic()
        self._over = False
        self._expire = expire
        threading.Thread(target=self._watch, daemon=True).start()

    @contextmanager
    def paused(self) -> Iterator[None]:
        with self._changed:
            self._left -= self._spent()
            self._since = None
            self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._since = time.monotonic()
                self._changed.notify()

    def stop(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify()

    def _spent(self) -> float:
        return time.monotonic() - self._since if self._since is not None else 0.0

    def _watch(self) -> None:
        with self._changed:
            while not self._over:
                if self._since is None:
                    self._changed.wait()
                    continue
                left = self._left - self._spent()
                if left <= 0:
                    break
                self._changed.wait(left)
            expired = not self._over
        if expired:
            self._expire()
