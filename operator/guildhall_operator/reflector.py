"""A live copy of one collection: list, watch, and list again whenever the watch cannot be trusted.

Guards against being deaf: a stream that ended, a 410, an unreadable event and silence all lead to a new list, and how
long nothing was heard is there for health to see.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from guildhall_contracts.backoff import failures_after, pause_after

from guildhall_operator.client import Kube, KubeError, list_all
from guildhall_operator.records import mapping, number, text

WATCH_SECONDS: Final = 60  # asked of the server, which may say nothing for all of it: not every kind has bookmarks
IDLE_SECONDS: Final = 75.0  # a connection that is dead, then
RELIST_SECONDS: Final = 600.0
BACKOFF_FIRST_SECONDS: Final = 0.5
BACKOFF_MAX_SECONDS: Final = 15.0
DEAF_SECONDS: Final = 180.0
NOT_SERVED: Final = " (is the chart guildhall-crds as new as this one? helm upgrade --install guildhall-crds)"

logger = logging.getLogger(__name__)
Clock = Callable[[], float]


def _pause(failures: int) -> float:
    return pause_after(failures, BACKOFF_FIRST_SECONDS, BACKOFF_MAX_SECONDS)


class Expired(Exception):  # noqa: N818  reads as what it says
    """The watch cannot go on from where it was; list again."""


@dataclass(frozen=True, slots=True)
class Sink:
    """Where a copy goes: `replace` gets every object of a fresh list, `change` one event's type and object."""

    replace: Callable[[list[dict[str, Any]]], None]
    change: Callable[[str, dict[str, Any]], None]


class Reflector:
    """Keeps one collection's sink up to date."""

    def __init__(
        self,
        kube: Kube,
        path: str,
        sink: Sink,
        *,
        params: Mapping[str, str] | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._kube = kube
        self.path = path
        self._sink = sink
        self._params = dict(params or {})
        self._clock = clock
        self._heard = clock()
        self.synced = asyncio.Event()

    @property
    def silent_seconds(self) -> float:
        """How long since the server last said anything on this collection."""
        return self._clock() - self._heard

    def problem(self) -> str:
        """Why this copy must not be trusted; empty when it may."""
        silent = self.silent_seconds
        return f"watch of {self.path} has heard nothing for {silent:.0f} s" if silent > DEAF_SECONDS else ""

    async def run(self) -> None:
        """Never returns; every failure is logged and tried again, the later the more of them follow one another."""
        failures = 0
        while True:
            began = self._clock()
            try:
                await self._once()
                failures = 0
            except Expired:
                logger.info("watch of %s is out of date; listing again", self.path)
                failures = 0
            except KubeError as error:
                failures = failures_after(failures, self._clock() - began, BACKOFF_MAX_SECONDS)
                hint, pause = NOT_SERVED if error.code == 404 else "", _pause(failures)
                logger.warning("watch of %s failed: %s%s; trying again in %.1f s", self.path, error, hint, pause)
            await asyncio.sleep(_pause(failures))

    async def _once(self) -> None:
        items, version = await list_all(self._kube, self.path, self._params)
        self._heard = self._clock()
        self._sink.replace(items)
        self.synced.set()
        until = self._clock() + RELIST_SECONDS
        while self._clock() < until:
            began = self._clock()
            version = await self._stream(version)
            if self._clock() - began < BACKOFF_FIRST_SECONDS:  # a server that ends each watch at once is not hammered
                await asyncio.sleep(BACKOFF_FIRST_SECONDS)

    async def _stream(self, version: str) -> str:
        """Follows one watch; returns where the next goes on. Raises Expired, KubeError."""
        query = {
            **self._params,
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        async for event in self._kube.watch(self.path, query, IDLE_SECONDS):
            self._heard = self._clock()
            kind, raw = event.get("type"), event.get("object")
            if not isinstance(raw, dict) or kind not in {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"}:
                raise KubeError(0, "Unreadable", f"an event of type {text(kind, 40)!r} cannot be read")
            if kind == "ERROR":
                code = number(raw.get("code"))
                raise Expired if code == 410 else KubeError(code, text(raw.get("reason"), 80), text(raw.get("message")))
            version = text(mapping(raw.get("metadata")).get("resourceVersion"), 64) or version
            if kind != "BOOKMARK":
                self._sink.change(kind, raw)
        self._heard = self._clock()
        return version
