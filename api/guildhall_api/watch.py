"""RunSource on Kubernetes: list, then watch, per kind and namespace, in raw JSON.

Guards against watches that die in silence: each must answer at least every five minutes, or health turns red; one that
ends by a fault of ours ends `changes`. And against those that live but lost a change: all is listed every ten minutes.
"""

import asyncio
import json
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, get_args

from guildhall_contracts.backoff import failures_after, pause_after
from guildhall_contracts.snapshot import RUN_LABEL

from guildhall_api import resources
from guildhall_api.kube import Kube, KubeError
from guildhall_api.lines import LineSplitter
from guildhall_api.resources import Resource
from guildhall_api.source import Change, Kind
from guildhall_api.summaries import part, text

log = logging.getLogger(__name__)

WATCH_SECONDS: Final = 60  # asked of the server, which may say nothing for all of it: not every kind has bookmarks
IDLE_MORE_SECONDS: Final = 15.0  # beyond that, when a connection is taken for dead
STALE_SECONDS: Final = 300
RELIST_SECONDS: Final = 600.0
LOG_IDLE_SECONDS: Final = 20
_OBJECT_MAX_BYTES: Final = 4 * 1024 * 1024
_PAGE_COUNT: Final = "500"
_RETRY_FIRST_SECONDS: Final = 0.5
_RETRY_MAX_SECONDS: Final = 30.0
_QUEUE_MAX_COUNT: Final = 1_000

Clock = Callable[[], float]
Queue = asyncio.Queue[Change | RuntimeError]


def watch_seconds(left_seconds: float) -> int:
    """How long to watch when the next list is due in `left_seconds`: whole seconds, as the server takes them."""
    return max(1, min(WATCH_SECONDS, math.ceil(left_seconds)))


def expired(error: KubeError) -> bool:
    """Whether a watch cannot go on from where it was though nothing is wrong."""
    return error.status == 410 or error.reason in {"Expired", "Gone"}


def must_list(error: KubeError) -> bool:
    """Whether only a list can tell what there is now."""
    return expired(error) or error.reason == "NotJSON"


def _page(answer: Any, where: str) -> tuple[list[Resource], str, str]:
    """Objects, resourceVersion and the token of the next page, if any. Raises KubeError for what is no list.

    No part of it is passed over: what a list lacks counts as deleted.
    """
    items, version = part(answer, "items"), part(answer, "metadata", "resourceVersion")
    items = [] if items is None else items  # as Go may write an empty list
    sound = isinstance(items, list) and all(isinstance(item, dict) for item in items)
    if not sound or not isinstance(version, str) or not version:
        raise KubeError(0, "NotJSON", f"{where} is no list")
    return items, version, text(part(answer, "metadata", "continue"), 65_536)


def _event(line: bytes, where: str) -> tuple[str, Resource]:
    """The type and the object of one event. Raises KubeError for one that is none, and what an ERROR says."""
    try:
        event = json.loads(line)
    except ValueError as error:
        raise KubeError(0, "NotJSON", f"{where} sent no event") from error
    verb, item = part(event, "type"), part(event, "object")
    if not isinstance(verb, str) or not isinstance(item, dict):
        raise KubeError(0, "NotJSON", f"{where} sent no event")
    if verb == "ERROR":
        code = part(item, "code")
        said = text(part(item, "reason"), 80), text(part(item, "message"), 1_024)
        raise KubeError(code if isinstance(code, int) else 0, *said)
    return verb, item


class KubernetesRuns:
    """Runs, Pods and Guilds of the given namespaces."""

    def __init__(self, kube: Kube, namespaces: list[str], clock: Clock = time.monotonic) -> None:
        self._kube = kube
        self._namespaces = namespaces
        self._clock = clock
        self._alive: dict[tuple[Kind, str], float] = {}
        self._problems: dict[tuple[Kind, str], str] = {}
        self._since = clock()

    async def changes(self) -> AsyncIterator[Change]:
        """For ever. Raises RuntimeError when a watch has ended, which none does by what a server says."""
        queue: Queue = asyncio.Queue(_QUEUE_MAX_COUNT)
        tasks = [
            asyncio.create_task(self._watch_or_tell(kind, namespace, queue))
            for kind in get_args(Kind)
            for namespace in self._namespaces
        ]
        try:
            while True:
                found = await queue.get()
                if isinstance(found, RuntimeError):
                    raise found
                yield found
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def healthy(self) -> str | None:
        now = self._clock()
        for kind in get_args(Kind):
            for namespace in self._namespaces:
                last = self._alive.get((kind, namespace), self._since)
                if now - last > STALE_SECONDS:
                    why = self._problems.get((kind, namespace), "no answer")
                    return f"the watch of {kind} in {namespace} is dead for {now - last:.0f} s: {why}"
        return None

    async def _watch_or_tell(self, kind: Kind, namespace: str, queue: Queue) -> None:
        try:
            await self._watch_forever(kind, namespace, queue)
        except Exception as error:
            log.exception("the watch of %s in %s ended", kind, namespace)
            await queue.put(RuntimeError(f"the watch of {kind} in {namespace} ended: {error!r}"))

    async def _watch_forever(self, kind: Kind, namespace: str, queue: Queue) -> None:
        """Never returns; every failure is logged and tried again, the later the more of them follow one another."""
        failures, expiries, version, list_again_at = 0, 0, "", 0.0  # each in a row
        while True:
            began = self._clock()
            try:
                if not version or began >= list_again_at:
                    version, items = await self._list(kind, namespace)
                    self._alive[kind, namespace] = self._clock()
                    list_again_at = self._clock() + RELIST_SECONDS
                    await queue.put(Change(kind, namespace, "synced", tuple(items)))
                seconds = watch_seconds(list_again_at - self._clock())
                version = await self._watch_once(kind, namespace, version, seconds, queue)
                self._alive[kind, namespace] = self._clock()
                failures = expiries = 0
            except KubeError as error:
                self._problems[kind, namespace] = str(error)
                version = "" if must_list(error) else version
                before = expiries if expired(error) else failures
                now = failures_after(before, self._clock() - began, _RETRY_MAX_SECONDS)
                failures, expiries = (0, now) if expired(error) else (now, 0)
                pause = pause_after(now, _RETRY_FIRST_SECONDS, _RETRY_MAX_SECONDS)
                if failures:
                    log.warning("watch of %s in %s failed: %s; again in %.1f s", kind, namespace, error, pause)
                else:
                    log.info("watch of %s in %s is out of date; listing again", kind, namespace)
                await asyncio.sleep(pause)

    def _path(self, kind: Kind, namespace: str) -> str:
        return resources.core(namespace, kind) if kind == "pods" else resources.custom(namespace, kind)

    async def _list(self, kind: Kind, namespace: str) -> tuple[str, list[Resource]]:
        """The resourceVersion and every object. Raises KubeError."""
        params = {"limit": _PAGE_COUNT} | ({"labelSelector": RUN_LABEL} if kind == "pods" else {})
        items: list[Resource] = []
        while True:
            answer = await self._kube.get(self._path(kind, namespace), params)
            page, version, more = _page(answer, f"the list of {kind} in {namespace}")
            items += page
            if not more:
                return version, items
            params["continue"] = more

    async def _watch_once(self, kind: Kind, namespace: str, version: str, seconds: int, queue: Queue) -> str:
        """Watch until the server closes, after `seconds` at the latest; the resourceVersion to go on from."""
        params = {
            "watch": "true", "allowWatchBookmarks": "true", "resourceVersion": version,
            "timeoutSeconds": str(seconds),
        } | ({"labelSelector": RUN_LABEL} if kind == "pods" else {})  # fmt: skip
        splitter = LineSplitter(_OBJECT_MAX_BYTES)
        idle_seconds = seconds + IDLE_MORE_SECONDS
        async with self._kube.stream(self._path(kind, namespace), params, idle_seconds=idle_seconds) as chunks:
            async for chunk in chunks:
                self._alive[kind, namespace] = self._clock()
                for line in splitter.feed(chunk):
                    if line.cut:
                        raise KubeError(0, "NotJSON", f"an object of {line.size} bytes in the watch of {kind}")
                    version = await self._take(kind, namespace, line.data, queue) or version
        return version

    async def _take(self, kind: Kind, namespace: str, line: bytes, queue: Queue) -> str | None:
        verb, item = _event(line, f"the watch of {kind} in {namespace}")
        if verb != "BOOKMARK":
            await queue.put(Change(kind, namespace, "deleted" if verb == "DELETED" else "set", (item,)))
        return text(part(item, "metadata", "resourceVersion"), 64) or None

    def log(
        self, namespace: str, pod: str, since: str | None, *, follow: bool
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        params = {"container": resources.EXECUTOR_CONTAINER, "timestamps": "true"}
        if follow:
            params["follow"] = "true"
        if since is not None:
            params["sinceTime"] = since
        return self._kube.stream(resources.core(namespace, "pods", pod, "log"), params, idle_seconds=LOG_IDLE_SECONDS)

    async def get(self, namespace: str, plural: str, name: str) -> Resource:
        found: Resource = await self._kube.get(resources.custom(namespace, plural, name))
        return found

    async def create(
        self, namespace: str, plural: str, resource: Resource, *, dry_run: bool = False
    ) -> tuple[Resource, list[str]]:
        params = {"fieldManager": resources.FIELD_MANAGER, "fieldValidation": "Strict"}
        if dry_run:
            params["dryRun"] = "All"
        return await self._kube.call("POST", resources.custom(namespace, plural), params=params, body=resource)

    async def cancel_run(self, namespace: str, name: str, uid: str) -> None:
        await self._kube.call(
            "PATCH", resources.custom(namespace, "runs", name), params={"fieldManager": resources.FIELD_MANAGER},
            body={"metadata": {"uid": uid}, "spec": {"cancel": True}}, content_type="application/merge-patch+json",
        )  # fmt: skip

    async def apply_status(self, namespace: str, name: str, uid: str, status: Mapping[str, object]) -> None:
        body = {
            "apiVersion": resources.API_VERSION, "kind": "Run",
            "metadata": {"name": name, "namespace": namespace, "uid": uid}, "status": dict(status),
        }  # fmt: skip
        await self._kube.call(
            "PATCH", resources.custom(namespace, "runs", name, "status"),
            params={"fieldManager": resources.FIELD_MANAGER, "force": "true"}, body=body,
            content_type="application/apply-patch+yaml",
        )  # fmt: skip
