"""A small client of the API server: raw JSON, bounded answers, watches by bytes.

Guards against an API server's answers growing without bound; the gateway's own account token is read from its file
each minute and never logged.
"""

import json
import os
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import httpx

ACCOUNT_DIR: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_REREAD_SECONDS: Final = 60.0
ANSWER_MAX_BYTES: Final = 64 * 1024 * 1024
WATCH_LINE_MAX_BYTES: Final = 8 * 1024 * 1024
REQUEST_TIMEOUT_SECONDS: Final = 10.0


class KubeError(OSError):
    """The API server refused or could not be reached. `status` is 0 for the latter."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class KubeClient:
    """Requests to one API server. `token_file` None sends no token (client certificates in `context`)."""

    def __init__(self, server: str, context: ssl.SSLContext | bool, token_file: Path | None) -> None:
        timeout = httpx.Timeout(REQUEST_TIMEOUT_SECONDS)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=16)
        self._http = httpx.AsyncClient(base_url=server, verify=context, timeout=timeout, limits=limits, trust_env=False)
        self._token_file = token_file
        self._token = ""
        self._token_read = -TOKEN_REREAD_SECONDS

    def _headers(self) -> dict[str, str]:
        if self._token_file is None:
            return {}
        if time.monotonic() - self._token_read >= TOKEN_REREAD_SECONDS:
            self._token = self._token_file.read_text(encoding="ascii").strip()
            self._token_read = time.monotonic()
        return {"Authorization": f"Bearer {self._token}"}

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        """The JSON object of a 2xx answer. Raises KubeError."""
        content = None if body is None else json.dumps(body).encode()
        headers = {**self._headers(), "Content-Type": content_type, "Accept": "application/json"}
        try:
            async with self._http.stream(method, path, params=params, content=content, headers=headers) as response:
                data = await _bounded(response)
        except (httpx.HTTPError, ssl.SSLError) as error:
            raise KubeError(0, f"{method} {path}: {type(error).__name__}") from error
        if not response.is_success:
            raise KubeError(response.status_code, f"{method} {path}: {response.status_code} {_reason(data)}")
        try:
            value = json.loads(data)
        except ValueError as error:
            raise KubeError(0, f"{method} {path}: the answer is not JSON") from error
        if not isinstance(value, dict):
            raise KubeError(0, f"{method} {path}: the answer is not an object")
        return value

    async def watch(self, path: str, params: dict[str, str], read_seconds: float) -> AsyncIterator[dict[str, Any]]:
        """Watch events until the server ends the watch. Raises KubeError."""
        timeout = httpx.Timeout(REQUEST_TIMEOUT_SECONDS, read=read_seconds)
        query = {**params, "watch": "true", "allowWatchBookmarks": "true"}
        try:
            async with self._http.stream(
                "GET", path, params=query, headers=self._headers(), timeout=timeout
            ) as response:
                if not response.is_success:
                    raise KubeError(response.status_code, f"WATCH {path}: {response.status_code}")
                async for line in _lines(response):
                    yield _event(path, line)
        except (httpx.HTTPError, ssl.SSLError) as error:
            raise KubeError(0, f"WATCH {path}: {type(error).__name__}") from error

    async def close(self) -> None:
        await self._http.aclose()


def _event(path: str, line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise KubeError(0, f"WATCH {path}: a line is not JSON") from error
    if not isinstance(value, dict):
        raise KubeError(0, f"WATCH {path}: a line is not an object")
    return value


def _reason(data: bytes) -> str:
    try:
        value = json.loads(data)
    except ValueError:
        return ""
    return str(value.get("message", ""))[:300] if isinstance(value, dict) else ""


async def _bounded(response: httpx.Response) -> bytes:
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > ANSWER_MAX_BYTES:
            raise KubeError(0, f"an answer of the API server is larger than {ANSWER_MAX_BYTES} bytes")
    return bytes(data)


async def _lines(response: httpx.Response) -> AsyncIterator[bytes]:
    rest = bytearray()
    async for piece in response.aiter_bytes():
        rest += piece
        while (end := rest.find(b"\n")) >= 0:
            line = bytes(rest[:end])
            del rest[: end + 1]
            if line.strip():
                yield line
        if len(rest) > WATCH_LINE_MAX_BYTES:
            raise KubeError(0, f"a watch line is larger than {WATCH_LINE_MAX_BYTES} bytes")


def in_cluster() -> KubeClient:
    """The client of a pod's own account. Raises KubeError outside a cluster."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (ACCOUNT_DIR / "ca.crt").exists():
        raise KubeError(0, "not in a cluster: KUBERNETES_SERVICE_HOST or the account's ca.crt is missing")
    address = f"[{host}]" if ":" in host else host
    context = ssl.create_default_context(cafile=str(ACCOUNT_DIR / "ca.crt"))
    return KubeClient(f"https://{address}:{port}", context, ACCOUNT_DIR / "token")
