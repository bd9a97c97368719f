"""RunSource on Kubernetes: list, then watch, per kind and namespace, in raw JSON.

Guards against watches that die in silence: each must answer at least every five minutes, or health turns red; and
against those that live but lost a change: everything is listed again every ten minutes.
"""

import asyncio
import json
import logging
import math
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, get_args

from guildhall_contracts.snapshot import RUN_LABEL

from guildhall_api import resources
from guildhall_api.kube import Kube, KubeError
from guildhall_api.lines import LineSplitter
from guildhall_api.resources import Resource
from guildhall_api.source import Change, Kind

log = logging.getLogger(__name__)

WATCH_SECONDS: Final = 240
STALE_SECONDS: Final = 300
RELIST_SECONDS: Final = 600.0
LOG_IDLE_SECONDS: Final = 20
_OBJECT_MAX_BYTES: Final = 4 * 1024 * 1024
_PAGE_COUNT: Final = "500"
_RETRY_MAX_SECONDS: Final = 30.0
_QUEUE_MAX_COUNT: Final = 1_000


def watch_seconds(left_seconds: float) -> int:
    """How long to watch when the next list is due in `left_seconds`: whole seconds, as the server takes them."""
    return max(1, min(WATCH_SECONDS, math.ceil(left_seconds)))


class KubernetesRuns:
    """Runs, Pods and Guilds of the given namespaces."""

    def __init__(self, kube: Kube, namespaces: list[str]) -> None:
        self._kube = kube
        self._namespaces = namespaces
        self._alive: dict[tuple[Kind, str], float] = {}
        self._problems: dict[tuple[Kind, str], str] = {}
        self._since = time.monotonic()

    async def changes(self) -> AsyncIterator[Change]:
        queue: asyncio.Queue[Change] = asyncio.Queue(_QUEUE_MAX_COUNT)
        tasks = [
            asyncio.create_task(self._watch_forever(kind, namespace, queue))
            for kind in get_args(Kind)
            for namespace in self._namespaces
        ]
        try:
            while True:
                yield await queue.get()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def healthy(self) -> str | None:
        now = time.monotonic()
        for kind in get_args(Kind):
            for namespace in self._namespaces:
                last = self._alive.get((kind, namespace), self._since)
                if now - last > STALE_SECONDS:
                    why = self._problems.get((kind, namespace), "no answer")
                    return f"the watch of {kind} in {namespace} is dead for {now - last:.0f} s: {why}"
        return None

    async def _watch_forever(self, kind: Kind, namespace: str, queue: asyncio.Queue[Change]) -> None:
        delay, version, list_again_at = 1.0, "", 0.0
        while True:
            try:
                if not version or time.monotonic() >= list_again_at:
                    version, items = await self._list(kind, namespace)
                    list_again_at = time.monotonic() + RELIST_SECONDS
                    await queue.put(Change(kind, namespace, "synced", tuple(items)))
                self._alive[kind, namespace] = time.monotonic()
                seconds = watch_seconds(list_again_at - time.monotonic())
                version = await self._watch_once(kind, namespace, version, seconds, queue)
                delay = 1.0
            except KubeError as error:
                self._problems[kind, namespace] = str(error)
                if error.status == 410 or error.reason in {"Expired", "Gone", "NotJSON"}:
                    version = ""
                else:
                    log.warning("watch of %s in %s failed, again in %.0f s: %s", kind, namespace, delay, error)
                await asyncio.sleep(delay)
                delay = min(_RETRY_MAX_SECONDS, delay * 2)

    def _path(self, kind: Kind, namespace: str) -> str:
        return resources.core(namespace, kind) if kind == "pods" else resources.custom(namespace, kind)

    async def _list(self, kind: Kind, namespace: str) -> tuple[str, list[Resource]]:
        params = {"limit": _PAGE_COUNT} | ({"labelSelector": RUN_LABEL} if kind == "pods" else {})
        items: list[Resource] = []
        while True:
            page = await self._kube.get(self._path(kind, namespace), params)
            items += page.get("items") or []
            more = page["metadata"].get("continue")
            if not more:
                return page["metadata"]["resourceVersion"], items
            params["continue"] = more

    async def _watch_once(
        self, kind: Kind, namespace: str, version: str, seconds: int, queue: asyncio.Queue[Change]
    ) -> str:
        """Watch until the server closes, after `seconds` at the latest; the resourceVersion to go on from."""
        params = {
            "watch": "true", "allowWatchBookmarks": "true", "resourceVersion": version,
            "timeoutSeconds": str(seconds),
        } | ({"labelSelector": RUN_LABEL} if kind == "pods" else {})  # fmt: skip
        splitter = LineSplitter(_OBJECT_MAX_BYTES)
        async with self._kube.stream(self._path(kind, namespace), params, idle_seconds=seconds + 30) as chunks:
            async for chunk in chunks:
                self._alive[kind, namespace] = time.monotonic()
                for line in splitter.feed(chunk):
                    if line.cut:
                        raise KubeError(0, "NotJSON", f"an object of {line.size} bytes in the watch of {kind}")
                    version = await self._take(kind, namespace, line.data, queue) or version
        return version

    async def _take(self, kind: Kind, namespace: str, line: bytes, queue: asyncio.Queue[Change]) -> str | None:
        try:
            event = json.loads(line)
            verb, item = event["type"], event["object"]
        except (ValueError, KeyError, TypeError) as error:
            raise KubeError(0, "NotJSON", f"the watch of {kind} in {namespace} sent no event") from error
        if verb == "ERROR":
            raise KubeError(int(item.get("code", 0)), str(item.get("reason", "")), str(item.get("message", "")))
        if verb != "BOOKMARK":
            await queue.put(Change(kind, namespace, "deleted" if verb == "DELETED" else "set", (item,)))
        found: str | None = item.get("metadata", {}).get("resourceVersion")
        return found

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
