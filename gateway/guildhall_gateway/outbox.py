"""What is to be written to the cluster, kept until it is: for each object the newest, one after another.

Guards against a write that is lost when the API server is away; what waits is at most one for each object it holds.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from guildhall_gateway.kube import KubeError

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 2.0

Letter = TypeVar("Letter")


class Outbox(Generic[Letter]):
    """Letters by the uid of their object; `write` raises OSError when one was not taken.

    `over`: the statuses at which there is nobody left to tell, so that it is not tried again."""

    def __init__(self, what: str, write: Callable[[Letter], Awaitable[None]], over: frozenset[int]) -> None:
        self._what = what
        self._write = write
        self._over = over
        self._letters: OrderedDict[str, Letter] = OrderedDict()
        self._work = asyncio.Event()

    def put(self, uid: str, letter: Letter) -> None:
        self._letters[uid] = letter
        self._work.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._work.wait()
            self._work.clear()
            while self._letters:
                uid, letter = self._letters.popitem(last=False)
                try:
                    await self._write(letter)
                except OSError as error:
                    await self._again(uid, letter, error)

    async def _again(self, uid: str, letter: Letter, error: OSError) -> None:
        if isinstance(error, KubeError) and error.status in self._over:
            return
        log.warning("%s: %s", self._what, error)
        self._letters.setdefault(uid, letter)  # a newer one may have come
        await asyncio.sleep(RETRY_SECONDS)
