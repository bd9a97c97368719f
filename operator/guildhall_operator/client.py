"""The one way to the Kubernetes API: JSON in, JSON out, every call bounded in time and size.

Guards against a slow or odd API server holding a worker for ever. kopf's client is private and kr8s closes the session
that others share whenever one call is answered 403 (which a full quota does), so this is a small one on aiohttp.
"""

import asyncio
import os
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp
import kopf
from guildhall_contracts.limits import KUBE_ANSWER_MAX_BYTES, KUBE_REQUEST_MAX_SECONDS, WATCH_EVENT_MAX_BYTES
from pydantic_core import from_json, to_json

from guildhall_operator.records import mapping, number, text

JSON: Final = "application/json"
KEEP_ALIVE_SECONDS: Final = 60.0  # a handshake costs more than a call
TOKEN_REREAD_SECONDS: Final = 60.0
ACCOUNT_FOLDER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
APPLY: Final = "application/apply-patch+yaml"
MERGE: Final = "application/merge-patch+json"
_TIMEOUT: Final = aiohttp.ClientTimeout(total=KUBE_REQUEST_MAX_SECONDS)


class KubeError(Exception):
    """The API server refused, or could not be reached (`code` 0)."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}"[:1_000])
        self.code = code
        self.reason = reason
        self.message = message


@dataclass(slots=True)
class Access:
    """Where the API server is and how to be known there; an account's token is read again as it rotates."""

    server: str
    tls: ssl.SSLContext | bool
    headers: Mapping[str, str] = field(default_factory=dict)
    token_file: Path | None = None
    clock: Callable[[], float] = time.monotonic
    _token: str = ""
    _read_at: float = -TOKEN_REREAD_SECONDS

    def authorization(self) -> dict[str, str]:
        if self.token_file is None:
            return dict(self.headers)
        if self.clock() - self._read_at >= TOKEN_REREAD_SECONDS:
            self._token = self.token_file.read_text(encoding="utf-8").strip()
            self._read_at = self.clock()
        return {"Authorization": f"Bearer {self._token}"}


def connection_info() -> kopf.ConnectionInfo:
    """The account of this pod, else the kubeconfig. Raises kopf.LoginError when there is neither."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    token = ACCOUNT_FOLDER / "token"
    if host and token.exists():
        address = f"[{host}]" if ":" in host else host
        return kopf.ConnectionInfo(
            server=f"https://{address}:{port}",
            ca_path=str(ACCOUNT_FOLDER / "ca.crt"),
            scheme="Bearer",
            token=token.read_text(encoding="utf-8").strip(),
        )
    found = kopf.login_with_kubeconfig(settings=kopf.OperatorSettings())
    if found is None:
        raise kopf.LoginError("there is neither a service account nor a kubeconfig; set KUBECONFIG")
    return found


def access_of(info: kopf.ConnectionInfo) -> Access:
    in_pod = os.environ.get("KUBERNETES_SERVICE_HOST") and (ACCOUNT_FOLDER / "token").exists()
    token_file = ACCOUNT_FOLDER / "token" if in_pod else None
    return Access(info.server, info.as_ssl_context(), info.as_http_headers(), token_file)


def _error(code: int, body: bytes) -> KubeError:
    try:
        status = mapping(from_json(body))
    except ValueError:
        status = {}
    message = text(status.get("message"), 1_000) or body[:200].decode("utf-8", "replace")
    return KubeError(code, text(status.get("reason"), 80), message)


class Kube:
    """A session to one API server. `writes` counts what it changed, by verb and resource."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._session: aiohttp.ClientSession | None = None
        self.writes: dict[tuple[str, str], int] = {}

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=200, ssl=self._access.tls, keepalive_timeout=KEEP_ALIVE_SECONDS)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> dict[str, Any]:
        """One request. `content_type` is that of the body, or of the answer where none is sent.

        Raises KubeError for any answer but 2xx and for no answer.
        """
        headers = {**self._access.authorization(), "Accept": content_type if body is None else JSON}
        data = None
        if body is not None:
            data = to_json(body)
            headers["Content-Type"] = content_type
        try:
            async with self._open().request(
                method, self._access.server + path, data=data, params=params, headers=headers, timeout=_TIMEOUT
            ) as response:
                content = await _whole(response.content.iter_any())
                code = response.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise KubeError(0, "Unreachable", f"{method} {path}: {error!r}") from error
        if method != "GET":
            key = (method, resource_of(path))
            self.writes[key] = self.writes.get(key, 0) + 1
        if code >= 300:
            raise _error(code, content)
        return _decoded(content)

    async def watch(self, path: str, params: Mapping[str, str], idle_seconds: float) -> AsyncIterator[dict[str, Any]]:
        """The events of one watch until the server ends it. Raises KubeError, also after `idle_seconds` of silence."""
        headers = {**self._access.authorization(), "Accept": "application/json"}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=KUBE_REQUEST_MAX_SECONDS, sock_read=idle_seconds)
        try:
            async with self._open().get(
                self._access.server + path, params={**params, "watch": "true"}, headers=headers, timeout=timeout
            ) as response:
                if response.status >= 300:
                    raise _error(response.status, await _whole(response.content.iter_any()))
                async for line in _lines(response.content.iter_any()):
                    yield _decoded(line)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise KubeError(0, "Unreachable", f"watch {path}: {error!r}") from error


def resource_of(path: str) -> str:
    """The plural of what a namespaced path is about, for counting."""
    parts = path.partition("/namespaces/")[2].split("/")
    return parts[1] if len(parts) > 1 else "other"


async def _whole(chunks: AsyncIterator[bytes]) -> bytes:
    """An answer of up to KUBE_ANSWER_MAX_BYTES. Raises KubeError beyond."""
    found, size = [], 0
    async for chunk in chunks:
        found.append(chunk)
        size += len(chunk)
        if size > KUBE_ANSWER_MAX_BYTES:
            raise KubeError(0, "TooLarge", f"an answer of the API server is larger than {KUBE_ANSWER_MAX_BYTES} bytes")
    return b"".join(found)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines of any length up to WATCH_EVENT_MAX_BYTES. Raises KubeError beyond."""
    buffer = bytearray()
    async for chunk in chunks:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            buffer += chunk[start:end]
            if buffer.strip():
                yield bytes(buffer)
            buffer.clear()
            start = end + 1
        buffer += chunk[start:]
        if len(buffer) > WATCH_EVENT_MAX_BYTES:
            raise KubeError(0, "TooLarge", f"one watch event is larger than {WATCH_EVENT_MAX_BYTES} bytes")


def _decoded(content: bytes) -> dict[str, Any]:
    try:
        value = from_json(content)
    except ValueError as error:
        raise KubeError(0, "Unreadable", f"the API server's answer is not JSON: {content[:80]!r}") from error
    if not isinstance(value, dict):
        raise KubeError(0, "Unreadable", "the API server's answer is not an object")
    return value


async def list_all(
    kube: Kube, path: str, params: Mapping[str, str], *, content_type: str = JSON
) -> tuple[list[dict[str, Any]], str]:
    """Every object of a collection, page by page, and the resourceVersion to watch from. Raises KubeError."""
    found: list[dict[str, Any]] = []
    token = ""
    while True:
        query = {**params, "limit": "500", **({"continue": token} if token else {})}
        page = await kube.call("GET", path, params=query, content_type=content_type)
        items = page.get("items")
        found += [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        meta = mapping(page.get("metadata"))
        token = text(meta.get("continue"), 4_000)
        await asyncio.sleep(0)
        if not token:
            return found, text(meta.get("resourceVersion"), 64)


def version_of(raw: Mapping[str, Any]) -> int:
    """The resourceVersion as a number; 0 where it is none."""
    value = text(mapping(raw.get("metadata")).get("resourceVersion"), 64)
    return int(value) if value.isascii() and value.isdigit() else number(value)
