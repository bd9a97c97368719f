"""Open sessions, one for each Connection and Run: what a server remembers of one Run, no other Run gets to see."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from guildhall_contracts import limits

from guildhall_gateway.adapters.target import Problem, Said, Target

Key = tuple[str, str]


class AnySession(Protocol):
    """A session as the pool uses it."""

    used_at: float

    @property
    def usable(self) -> bool: ...

    async def open(self) -> None: ...

    async def call(self, call_id: str, tool: str, arguments: dict[str, Any]) -> Said: ...

    async def close(self) -> None: ...


class Pool:
    """Sessions by (Connection, Run), the one used longest ago first."""

    def __init__(self, make: Callable[[Target], AnySession], clock: Callable[[], float]) -> None:
        self._make = make
        self._clock = clock
        self._open: OrderedDict[Key, AnySession] = OrderedDict()
        self._locks: dict[Key, asyncio.Lock] = {}

    async def call(
        self, key: Key, target: Callable[[], Awaitable[Target]], call_id: str, tool: str, arguments: dict[str, Any]
    ) -> Said:
        """Make a call; once more in a new session where the first attempt certainly was not taken. Raises Problem."""
        try:
            return await self._once(key, target, call_id, tool, arguments)
        except Problem as problem:
            if problem.taken:
                raise
        return await self._once(key, target, call_id, tool, arguments)

    async def _once(
        self, key: Key, target: Callable[[], Awaitable[Target]], call_id: str, tool: str, arguments: dict[str, Any]
    ) -> Said:
        session = await self._session(key, target)
        try:
            return await session.call(call_id, tool, arguments)
        except Problem:
            await self._drop(key, session)
            raise

    async def _session(self, key: Key, target: Callable[[], Awaitable[Target]]) -> AnySession:
        async with self._locks.setdefault(key, asyncio.Lock()):
            session = self._open.pop(key, None)
            if session is not None and not session.usable:
                await session.close()
                session = None
            if session is None:
                session = self._make(await target())
                await session.open()
            session.used_at = self._clock()
            self._open[key] = session
        while len(self._open) > limits.EXTERNAL_SESSIONS_MAX_COUNT:
            _, oldest = self._open.popitem(last=False)
            await oldest.close()
        return session

    async def _drop(self, key: Key, session: AnySession) -> None:
        if self._open.get(key) is session:
            del self._open[key]
        await session.close()

    async def close(self, *, connection: str | None = None, run: str | None = None, unused_since: float = 0) -> None:
        """Close the sessions of a Connection, of a Run, those not used since a time, or all."""
        chosen = [
            key
            for key, session in self._open.items()
            if (connection or key[0]) == key[0] and (run or key[1]) == key[1]
            and not (unused_since and session.used_at >= unused_since)
        ]  # fmt: skip
        sessions = [self._open.pop(key) for key in chosen]
        for key in chosen:
            self._locks.pop(key, None)
        await asyncio.gather(*(session.close() for session in sessions))

    def __len__(self) -> int:
        return len(self._open)
