"""Who waits for money that calls under way hold. Guards the store against being asked again and again meanwhile."""

import asyncio
import contextlib
import itertools
from collections.abc import Iterable
from typing import Final

LOOK_SECONDS: Final = 2.0  # calls of other gateways settle without a word to this one


class Room:
    """Those who wait, by the scope that has no room for them. They are woken one by one, in the order they came."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[int, asyncio.Event]] = {}
        self._tickets = itertools.count()

    def ticket(self) -> int:
        """A place in line, to be kept however often one has to wait."""
        return next(self._tickets)

    async def wait(self, scope: str, ticket: int) -> None:
        """Until there may be room in `scope`, or a short while."""
        line = self._lines.setdefault(scope, {})
        line[ticket] = asyncio.Event()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await line[ticket].wait()
        finally:
            del line[ticket]
            if not line:
                self._lines.pop(scope, None)

    def changed(self, scopes: Iterable[str]) -> None:
        """A call that these pay for has settled, or got its room and may have left some: the next one looks."""
        for scope in scopes:
            asleep = [(ticket, woken) for ticket, woken in self._lines.get(scope, {}).items() if not woken.is_set()]
            if asleep:
                min(asleep, key=lambda place: place[0])[1].set()
