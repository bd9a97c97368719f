"""The Kubernetes API over plain HTTPS: raw JSON and raw bytes, bounded waits, one error type.

Guards against client libraries that decode log bytes as text or close shared connections when one call is refused.
"""

import asyncio
import base64
import json
import os
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import yaml

from guildhall_api.config import StartError
from guildhall_api.kube_words import warning, words

IDLE: Final = "Idle"  # the reason of a KubeError: a stream was silent for too long, which may be all that is to be said
_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TOKEN_FRESH_SECONDS: Final = 60
_TIMEOUT: Final = httpx.Timeout(15, connect=5)
_BODY_MAX_BYTES: Final = 64 * 1024 * 1024


class KubeError(Exception):
    """The cluster refused or could not be reached: `status` is the HTTP code, 0 without an answer."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


@dataclass(frozen=True)
class Access:
    """How to reach one API server. The token comes from `token_file`, read again every minute, or is `token`."""

    server: str
    tls: ssl.SSLContext | bool = True
    token: str | None = None
    token_file: Path | None = None


def in_cluster() -> Access:
    """Access by the pod's own ServiceAccount. Raises StartError outside a pod."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not _ACCOUNT.is_dir():
        raise StartError("this process is in no pod: set KUBECONFIG to a kubeconfig file")
    name = f"[{host}]" if ":" in host else host
    try:
        tls = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    except OSError as error:
        raise StartError(f"the CA of this pod's account, {_ACCOUNT / 'ca.crt'}, cannot be used: {error}") from error
    return Access(f"https://{name}:{port}", tls, token_file=_ACCOUNT / "token")


def from_kubeconfig(path: Path) -> Access:
    """Access by the current context of a kubeconfig with a token or a client certificate (no exec plugins).

    Raises StartError for a file that cannot be read, or is no such kubeconfig.
    """
    wanted = "set KUBECONFIG to a kubeconfig with a token or a client certificate"
    try:
        return _access(yaml.safe_load(path.read_text()), path)
    except OSError as error:
        raise StartError(f"the kubeconfig {path} cannot be used: {error}; {wanted}") from error
    except KeyError as error:
        raise StartError(f"the kubeconfig {path} lacks {error}; {wanted}") from error
    except (yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        raise StartError(f"{path} is no kubeconfig: {error}; {wanted}") from error


def _access(config: Any, path: Path) -> Access:
    """What the kubeconfig says. Raises whatever comes of reading one that is none."""
    context = _named(config, "contexts", config["current-context"])["context"]
    cluster = _named(config, "clusters", context["cluster"])["cluster"]
    user = _named(config, "users", context["user"])["user"]
    tls = ssl.create_default_context(cadata=_text(cluster, "certificate-authority", path))
    certificate, key = _text(user, "client-certificate", path), _text(user, "client-key", path)
    if certificate and key:
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as both:
            both.write(certificate + "\n" + key)
            both.flush()
            tls.load_cert_chain(both.name)
    token_file = user.get("tokenFile")
    return Access(cluster["server"], tls, user.get("token"), Path(token_file) if token_file else None)


def _named(config: Mapping[str, Any], kind: str, name: str) -> Any:
    for entry in config.get(kind) or []:
        if entry.get("name") == name:
            return entry
    raise StartError(f"the kubeconfig names no {kind} entry '{name}': add it, or set KUBECONFIG to another")


def _text(entry: Mapping[str, Any], field: str, config: Path) -> str | None:
    data, path = entry.get(f"{field}-data"), entry.get(field)
    if data:
        return base64.b64decode(data).decode()
    return (config.parent / path).read_text() if path else None


def find_access() -> Access:
    """The kubeconfig named by KUBECONFIG, else the pod's account. Raises StartError."""
    path = os.environ.get("KUBECONFIG")
    return from_kubeconfig(Path(path)) if path else in_cluster()


class Kube:
    """One API server. Every method raises KubeError and nothing else of the network."""

    def __init__(self, access: Access, *, connections: int = 500) -> None:
        self._access = access
        self._token: str | None = access.token
        self._token_read = float("-inf")
        self._client = httpx.AsyncClient(
            base_url=access.server, verify=access.tls, timeout=_TIMEOUT, trust_env=False,
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=20),
        )  # fmt: skip

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _headers(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        path = self._access.token_file
        if path is not None and time.monotonic() - self._token_read > _TOKEN_FRESH_SECONDS:
            self._token = await asyncio.to_thread(_token, path)
            self._token_read = time.monotonic()
        headers = {"Accept": "application/json", **(extra or {})}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> tuple[Any, list[str]]:
        """One request; the JSON answer and the server's warnings."""
        content = None if body is None else json.dumps(body).encode()
        headers = await self._headers({"Content-Type": content_type} if content is not None else None)
        try:
            response = await self._client.request(method, path, params=params, content=content, headers=headers)
        except httpx.HTTPError as error:
            raise KubeError(0, "Unreachable", f"{method} {path}: {error!r}") from error
        if response.is_error:
            raise _refusal(response.status_code, response.content, f"{method} {path}")
        warnings = [warning(header) for header in response.headers.get_list("warning")]
        return _parsed(response.content, f"{method} {path}"), warnings

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> Any:
        answer, _ = await self.call("GET", path, params=params)
        return answer

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], *, idle_seconds: float | None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """A GET whose body is read as raw bytes, chunk by chunk. `idle_seconds` without a byte: reason `IDLE`."""
        timeout = httpx.Timeout(15, connect=5, read=idle_seconds)
        try:
            async with self._client.stream(
                "GET", path, params=params, headers=await self._headers(), timeout=timeout
            ) as response:
                if response.is_error:
                    raise _refusal(response.status_code, await response.aread(), f"GET {path}")
                yield response.aiter_bytes()
        except httpx.ReadTimeout as error:
            raise KubeError(0, IDLE, f"GET {path}: nothing came for {idle_seconds} s") from error
        except httpx.HTTPError as error:
            raise KubeError(0, "Unreachable", f"GET {path}: {error!r}") from error


def _token(path: Path) -> str:
    """The token in the file. Raises KubeError: nobody gets an answer without it."""
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise KubeError(0, "Unreachable", f"the service account token {path} cannot be read: {error}") from error


def _parsed(content: bytes, where: str) -> Any:
    if len(content) > _BODY_MAX_BYTES:
        raise KubeError(0, "TooLarge", f"{where} answered {len(content)} bytes")
    try:
        return json.loads(content) if content else {}
    except ValueError as error:
        raise KubeError(0, "NotJSON", f"{where} did not answer JSON") from error


def _refusal(status: int, content: bytes, where: str) -> KubeError:
    try:
        answer = json.loads(content)
        return KubeError(status, str(answer.get("reason", "")), words(answer))
    except (ValueError, AttributeError):
        return KubeError(status, "", f"{where} answered {status}")
