"""How long Runs stay in history: one that is gone, for the configured time; a private one, until its own time is over.

Guards against private words that outlive their time: deleting, restarting or listing such a Run keeps it no longer.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from guildhall_contracts.events import Unreadable, decode_event
from sqlalchemy.exc import SQLAlchemyError

from guildhall_api.config import Config
from guildhall_api.fold import close
from guildhall_api.history import History
from guildhall_api.live import fold_stored, seal
from guildhall_api.records import StoredRun
from guildhall_api.resources import Resource
from guildhall_api.summaries import TERMINAL_PHASES, closing_status, part, phase_name, summary_deleted
from guildhall_api.times import now_stamp, seconds_of

log = logging.getLogger(__name__)

_EXPIRE_SECONDS: Final = 60.0


def is_private(resource: Resource) -> bool:
    return part(resource, "spec", "private") is True


def private_seconds(resource: Resource, default_seconds: int) -> int:
    """How long a private Run stays after its end; `resource` is it, or what history keeps of it (`detail`)."""
    wanted = part(resource, "spec", "retainSeconds")
    return wanted if isinstance(wanted, int) else default_seconds


def private_end(resource: Resource, default_seconds: int, now: float) -> float:
    """When a private Run that has ended is to be forgotten, in seconds since 1970; without a known end, from `now`."""
    ended_at = seconds_of(part(resource, "status", "completionTime"))
    return (now if ended_at is None else ended_at) + private_seconds(resource, default_seconds)


def expiry_of_gone(stored: StoredRun, retain_seconds: int, private_default_seconds: int, now: float) -> float:
    """When a Run whose resource is gone is to be forgotten: being deleted keeps it no longer than it was to stay."""
    seconds = private_seconds(stored.detail, private_default_seconds) if stored.private else retain_seconds
    return now + seconds if stored.expires_at is None else min(now + seconds, stored.expires_at)


class Retention:
    """Sets and keeps the time of each Run. Times are of `clock`, in seconds since 1970."""

    def __init__(self, config: Config, history: History, clock: Callable[[], float] = time.time) -> None:
        self._config = config
        self._history = history
        self._clock = clock

    async def run(self) -> None:
        """For ever: remove what is over."""
        while True:
            try:
                await self._history.expire(self._clock())
            except SQLAlchemyError:
                log.exception("expiring old Runs failed")
            await asyncio.sleep(_EXPIRE_SECONDS)

    def expiry(self, resource: Resource) -> float | None:
        """When a Run that has ended, but exists, is to be forgotten; None: not while it exists."""
        if not is_private(resource):
            return None
        return private_end(resource, self._config.private_retain_seconds, self._clock())

    def is_over(self, resource: Resource) -> bool:
        """Whether it is to be forgotten though the cluster still has it."""
        expiry = self.expiry(resource) if phase_name(resource) in TERMINAL_PHASES else None
        return expiry is not None and expiry <= self._clock()

    async def gone(self, uid: str) -> None:
        """The resource is deleted: close what was not, and keep it for its time."""
        stored = await self._history.find(uid=uid)
        if stored is None:
            return
        if not stored.sealed:
            await self._seal_orphan(stored)
        config, now = self._config, self._clock()
        expires_at = expiry_of_gone(stored, config.retain_seconds, config.private_retain_seconds, now)
        run_wire = await self._history.snapshot_run(stored.key) or {}
        await self._history.gone(uid, summary_deleted(stored.summary, run_wire), expires_at)

    async def _seal_orphan(self, stored: StoredRun) -> None:
        """A Run deleted while nobody watched: what is stored is all there will be, and its last event the end."""
        model = await fold_stored(self._history, stored.key, stored.unreadable)
        phase = stored.summary.get("phase")
        status = closing_status({"status": {"phase": phase}}) if phase in TERMINAL_PHASES else "cancelled"
        close(model, await self._last_stamp(stored.key) or now_stamp(), status)
        await seal(self._history, stored.key, model)

    async def _last_stamp(self, key: int) -> str | None:
        for seq, line in await self._history.last_lines(key, 1):
            event = decode_event(line, seq - 1)
            return None if isinstance(event, Unreadable) else event.ts
        return None
