"""The Kubernetes RunSource: one list-and-watch for each kind and run namespace, kept as small views.

Guards against a gateway that is green and deaf: `healthy` is false as soon as one watch has been silent too long.
"""

import asyncio
import base64
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from guildhall_contracts.snapshot import RUN_LABEL

from guildhall_gateway.kube import KubeClient, KubeError
from guildhall_gateway.runs import (
    AnyView,
    ConnectionView,
    InterventionView,
    Listener,
    RunView,
    parse_connection,
    parse_guild,
    parse_intervention,
    parse_pod,
    parse_run,
)
from guildhall_gateway.views import ViewCache

log = logging.getLogger(__name__)

GROUP_PATH: Final = "/apis/guildhall.dev/v1alpha1"
FIELD_MANAGER: Final = "guildhall-gateway"
WATCH_SECONDS: Final = 60
WATCH_READ_SECONDS: Final = 75.0
DEAF_AFTER_SECONDS: Final = 150.0
BACKOFF_FIRST_SECONDS: Final = 0.2
BACKOFF_MAX_SECONDS: Final = 10.0
LIST_PAGE_COUNT: Final = 500
RELIST_SECONDS: Final = 600.0


StatusOwner = RunView | InterventionView | ConnectionView


@dataclass(frozen=True, slots=True)
class Kind:
    """A watched kind: its path below a namespace, a label selector, and its parser."""

    name: str
    path: Callable[[str], str]
    parse: Callable[[Any], AnyView | None]
    selector: str = ""


def _group(plural: str) -> Callable[[str], str]:
    return lambda namespace: f"{GROUP_PATH}/namespaces/{namespace}/{plural}"


KINDS: Final = (
    Kind("runs", _group("runs"), parse_run),
    Kind("guilds", _group("guilds"), parse_guild),
    Kind("connections", _group("connections"), parse_connection),
    Kind("interventions", _group("interventions"), parse_intervention),
    Kind("pods", lambda namespace: f"/api/v1/namespaces/{namespace}/pods", parse_pod, RUN_LABEL),
)


class Reflector:
    """Keeps one kind of one namespace: lists, watches on, relists when the server has forgotten, and every ten minutes
    in any case: whatever a watch lost is put right."""

    def __init__(self, client: KubeClient, kind: Kind, namespace: str, tell: Listener) -> None:
        self._client = client
        self._kind = kind
        self._path = kind.path(namespace)
        self._tell = tell
        self._views: dict[str, AnyView] = {}
        self.heard_at = time.monotonic()
        self._listed_at = 0.0
        self.listed = False

    async def run(self) -> None:
        """Until cancelled; every failure is followed by a fresh list after a growing pause."""
        pause = BACKOFF_FIRST_SECONDS
        version = ""
        while True:
            try:
                version = version or await self._list()
                pause = BACKOFF_FIRST_SECONDS
                version = await self._watch(version)
                if time.monotonic() - self._listed_at >= RELIST_SECONDS:
                    version = ""
            except OSError as error:
                expired = isinstance(error, KubeError) and error.status == 410
                if not expired:
                    log.warning("watch of %s interrupted: %s", self._path, error)
                version = ""
                await asyncio.sleep(0 if expired else pause)
                pause = min(pause * 2, BACKOFF_MAX_SECONDS)

    async def _list(self) -> str:
        seen: set[str] = set()
        version, more = "", ""
        while True:
            params = {"limit": str(LIST_PAGE_COUNT)} | ({"continue": more} if more else {})
            if self._kind.selector:
                params["labelSelector"] = self._kind.selector
            page = await self._client.request("GET", self._path, params=params)
            meta = page.get("metadata") or {}
            for item in page.get("items") or []:
                view = self._keep(item)
                if view is not None:
                    seen.add(view.uid)
            version, more = str(meta.get("resourceVersion", "")), str(meta.get("continue", "") or "")
            if not more:
                break
        for uid in [uid for uid in self._views if uid not in seen]:
            self._drop(uid)
        self.listed = True
        self.heard_at = self._listed_at = time.monotonic()
        return version

    async def _watch(self, version: str) -> str:
        params = {"resourceVersion": version, "timeoutSeconds": str(WATCH_SECONDS)}
        if self._kind.selector:
            params["labelSelector"] = self._kind.selector
        events: AsyncIterator[dict[str, Any]] = self._client.watch(self._path, params, WATCH_READ_SECONDS)
        async for event in events:
            self.heard_at = time.monotonic()
            version = self._take(event) or version
        self.heard_at = time.monotonic()
        return version

    def _take(self, event: dict[str, Any]) -> str:
        kind, item = event.get("type"), event.get("object")
        if kind == "ERROR":
            code = item.get("code") if isinstance(item, dict) else 0
            raise KubeError(code if isinstance(code, int) else 0, f"watch of {self._path} ended with an error event")
        if not isinstance(item, dict):
            return ""
        found = item.get("metadata")
        meta = found if isinstance(found, dict) else {}
        if kind == "DELETED":
            self._drop(str(meta.get("uid", "")))
        elif kind in ("ADDED", "MODIFIED"):
            self._keep(item)
        return str(meta.get("resourceVersion", ""))

    def _keep(self, item: Any) -> AnyView | None:
        view = self._kind.parse(item)
        if view is not None and self._views.get(view.uid) != view:
            self._views[view.uid] = view
            self._tell("set", view)
        return view

    def _drop(self, uid: str) -> None:
        view = self._views.pop(uid, None)
        if view is not None:
            self._tell("gone", view)


class KubernetesRuns(ViewCache):
    """What the run namespaces hold that concerns the gateway, the statuses written back, and Connections' Secrets."""

    def __init__(self, client: KubeClient, namespaces: list[str]) -> None:
        super().__init__()
        self._client = client
        self._reflectors = [Reflector(client, kind, ns, self.tell) for ns in namespaces for kind in KINDS]
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(reflector.run()) for reflector in self._reflectors]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def ready(self) -> bool:
        """Whether every kind of every namespace was listed once."""
        return all(reflector.listed for reflector in self._reflectors)

    def healthy(self) -> bool:
        """Whether every watch lives and was heard of lately."""
        alive = bool(self._tasks) and not any(task.done() for task in self._tasks)
        oldest = min((reflector.heard_at for reflector in self._reflectors), default=0.0)
        return alive and time.monotonic() - oldest < DEAF_AFTER_SECONDS

    async def write_run(self, run: RunView, status: dict[str, Any]) -> None:
        """Server-side apply of the gateway's own status fields. Raises OSError."""
        await self._apply("runs", "Run", run, status)

    async def write_intervention(self, item: InterventionView, status: dict[str, Any]) -> None:
        await self._apply("interventions", "Intervention", item, status)

    async def write_connection(self, item: ConnectionView, status: dict[str, Any]) -> None:
        await self._apply("connections", "Connection", item, status)

    async def write_owner(self, item: InterventionView, owner: dict[str, str]) -> None:
        """By JSON patch, with tests that it is that very object and has no owner yet. Raises OSError.

        A 422 is a test that failed or an admission that said no: only the object itself tells which."""
        place = "/metadata/ownerReferences"
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": item.uid},
            {"op": "test", "path": place, "value": None},
            {"op": "add", "path": place, "value": [owner]},
        ]
        path = f"{GROUP_PATH}/namespaces/{item.namespace}/interventions/{item.name}"
        params, kind = {"fieldManager": FIELD_MANAGER}, "application/json-patch+json"
        try:
            await self._client.request("PATCH", path, params=params, body=patch, content_type=kind)
        except KubeError as error:
            if error.status != HTTPStatus.UNPROCESSABLE_ENTITY or await self._unowned(item.uid, path):
                raise

    async def _unowned(self, uid: str, path: str) -> bool:
        """Whether the Intervention at `path` is that very one, and has no owner now. Raises OSError."""
        found = parse_intervention(await self._client.request("GET", path))
        return found is not None and found.uid == uid and not found.owned

    async def run_now(self, namespace: str, name: str) -> RunView | None:
        """The Run of that name as the API server has it. Raises OSError."""
        try:
            return parse_run(await self._client.request("GET", f"{GROUP_PATH}/namespaces/{namespace}/runs/{name}"))
        except KubeError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return None

    async def secret(self, namespace: str, name: str) -> dict[str, bytes] | None:
        """The values of a Secret the chart's list names; None where it is not there or may not be read."""
        try:
            found = await self._client.request("GET", f"/api/v1/namespaces/{namespace}/secrets/{name}")
        except KubeError as error:
            if error.status in (403, 404):
                return None
            raise
        data = found.get("data")
        return decoded_secret(data if isinstance(data, dict) else {})

    async def _apply(self, plural: str, kind: str, view: StatusOwner, status: dict[str, Any]) -> None:
        body = {
            "apiVersion": "guildhall.dev/v1alpha1",
            "kind": kind,
            "metadata": {"name": view.name, "namespace": view.namespace, "uid": view.uid},
            "status": status,
        }
        path = f"{GROUP_PATH}/namespaces/{view.namespace}/{plural}/{view.name}/status"
        params = {"fieldManager": FIELD_MANAGER, "force": "true"}
        await self._client.request("PATCH", path, params=params, body=body, content_type="application/apply-patch+yaml")


def decoded_secret(data: dict[Any, Any]) -> dict[str, bytes]:
    """The values of a Secret's `data`; what is no Base64 is left out."""
    found: dict[str, bytes] = {}
    for key, value in data.items():
        try:
            found[str(key)] = base64.b64decode(value, validate=True)
        except (ValueError, TypeError):
            continue
    return found


def utc_now() -> str:
    """Now as Kubernetes writes times."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
