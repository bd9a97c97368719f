"""Patches and long results: kept in history once they were fetched, since the gateway drops them with their Run.

Guards history against growing without end: of one Run's results only so many bytes are kept.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Final

from guildhall_contracts.event_work import ToolFinished
from guildhall_contracts.events import decode_event
from guildhall_contracts.limits import RESULTS_KEPT_PER_RUN_MAX_BYTES

from guildhall_api.gateway import GatewayClient, GatewayUnavailable
from guildhall_api.history import History

log = logging.getLogger(__name__)

_TRIES_COUNT: Final = 3


def result_blob(line: bytes) -> str | None:
    """The blob that an event names as its tool's whole output; None where it names none."""
    event = decode_event(line) if b'"blob"' in line else None
    return event.blob if isinstance(event, ToolFinished) else None


async def result_blobs(history: History, key: int) -> AsyncIterator[str]:
    """What the results of a Run name, in order."""
    async for line in history.of_type(key, "tool.finished"):
        sha256 = result_blob(line)
        if sha256 is not None:
            yield sha256


class Blobs:
    """The blobs of one Run, by its key in history and its uid at the gateway."""

    def __init__(self, history: History, gateway: GatewayClient, key: int, uid: str) -> None:
        self._history = history
        self._gateway = gateway
        self._key = key
        self._uid = uid

    async def get(self, sha256: str) -> bytes | None:
        """From history, else from the gateway, and then kept. None: nobody has it. Raises GatewayUnavailable."""
        data = await self._history.blob(self._key, sha256)
        if data is None:
            data = await self._gateway.blob(self._uid, sha256)
            if data is not None:
                await self._history.put_blob(self._key, sha256, data)
        return data

    async def keep(self, patch: str | None) -> None:
        """Keep the patch, and results in their order while there is room. Gives up on a gateway that stays away."""
        if patch is not None and await self._patiently(patch) is None:
            return
        room = RESULTS_KEPT_PER_RUN_MAX_BYTES
        names = {sha256: None async for sha256 in result_blobs(self._history, self._key)}
        for sha256 in names:
            size = await self._patiently(sha256)
            room -= size or 0
            if size is None or room <= 0:
                log.info("not every result of Run %s is kept: the rest goes with the Run", self._uid)
                return

    async def _patiently(self, sha256: str) -> int | None:
        """Its size; 0 where nobody has it, None where the gateway does not answer."""
        for attempt in range(_TRIES_COUNT):
            try:
                return len(await self.get(sha256) or b"")
            except GatewayUnavailable as error:
                log.warning("a blob of Run %s is not kept yet: %s", self._uid, error)
                await asyncio.sleep(attempt)
        return None
