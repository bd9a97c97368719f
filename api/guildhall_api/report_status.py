"""Writes the api's own fields of a Run's status: every two seconds at most while it runs, at once at its end."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Literal

from guildhall_contracts.limits import LOG_AHEAD_MAX_BYTES, SEAL_WAIT_SECONDS

from guildhall_api.kube import KubeError
from guildhall_api.live import LiveRun
from guildhall_api.source import RunSource
from guildhall_api.summaries import status_of

log = logging.getLogger(__name__)

REPORT_SECONDS: Final = 2.0
RESEND_ROUND_SECONDS: Final = 20.0
RESEND_PAUSE_SECONDS: Final = 3.0
TAIL_WAIT_SECONDS: Final = 15.0  # for a pod that prints the end again; there may be no end to print
_LAST_TRIES_SECONDS: Final = (0.2, 1, 2, 5, 10, 20, 20)
_URGENT_BYTES: Final = LOG_AHEAD_MAX_BYTES // 4


def resend_step(elapsed_seconds: float) -> Literal["ask", "pause", "give_up"]:
    """What to do about a hole that old. The pause makes the next asking a change that the mailbox sees."""
    if elapsed_seconds >= SEAL_WAIT_SECONDS:
        return "give_up"
    left = RESEND_ROUND_SECONDS - elapsed_seconds % RESEND_ROUND_SECONDS
    return "pause" if left <= RESEND_PAUSE_SECONDS else "ask"


class Reporter:
    """Tells the cluster how far one Run is stored and how it ended."""

    def __init__(self, run: LiveRun, source: RunSource, clock: Callable[[], float]) -> None:
        self._run = run
        self._source = source
        self._clock = clock
        self._dirty = asyncio.Event()
        self._urgent = asyncio.Event()
        self._writing = asyncio.Lock()
        self._bytes = 0
        self._hole: tuple[int, float] | None = None
        self._written: object = None

    def note(self, stored_bytes: int) -> None:
        """Something was stored; an executor far ahead of us waits to hear of it."""
        self._bytes += stored_bytes
        self._dirty.set()
        if self._bytes >= _URGENT_BYTES or self._run.model.ended:
            self._urgent.set()

    async def run(self) -> None:
        """For ever; a failed write is tried again."""
        while True:
            await self._until_due()
            self._dirty.clear()
            self._urgent.clear()
            await self.report()
            await _waited(self._urgent, REPORT_SECONDS)

    async def _until_due(self) -> None:
        await _waited(self._dirty, None if self._run.missing_from is None else 1.0)

    async def report_at_last(self) -> None:
        """Write the end, trying for a minute: an executor waits for it, and the operator before it cleans up."""
        for seconds in _LAST_TRIES_SECONDS:
            if await self.report():
                return
            await asyncio.sleep(seconds)

    async def report(self) -> bool:
        """Write what changed since the last write; whether nothing is left to write."""
        async with self._writing:
            return await self._write()

    async def _write(self) -> bool:
        run = self._run
        resend_from = self._resend_from()  # first: it may give up a hole, which moves what counts as stored
        status = status_of(run.run_wire, run.intake.stored_seq, resend_from)
        self._bytes = 0
        if status == self._written or run.deleted or not run.run_wire:
            return True
        try:
            await self._source.apply_status(run.namespace, run.name, run.uid, status)
        except KubeError as error:
            if error.status in {404, 409}:  # it is gone, or another of its name came
                return True
            log.warning("the status of Run %s was not written: %s", run.uid, error)
            self._dirty.set()
            return False
        self._written = status
        return True

    def _resend_from(self) -> int | None:
        run, now = self._run, self._clock()
        first = run.missing_from
        if first is None:
            self._hole = None
            return None
        if self._hole is None or self._hole[0] != first or run.resending:
            self._hole = (first, now)
        elapsed = now - self._hole[1]
        step = resend_step(elapsed)
        if step == "give_up" or (not run.intake.holes and elapsed >= TAIL_WAIT_SECONDS):
            self._give_up()
            return self._resend_from()
        return first if step == "ask" else None

    def _give_up(self) -> None:
        """Nobody sends it: the first hole, or the end of the log."""
        run = self._run
        hole = run.intake.give_up()
        if hole is None:
            run.tail = "lost"
        log.warning("events %s of Run %s are lost: nobody sent them again", hole or "at the end", run.uid)
        run.changed.set()


async def _waited(event: asyncio.Event, seconds: float | None) -> None:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return
