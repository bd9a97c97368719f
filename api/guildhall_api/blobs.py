"""Patches and long results: kept in history once they were fetched, since the gateway drops them with their Run.

Guards history against growing without end: of one Run's results only so many bytes are kept.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
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

    async def patch(self, sha256: str) -> bytes | None:
        """From history, else from the gateway, and then kept. None: nobody has it. Raises GatewayUnavailable."""
        return await self._get(sha256, keep=True)

    async def result(self, sha256: str) -> bytes | None:
        """The same for a result, which is kept while there is room."""
        return await self._get(sha256, keep=False)

    async def _get(self, sha256: str, *, keep: bool) -> bytes | None:
        data = await self._history.blob(self._key, sha256)
        if data is None:
            data = await self._gateway.blob(self._uid, sha256)
            if data is not None and (keep or await self._has_room(len(data))):
                await self._history.put_blob(self._key, sha256, data)
        return data

    async def _has_room(self, more: int) -> bool:
        return await self._history.blob_bytes(self._key) + more <= RESULTS_KEPT_PER_RUN_MAX_BYTES

    async def keep(self, patch: str | None) -> None:
        """Keep the patch, and every result there is room for. Gives up on a gateway that stays away."""
        if patch is not None and not await self._patiently(self.patch, patch):
            return
        names = {sha256: None async for sha256 in result_blobs(self._history, self._key)}
        for sha256 in names:
            if not await self._has_room(1) or not await self._patiently(self.result, sha256):
                log.info("not every result of Run %s is kept: the rest goes with the Run", self._uid)
                return

    async def _patiently(self, get: Callable[[str], Awaitable[bytes | None]], sha256: str) -> bool:
        """False where the gateway does not answer."""
        for attempt in range(_TRIES_COUNT):
            try:
                await get(sha256)
            except GatewayUnavailable as error:
                log.warning("a blob of Run %s is not kept yet: %s", self._uid, error)
                await asyncio.sleep(attempt)
            else:
                return True
        return False
