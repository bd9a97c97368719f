"""Tells who watches a Run what the gateway has booked, seconds before Run status says so.

Guards against money that lags behind the picture: the gateway writes a Run's status every few seconds at most.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from guildhall_contracts.run import Usage

from guildhall_api.gateway import GatewayClient, GatewayUnavailable
from guildhall_api.hub import message
from guildhall_api.live import LiveRun

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 1.0
_ASK_SECONDS: Final = 2.0
_AT_ONCE_MAX_COUNT: Final = 8

Spent = tuple[int, int, int | None]


class Booked:
    """Asks the ledger about a watched Run once after each model call that its log tells of."""

    def __init__(self, gateway: GatewayClient, runs: Mapping[str, LiveRun]) -> None:
        self._gateway = gateway
        self._runs = runs
        self._asked: dict[str, Spent] = {}
        self._slots = asyncio.Semaphore(_AT_ONCE_MAX_COUNT)

    async def run(self) -> None:
        """For ever. A gateway that is silent is asked again."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except Exception:
                log.exception("looking at the ledger failed")

    async def look(self) -> None:
        """Ask about every watched Run that spent since it was asked about."""
        watched = [run for run in self._runs.values() if run.channel.viewers and not run.sealed]
        self._asked = {run.uid: self._asked[run.uid] for run in watched if run.uid in self._asked}
        due = [run for run in watched if self._asked.get(run.uid) != _spent(run)]
        await asyncio.gather(*(self._ask(run) for run in due))

    async def _ask(self, run: LiveRun) -> None:
        spent = _spent(run)
        try:
            async with self._slots, asyncio.timeout(_ASK_SECONDS):
                ledger = await self._gateway.ledger(run.uid)
        except (GatewayUnavailable, TimeoutError):
            return
        self._asked[run.uid] = spent
        if ledger is None:
            return
        before = run.shown
        totals = ledger.totals.model_dump(include=set(Usage.model_fields))
        run.booked = Usage.model_validate(totals).to_wire()
        if run.shown != before:
            run.channel.tell(message("status", run.shown))


def _spent(run: LiveRun) -> Spent:
    """What the log tells of model calls; it changes when one ends."""
    return run.model.tokens, run.model.output, run.model.cost
