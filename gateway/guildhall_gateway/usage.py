"""Writes what the ledger knows into Run status: at most once in a few seconds for each Run, and once at its end."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from guildhall_contracts.base import dollars
from guildhall_contracts.model_api import LedgerTotals
from guildhall_contracts.run import Awaiting, Usage

from guildhall_gateway.runs import RunSource, RunView, StatusSink

log = logging.getLogger(__name__)

THROTTLE_SECONDS: Final = 5.0
FAILED_RETRY_SECONDS: Final = 5.0
TICK_SECONDS: Final = 0.5

Figures = Callable[[RunView], Awaitable[tuple[LedgerTotals, Awaiting]]]


def status_of(totals: LedgerTotals, awaiting: Awaiting) -> dict[str, Any]:
    """The gateway's own fields of Run status; pure."""
    usage = Usage.model_validate(totals.model_dump(include=set(Usage.model_fields)))
    cost = "unknown" if totals.cost_micro_usd is None else dollars(totals.cost_micro_usd)
    return {"usage": usage.to_wire(), "cost": cost, "awaiting": awaiting.to_wire()}


class UsageWriter:
    """Keeps a set of Runs whose figures changed, and writes each when its time has come."""

    def __init__(
        self, source: RunSource, sink: StatusSink, figures: Figures, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._source = source
        self._sink = sink
        self._figures = figures
        self._clock = clock
        self._due: dict[str, float] = {}
        self._written: dict[str, tuple[float, dict[str, Any]]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._loop())

    async def stop(self) -> None:
        """Write what is due, then end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for uid in list(self._due):
            await self._write(uid)

    def healthy(self) -> bool:
        return self._task is not None and not self._task.done()

    def changed(self, run: str, *, now: bool = False) -> None:
        """Figures of `run` changed; `now` for what a person waits for."""
        last = self._written.get(run, (-THROTTLE_SECONDS, {}))[0]
        at = self._clock() if now else max(self._clock(), last + THROTTLE_SECONDS)
        self._due[run] = min(at, self._due.get(run, at))

    def forget(self, run: str) -> None:
        self._due.pop(run, None)
        self._written.pop(run, None)

    async def _loop(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            for uid, at in list(self._due.items()):
                if at <= self._clock():
                    await self._write(uid)

    async def _write(self, uid: str) -> None:
        self._due.pop(uid, None)
        run = self._source.run(uid)
        if run is None:
            self._written.pop(uid, None)
            return
        try:
            status = status_of(*await self._figures(run))
            if self._written.get(uid, (0.0, None))[1] != status:
                await self._sink.write_run(run, status)
                if self._source.run(uid) is not None:  # it may have been deleted meanwhile
                    self._written[uid] = (self._clock(), status)
        except OSError as error:
            if getattr(error, "status", 0) in (404, 409):
                self.forget(uid)  # deleted, or another Run has its name now
                return
            log.warning("status of run %s/%s: %s", run.namespace, run.name, error)
            self._due[uid] = self._clock() + FAILED_RETRY_SECONDS
        except Exception:
            log.exception("status of run %s/%s", run.namespace, run.name)
