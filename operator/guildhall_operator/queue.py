"""The work queue: each key once, never two workers on one key, failures later and later, nothing lost.

Guards against a handler that raised being forgotten, and against one broken Run keeping the others waiting.
"""

import asyncio
import heapq
import time
from collections import deque
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

BACKOFF_FIRST_SECONDS: Final = 0.2
BACKOFF_MAX_SECONDS: Final = 60.0

K = TypeVar("K", bound=Hashable)


class WorkQueue(Generic[K]):
    """Keys to look at. A key added while it is being worked on is worked on once more afterwards."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ready: deque[K] = deque()
        self._since: dict[K, float] = {}  # when a waiting key became ready
        self._busy: dict[K, float] = {}  # when work on a key began
        self._again: set[K] = set()
        self._later: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._serial = 0
        self._failures: dict[K, int] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._alarm: tuple[float, asyncio.TimerHandle] | None = None  # wakes one worker when the next key is due

    def __len__(self) -> int:
        return len(self._since) + len(self._busy)

    def add(self, key: K) -> None:
        """Look at `key` as soon as a worker is free."""
        self._later.pop(key, None)
        if key in self._busy:
            self._again.add(key)
        elif key not in self._since:
            self._since[key] = self._clock()
            self._ready.append(key)
            self._wake_one()

    def add_after(self, key: K, seconds: float) -> None:
        """Look at `key` after `seconds`, unless it is looked at before."""
        if key in self._since or key in self._again:
            return
        due = self._clock() + seconds
        if due < self._later.get(key, float("inf")):
            self._later[key] = due
            self._serial += 1
            heapq.heappush(self._heap, (due, self._serial, key))
            if self._waiters:
                self._set_alarm()

    def failed(self, key: K) -> float:
        """Work on `key` failed: it comes again after a growing pause, which is returned in seconds."""
        count = self._failures.get(key, 0)
        self._failures[key] = min(count + 1, 30)
        pause = float(min(BACKOFF_FIRST_SECONDS * 2**count, BACKOFF_MAX_SECONDS))
        self.add_after(key, pause)
        return pause

    def succeeded(self, key: K) -> None:
        self._failures.pop(key, None)

    def _release_due(self) -> None:
        now = self._clock()
        while self._heap and self._heap[0][0] <= now:
            due, _, key = heapq.heappop(self._heap)
            if self._later.get(key) == due:
                self.add(key)

    def take(self) -> K | None:
        """The next key, now marked as being worked on; None when nothing is ready."""
        self._release_due()
        if not self._ready:
            return None
        key = self._ready.popleft()
        del self._since[key]
        self._busy[key] = self._clock()
        return key

    def done(self, key: K) -> None:
        """Work on `key` ended, well or not."""
        self._busy.pop(key, None)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    async def get(self) -> K:
        """Waits for the next key."""
        while True:
            key = self.take()
            if key is not None:
                return key
            self._set_alarm()
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake_one()  # the key it was woken for is another's now
                raise

    def _wake_one(self) -> None:
        """Wakes one worker, and not all for one key."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _set_alarm(self) -> None:
        """One timer for the key that is due first, whoever waits."""
        if not self._heap:
            return
        due = self._heap[0][0]
        if self._alarm is not None and not self._alarm[1].cancelled():
            if self._alarm[0] <= due:
                return
            self._alarm[1].cancel()
        pause = max(0.0, due - self._clock())
        self._alarm = (due, asyncio.get_running_loop().call_later(pause, self._ring))

    def _ring(self) -> None:
        self._alarm = None
        self._wake_one()

    def oldest_seconds(self) -> float:
        """How long the longest-waiting or longest-worked-on key has been that; what health looks at."""
        oldest = min([*self._since.values(), *self._busy.values()], default=None)
        return 0.0 if oldest is None else self._clock() - oldest
