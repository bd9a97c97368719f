"""Open sessions, one for each Connection and Run: what a server remembers of one Run, no other Run gets to see.

Guards calls under way: a session is closed for room, for age or after a fault only when nothing is called in it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakValueDictionary

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


@dataclass(slots=True, eq=False)
class _Held:
    """A session and the calls under way in it. `over`: the last of them closes it."""

    session: AnySession
    calls: int = 0
    over: bool = False


class Pool:
    """Sessions by (Connection, Run), the one used longest ago first."""

    def __init__(self, make: Callable[[Target], AnySession], clock: Callable[[], float]) -> None:
        self._make = make
        self._clock = clock
        self._open: OrderedDict[Key, _Held] = OrderedDict()
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()

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
        held = await self._held(key, target)
        held.calls += 1
        try:
            await self._make_room()
            return await held.session.call(call_id, tool, arguments)
        except Problem:
            held.over = True
            if self._open.get(key) is held:
                del self._open[key]
            raise
        finally:
            held.calls -= 1
            if held.over and not held.calls:
                await held.session.close()

    async def _held(self, key: Key, target: Callable[[], Awaitable[Target]]) -> _Held:
        async with self._locks.setdefault(key, asyncio.Lock()):
            held = self._open.pop(key, None)
            if held is not None and not held.session.usable:
                await held.session.close()
                held = None
            if held is None:
                held = _Held(self._make(await target()))
                await held.session.open()
            held.session.used_at = self._clock()
            self._open[key] = held
        return held

    async def _make_room(self) -> None:
        """Close the session unused for longest. Raises Problem where a call is under way in each."""
        while len(self._open) > limits.EXTERNAL_SESSIONS_MAX_COUNT:
            unused = next((key for key, held in self._open.items() if not held.calls), None)
            if unused is None:
                busy = f"all {limits.EXTERNAL_SESSIONS_MAX_COUNT} sessions with external tools are busy"
                raise Problem("Unreachable", f"{busy}; call it again later")
            await self._open.pop(unused).session.close()

    async def close(self, *, connection: str | None = None, run: str | None = None, unused_since: float = 0) -> None:
        """Close the sessions of a Connection, of a Run, those not used since a time, or all."""
        chosen = [
            key
            for key, held in self._open.items()
            if (connection or key[0]) == key[0] and (run or key[1]) == key[1]
            and not (unused_since and (held.calls or held.session.used_at >= unused_since))
        ]  # fmt: skip
        sessions = [self._open.pop(key).session for key in chosen]
        await asyncio.gather(*(session.close() for session in sessions))

    def __len__(self) -> int:
        return len(self._open)
