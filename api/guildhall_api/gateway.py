"""The gateway's two internal routes: the ledger's public face, and blobs, which are believed only by their hash."""

import hashlib
from collections.abc import Collection
from pathlib import Path
from typing import Final, Protocol

import httpx
from guildhall_contracts.awaiting import AwaitingView
from guildhall_contracts.limits import (
    AWAITING_MAX_COUNT,
    BLOB_MAX_BYTES,
    CONNECTIONS_PER_PEER_MAX_COUNT,
    LISTED_ARGUMENTS_MAX_BYTES,
)
from guildhall_contracts.model_api import LedgerView
from pydantic import ValidationError

from guildhall_api.config import Gateway, StartError
from guildhall_api.trust import Trust

_TIMEOUT: Final = httpx.Timeout(20, connect=3)
_LEDGER_MAX_BYTES: Final = 4 * 1024 * 1024
_AWAITING_MAX_BYTES: Final = 2 * AWAITING_MAX_COUNT * (LISTED_ARGUMENTS_MAX_BYTES + 4 * 16_384)


class GatewayUnavailable(Exception):  # noqa: N818
    """The gateway cannot be reached, or its answer cannot be believed."""


class GatewayClient(Protocol):
    async def ledger(self, uid: str) -> LedgerView | None: ...

    async def blob(self, uid: str, sha256: str) -> bytes | None: ...

    async def awaiting(self, namespaces: Collection[str]) -> AwaitingView: ...

    async def awaiting_in(self, run: str, identity: str = "") -> AwaitingView: ...


class HttpGateway:
    """The gateway by HTTPS. Raises GatewayUnavailable; None means it has no such thing."""

    def __init__(self, config: Gateway) -> None:
        """Raises StartError without a sound CA file."""
        try:
            verify = Trust(Path(config.ca)) if config.ca else True
        except OSError as error:
            message = f"gateway.ca {config.ca} cannot be used: {error}; name a file with the CA of the gateway"
            raise StartError(message) from error
        self._token = Path(config.token)
        few = httpx.Limits(max_connections=CONNECTIONS_PER_PEER_MAX_COUNT // 2)
        self._client = httpx.AsyncClient(
            base_url=config.url, verify=verify, timeout=_TIMEOUT, limits=few, trust_env=False
        )

    async def aclose(self) -> None:
        await self._client.aclose()

    async def ledger(self, uid: str) -> LedgerView | None:
        body = await self._get(f"/internal/v1/runs/{uid}/ledger", _LEDGER_MAX_BYTES)
        try:
            return LedgerView.model_validate_json(body) if body is not None else None
        except ValidationError as error:
            raise GatewayUnavailable(f"the gateway's ledger of Run {uid} cannot be read") from error

    async def blob(self, uid: str, sha256: str) -> bytes | None:
        body = await self._get(f"/internal/v1/runs/{uid}/blobs/{sha256}", BLOB_MAX_BYTES)
        if body is not None and hashlib.sha256(body).hexdigest() != sha256:
            raise GatewayUnavailable(f"the gateway sent other bytes for blob {sha256}")
        return body

    async def awaiting(self, namespaces: Collection[str]) -> AwaitingView:
        """What is open in the Runs of these namespaces, a share of the list for each."""
        return await self._awaiting(httpx.QueryParams({"namespace": list(namespaces)}))

    async def awaiting_in(self, run: str, identity: str = "") -> AwaitingView:
        """What is open in a Run; with `identity` that one thing, its arguments whole."""
        return await self._awaiting(httpx.QueryParams({"run": run} | ({"id": identity} if identity else {})))

    async def _awaiting(self, query: httpx.QueryParams) -> AwaitingView:
        body = await self._get(f"/internal/v1/awaiting?{query}", _AWAITING_MAX_BYTES)
        try:
            return AwaitingView.model_validate_json(body or b"{}")
        except ValidationError as error:
            raise GatewayUnavailable("what the gateway says waits for people cannot be read") from error

    async def _get(self, path: str, limit: int) -> bytes | None:
        body = bytearray()
        try:
            headers = {"Authorization": f"Bearer {self._token.read_text().strip()}"}
            async with self._client.stream("GET", path, headers=headers) as response:
                if response.status_code == 404:
                    return None
                if response.status_code != 200:
                    raise GatewayUnavailable(f"the gateway answered {response.status_code} to GET {path}")
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > limit:
                        raise GatewayUnavailable(f"the gateway sent more than {limit} bytes for {path}")
        except (OSError, httpx.HTTPError) as error:
            raise GatewayUnavailable(f"GET {path}: {error!r}") from error
        return bytes(body)
