"""An API server made of a dict: enough for what acts through `Kube.call` and `Kube.watch`."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from guildhall_operator.client import Kube, KubeError


async def until(check: Callable[[], object], seconds: float = 5) -> None:
    """Lets the other tasks run until `check` is true. Raises TimeoutError when it never is."""
    async with asyncio.timeout(seconds):
        while not check():  # noqa: ASYNC110  the tasks know nothing of the test, so there is no event
            await asyncio.sleep(0)


class FakeKube(Kube):
    """Objects by path; every write is kept in `log`. `refuse` may raise a KubeError before anything happens."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.log: list[tuple[str, str, Any]] = []
        self.writes = {}
        self.refuse: Callable[[str, str], None] = lambda _method, _path: None
        self.streams: list[list[dict[str, Any] | Exception]] = []
        self.watched: list[dict[str, str]] = []
        self.version = 100

    def put(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.version += 1
        meta = {**body.get("metadata", {}), "resourceVersion": str(self.version)}
        meta.setdefault("uid", f"uid-{self.version}")
        self.objects[path] = {**body, "metadata": meta}
        return self.objects[path]

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        await asyncio.sleep(0)
        self.refuse(method, path)
        if method != "GET":
            self.log.append((method, path, json.loads(json.dumps(body))))
        return getattr(self, f"_{method.lower()}")(path, body)  # type: ignore[no-any-return]

    def _get(self, path: str, _: Any) -> dict[str, Any]:
        if path in self.objects:
            return self.objects[path]
        items = [item for name, item in self.objects.items() if name.rpartition("/")[0] == path]
        if not items and path.rsplit("/", 1)[-1] not in {"runs", "guilds", "pods", "jobs"}:
            raise KubeError(404, "NotFound", path)
        return {"items": items, "metadata": {"resourceVersion": str(self.version)}}

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        name = f"{path}/{body['metadata']['name']}"
        if name in self.objects:
            raise KubeError(409, "AlreadyExists", name)
        return self.put(name, body)

    def _put(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        there = self._get(path, None)
        if body["metadata"].get("resourceVersion") != there["metadata"]["resourceVersion"]:
            raise KubeError(409, "Conflict", path)
        return self.put(path, body)

    def _patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        name = path.removesuffix("/status")
        there = self._get(name, None)
        if path.endswith("/status"):
            return self.put(name, {**there, "status": {**there.get("status", {}), **body["status"]}})
        return self.put(name, {**there, "spec": {**there.get("spec", {}), **body["spec"]}})

    def _delete(self, path: str, _: Any) -> dict[str, Any]:
        if self.objects.pop(path, None) is None:
            raise KubeError(404, "NotFound", path)
        return {}

    async def watch(self, path: str, params: Mapping[str, str], idle_seconds: float) -> AsyncIterator[dict[str, Any]]:
        self.watched.append(dict(params))
        if not self.streams:
            await asyncio.Event().wait()
        for event in self.streams.pop(0):
            await asyncio.sleep(0)
            if isinstance(event, Exception):
                raise event
            yield event
