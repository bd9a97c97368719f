"""What is to be done in the cluster, kept until it is: for each object the newest, one after another.

Guards against a write that is lost when the API server is away, and against one that is refused holding up the others.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from guildhall_gateway.kube import KubeError

log = logging.getLogger(__name__)

RETRY_FIRST_SECONDS: Final = 2.0
RETRY_MAX_SECONDS: Final = 30.0
REFUSED_MAX_COUNT: Final = 8  # in a row and two minutes: then what was refused is given up
REFUSED: Final = frozenset({403, 422})

Letter = TypeVar("Letter")


@dataclass(slots=True)
class Failed:
    """How often in a row an object's letters were not taken, and were refused by the API server."""

    times: int = 0
    refused: int = 0


class Outbox(Generic[Letter]):
    """Letters by the uid of their object; `write` raises OSError when one was not taken.

    Its object's letters then rest, twice as long each time. `over`: the statuses at which there is nobody left to tell,
    so that it is not tried again; `refused`: those at which it is given up in the end, with one line in the log."""

    def __init__(
        self,
        what: str,
        write: Callable[[Letter], Awaitable[None]],
        over: frozenset[int] = frozenset(),
        refused: frozenset[int] = REFUSED,
    ) -> None:
        self._what = what
        self._write = write
        self._over = over
        self._refused = refused
        self._ready: OrderedDict[str, Letter] = OrderedDict()
        self._resting: dict[str, tuple[Letter, asyncio.TimerHandle]] = {}
        self._failed: dict[str, Failed] = {}
        self._work = asyncio.Event()

    def put(self, uid: str, letter: Letter) -> None:
        """Write it in its turn; where an earlier one of its object rests, when that is over."""
        if uid in self._resting:
            self._resting[uid] = (letter, self._resting[uid][1])
            return
        self._ready[uid] = letter
        self._work.set()

    def forget(self, uid: str) -> None:
        """Its object is gone."""
        self._ready.pop(uid, None)
        self._failed.pop(uid, None)
        if uid in self._resting:
            self._resting.pop(uid)[1].cancel()

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                await self._work.wait()
                self._work.clear()
                while self._ready:
                    await self._send(*self._ready.popitem(last=False))
        finally:
            for _, timer in self._resting.values():
                timer.cancel()

    async def _send(self, uid: str, letter: Letter) -> None:
        try:
            await self._write(letter)
        except OSError as error:
            status = error.status if isinstance(error, KubeError) else 0
            if status not in self._over:
                self._again(uid, letter, error, refused=status in self._refused)
                return
        self._failed.pop(uid, None)

    def _again(self, uid: str, letter: Letter, error: OSError, *, refused: bool) -> None:
        failed = self._failed.setdefault(uid, Failed())
        failed.times += 1
        failed.refused = failed.refused + 1 if refused else 0
        if failed.refused >= REFUSED_MAX_COUNT:  # kept in mind: a later letter of this object gets one try
            if failed.refused == REFUSED_MAX_COUNT:
                log.error("%s: given up after %d refusals: %s", self._what, failed.refused, error)
            return
        if failed.times == 1:
            log.warning("%s: %s; trying again", self._what, error)
        pause = min(RETRY_FIRST_SECONDS * 2 ** min(failed.times - 1, 10), RETRY_MAX_SECONDS)
        timer = asyncio.get_running_loop().call_later(pause, self._wake, uid)
        self._resting[uid] = (self._ready.pop(uid, letter), timer)  # a newer one may have come

    def _wake(self, uid: str) -> None:
        letter, _ = self._resting.pop(uid)
        self.put(uid, letter)
