"""Where a request to a tool server may go, and how much may come back. Guards the cluster's own addresses and memory.

Only the one origin a Connection names; no redirect leaves it. The name is looked up here and the addresses judged
before anything is sent, so that no name can point at this machine, the metadata service or the API server; a connection
is made to a judged address and to nothing a name means later. Answers are cut off at a bound, compressed ones refused,
streams of the server's own never opened.
"""

import asyncio
import ipaddress
import json
import os
import socket
import ssl
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import httpx2
from guildhall_contracts import limits

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
CALL_META: Final = "guildhall.dev/call"
ADDRESS_SECONDS: Final = 2.0  # at least, while there is time: a first packet that is lost is sent again after one
ADDRESSES_TRIED_MAX_COUNT: Final = 16  # of one name; a large provider has eight of either family
_NOT_TAKEN: Final = frozenset({401, 403, 404, 405, 429})
_PORTS: Final = {"http": 80, "https": 443}
_CARRIERS: Final = tuple((ipaddress.IPv6Network(text), shift) for text, shift in (
    ("::ffff:0:0/96", 0), ("::ffff:0:0:0/96", 0), ("64:ff9b::/96", 0), ("2002::/16", 80),
))  # fmt: skip
"""Networks whose addresses stand for an IPv4 address (mapped, translated, NAT64, 6to4), and the bits right of it."""

FORBIDDEN: Final[tuple[Network, ...]] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "fe80::/10", "ff00::/8",
        "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::254/128",
        "fd00:c1::a9fe:a9fe/128", "fd00:42::42/128",
        "::/96", "64:ff9b:1::/48", "2001::/32", "fec0::/10",
    )
)  # fmt: skip
"""This machine, link-local and multicast; metadata and host services of clouds; and IPv6 addresses that hide an IPv4
one which cannot be told (or is this machine's), or are of no network any more. Private ranges are where in-cluster
servers are."""


class Forbidden(httpx2.ConnectError):
    """A request that may not be made; nothing was sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


class TooMuch(httpx2.ReadError):
    """An answer that is larger than may be, or packed so that its size cannot be told."""


def origin_of(url: str) -> str:
    """`scheme://host:port` in one spelling; empty for what is no http(s) address."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    named = bool(host) and parts.scheme in _PORTS and not parts.username
    return f"{parts.scheme}://{host.rstrip('.').lower()}:{port}" if named else ""


def api_server() -> tuple[Network, ...]:
    """The API server's address, where this process is told one."""
    try:
        return (ipaddress.ip_network(os.environ.get("KUBERNETES_SERVICE_HOST", "")),)
    except ValueError:
        return ()


def judged(address: str, forbidden: Collection[Network]) -> str | None:
    """The address to connect to, or None where none may be made. IPv4 inside of IPv6 is judged as IPv4."""
    try:
        found: Address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    inner = _inner(found) if isinstance(found, ipaddress.IPv6Address) else None
    told = [one for one in (found, inner) if one is not None]
    bad = any(one.version == network.version and one in network for one in told for network in forbidden)
    return None if bad else str(found)


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    shift = next((shift for network, shift in _CARRIERS if address in network), None)
    return None if shift is None else ipaddress.IPv4Address((int(address) >> shift) & 0xFFFFFFFF)


def _call_of(request: httpx2.Request) -> str:
    """The id a tool call carries in its `_meta`; empty for other requests."""
    try:
        found = json.loads(request.content)["params"]["_meta"][CALL_META]
    except (ValueError, TypeError, KeyError, RecursionError, httpx2.RequestNotRead):
        return ""
    return found if isinstance(found, str) else ""


@dataclass(slots=True)
class Fate:
    """What became of a request: the answer's status (0: none), why there was none, and whether it certainly was not
    taken: no connection was had, or the server refused it by its status."""

    status: int = 0
    failure: Exception | None = None
    unsent: bool = False


class GuardedTransport(httpx2.AsyncBaseTransport):
    """HTTP to one origin. Tool calls go side by side, so the fate of each is kept apart, by its id; "" is of the last
    request that was no tool call."""

    def __init__(self, url: str, tls: ssl.SSLContext, forbidden: Collection[Network]) -> None:
        self._origin = origin_of(url)
        self._forbidden = forbidden
        self._inner = httpx2.AsyncHTTPTransport(verify=tls, trust_env=False)
        self._answered = ""  # the address that answered last: while it is the name's, it is tried first
        self._fates: dict[str, Fate] = {}

    def fate(self, call: str = "") -> Fate:
        return self._fates.get(call) or Fate()

    def forget(self, call: str) -> None:
        self._fates.pop(call, None)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises httpx2.ConnectError before anything is sent, ReadError after."""
        fate = Fate()
        if request.method != "GET":
            self._fates[_call_of(request)] = fate
        try:
            return await self._answer(request, fate)
        except Exception as error:
            fate.failure = error
            raise

    async def _answer(self, request: httpx2.Request, fate: Fate) -> httpx2.Response:
        if origin_of(str(request.url)) != self._origin:
            raise Forbidden("the server wanted the request sent elsewhere; it is not followed")
        if request.method == "GET":
            return httpx2.Response(405, request=request)  # no stream of the server's own: all there is comes as replies
        try:
            response = await self._onward(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            fate.unsent = True
            raise
        fate.status = response.status_code
        fate.unsent = response.status_code in _NOT_TAKEN
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise TooMuch("the server packs its answers, which was not asked for")
        response.stream = _Bounded(response.stream)
        return response

    async def _onward(self, request: httpx2.Request) -> httpx2.Response:
        """The answer of the first address a connection is had to, each given a fair share of the time that is left."""
        found = await self._addresses(request.url.host, request.url.port or _PORTS[request.url.scheme])
        addresses = sorted(found, key=lambda one: one != self._answered)
        end = _now() + _connect_seconds(request)
        while True:
            address = addresses.pop(0)
            left = max(end - _now(), 0.0)
            seconds = max(left / (len(addresses) + 1), min(left, ADDRESS_SECONDS))
            try:
                response = await self._inner.handle_async_request(_to(address, request, seconds))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):  # nothing of the request was sent
                if not addresses:
                    raise
            else:
                self._answered = address
                return response

    async def _addresses(self, host: str, port: int) -> list[str]:
        """Where a name leads, in the resolver's order. Raises Forbidden where one of them may not be reached."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(limits.EXTERNAL_CONNECT_MAX_SECONDS):
                found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, TimeoutError, UnicodeError) as error:
            raise httpx2.ConnectError(f"the name {host} is not known ({type(error).__name__})") from error
        addresses = [judged(str(entry[4][0]), self._forbidden) for entry in found]
        allowed = [address for address in addresses if address is not None]
        if not allowed or len(allowed) < len(addresses):
            raise Forbidden(f"{host} is, or points at, an address no Connection may reach")
        return list(dict.fromkeys(allowed))[:ADDRESSES_TRIED_MAX_COUNT]

    async def aclose(self) -> None:
        await self._inner.aclose()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _connect_seconds(request: httpx2.Request) -> float:
    seconds = request.extensions.get("timeout", {}).get("connect")
    return float(limits.EXTERNAL_CONNECT_MAX_SECONDS if seconds is None else seconds)


def _to(address: str, request: httpx2.Request, connect_seconds: float) -> httpx2.Request:
    """The request to a judged address; its Host and the name its certificate must have stay those of the URL."""
    headers = [(k, v) for k, v in request.headers.raw if k.lower() != b"accept-encoding"]
    timeout = {**request.extensions.get("timeout", {}), "connect": connect_seconds}
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=[*headers, (b"accept-encoding", b"identity")],
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host, "timeout": timeout},
    )


class _Bounded(httpx2.AsyncByteStream):
    """A body that breaks off at a bound."""

    def __init__(self, stream: object) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:  # type: ignore[attr-defined]
            size += len(piece)
            if size > limits.EXTERNAL_REPLY_MAX_BYTES:
                raise TooMuch(f"the server's answer is over {limits.EXTERNAL_REPLY_MAX_BYTES} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()  # type: ignore[attr-defined]
