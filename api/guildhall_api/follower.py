"""Follows one Run's log until the Run is sealed: read, take in, store, fold, show, report; in that order.

Guards against everything that happens to a log on its way: cut, repeated, rotated, delayed, gone.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Final

from guildhall_contracts.backoff import failures_after, pause_after
from guildhall_contracts.events import Unreadable
from sqlalchemy.exc import SQLAlchemyError

from guildhall_api.blobs import Blobs
from guildhall_api.fold import close
from guildhall_api.gateway import GatewayClient
from guildhall_api.history import History
from guildhall_api.hub import Item, message
from guildhall_api.intake import LINE_MAX_BYTES, Taken, is_stamped
from guildhall_api.kube import IDLE, KubeError
from guildhall_api.lines import Line, LineSplitter
from guildhall_api.live import LiveRun, Target, item_of, seal
from guildhall_api.report_status import Reporter
from guildhall_api.source import RunSource
from guildhall_api.summaries import closing_status, part
from guildhall_api.times import now_stamp, stamp_of

log = logging.getLogger(__name__)

RETRY_FIRST_SECONDS: Final = 0.2
RETRY_MAX_SECONDS: Final = 10.0
BATCH_MAX_COUNT: Final = 500
REFOLD_SECONDS: Final = 2.0


class Kubelet(Exception):  # noqa: N818
    """A line without a stamp: the kubelet's own words in place of the log."""


class Follower:
    """Reads the logs of one Run."""

    def __init__(self, run: LiveRun, source: RunSource, history: History, gateway: GatewayClient) -> None:
        self._run = run
        self._source = source
        self._history = history
        self._gateway = gateway
        self._drained: set[str] = set()
        self._read_before: set[str] | None = None  # pods that had printed again when the Run's end was asked for
        self._began = time.monotonic()  # when the log was asked for last
        self._failures = 0  # in a row
        self._stale_since: float | None = None
        self.reporter = Reporter(run, source, time.monotonic)

    async def run(self) -> None:
        """Until the Run is sealed; reading and reporting end together. Raises ExceptionGroup of what broke either."""
        async with asyncio.TaskGroup() as group:
            reporting = group.create_task(self.reporter.run())
            await self._run.reload(self._history)
            while not await self._step():
                pass
            await self._refresh(0)
            await self._seal()
            reporting.cancel()

    async def _step(self) -> bool:
        """One connection, or one wait; True when nothing more will come."""
        run = self._run
        if run.model.ended and not run.intake.holes:
            return True
        target = next((each for each in run.targets() if each.uid not in self._drained), None)
        if target is None:
            if run.over and not run.intake.holes and not self._awaits_end():
                return True
            await self._wait(RETRY_MAX_SECONDS if run.missing_from is None else 1.0)
            return False
        run.intake.follow(target.uid, target.attempt)
        self._began = time.monotonic()
        try:
            await self._read(target)
            await self._refresh(0)
        except (KubeError, Kubelet) as error:
            await self._failed(target, error)
        except SQLAlchemyError:
            log.exception("storing events of Run %s failed; reading again from what is stored", run.uid)
            await asyncio.sleep(self._pause())
            await run.reload(self._history)
        return False

    def _awaits_end(self) -> bool:
        """Whether the end of the log may still come: it is asked for, and nobody who printed it again is done."""
        run = self._run
        if not run.end_is_missing():
            return False
        read = run.resend_pods() & self._drained
        if self._read_before is None:
            run.tail, self._read_before = "wanted", read
            self.reporter.note(0)
        elif read - self._read_before:
            run.tail = "lost"  # what was printed again had no end either
            return False
        return True

    async def _failed(self, target: Target, error: Exception) -> None:
        if isinstance(error, KubeError) and error.status == 404:
            log.warning("the log of pod %s of Run %s is gone", target.pod, self._run.uid)
            self._drained.add(target.uid)
            return
        pause = self._pause()
        log.info("the log of pod %s of Run %s broke off, again in %.1f s: %s", target.pod, self._run.uid, pause, error)
        await asyncio.sleep(pause)

    def _pause(self) -> float:
        """Seconds to wait now that the connection gave nothing more: the longer, the more did so in a row."""
        lived = time.monotonic() - self._began
        self._failures = failures_after(self._failures, lived, RETRY_MAX_SECONDS)
        return pause_after(self._failures, RETRY_FIRST_SECONDS, RETRY_MAX_SECONDS)

    async def _wait(self, seconds: float) -> None:
        self._run.changed.clear()
        try:
            await asyncio.wait_for(self._run.changed.wait(), seconds)
        except TimeoutError:
            return

    async def _read(self, target: Target) -> None:
        """One connection to the log, to its end. A pod that had ended before it was opened has been read whole."""
        run, ended_before, before = self._run, target.ended, self._run.cursor
        opened = self._source.log(run.namespace, target.pod, run.intake.since(), follow=not ended_before)
        try:
            async with opened as chunks:
                await self._take_all(chunks, ended=ended_before)
        except KubeError as error:
            if error.reason != IDLE:
                raise
            self._failures = 0  # a silent log has not failed: listen again at once
            return
        if ended_before:
            self._drained.add(target.uid)
        elif run.cursor == before:
            await asyncio.sleep(self._pause())

    async def _take_all(self, chunks: AsyncIterator[bytes], *, ended: bool) -> None:
        splitter = LineSplitter(LINE_MAX_BYTES)
        async for chunk in chunks:
            batch: list[Line] = []
            for line in splitter.feed(chunk):
                if not is_stamped(line):
                    await self._store(batch)
                    raise Kubelet(line.data[:200].decode("utf-8", "backslashreplace"))
                batch.append(line)
                if len(batch) >= BATCH_MAX_COUNT:
                    await self._store(batch)
                    batch = []
            await self._store(batch)
            if self._run.model.ended and not self._run.intake.holes:
                return
        rest = splitter.rest()
        if rest is not None and is_stamped(rest) and ended:
            await self._store([rest])  # a line the executor could not end

    async def _store(self, lines: list[Line]) -> None:
        """Store a batch, then fold it, then show it."""
        run, taken, rows = self._run, list[Taken](), list[Unreadable]()
        items: list[Item] = []
        last, repaired = run.intake.last_seq, False
        for line in lines:
            thing = run.intake.take(line)
            if isinstance(thing, Unreadable):
                rows.append(thing)
            elif thing is not None:
                taken.append(thing)
                repaired = repaired or thing.seq <= last
            if thing is not None:
                items.append(item_of(run.cursor, thing))
        if not items:
            return
        await self._history.append(run.key, run.intake, taken, rows)
        self._failures = 0
        run.take_in(taken)
        if repaired and self._stale_since is None:
            self._stale_since = time.monotonic()
        if self._stale_since is None:
            run.channel.publish(items)
        else:
            await self._refresh(REFOLD_SECONDS if run.intake.holes else 0)
        self.reporter.note(sum(len(each.line) for each in taken))

    async def _refresh(self, seconds: float) -> None:
        """Fold again what a repair changed, once it is `seconds` old: a repair comes in many small pieces."""
        if self._stale_since is None or time.monotonic() - self._stale_since < seconds:
            return
        self._stale_since = None
        await self._run.refold(self._history)
        self._run.channel.resync("repaired")

    async def _seal(self) -> None:
        """Keep the fold. A log without an end is closed with what the Run resource says."""
        run = self._run
        if not run.model.ended:
            ended_at = part(run.resource, "status", "completionTime")
            close(run.model, stamp_of(ended_at) or now_stamp(), closing_status(run.resource))
            run.run_wire = run.model.run_to_wire()
        await self.reporter.report_at_last()  # before sealing: whoever dies in between comes here again
        blobs = Blobs(self._history, self._gateway, run.key, run.uid)
        await blobs.keep(run.run_wire.get("patchSHA256"))
        await seal(self._history, run.key, run.model)
        run.sealed = True
        run.forget()
        run.channel.tell(message("end", {"lastSeq": run.intake.last_seq}, last=True))
