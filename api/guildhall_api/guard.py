"""The outermost layer: security headers on every answer; Host, Origin, content type and size of every request.

Guards against other sites' pages (cross-site requests, DNS rebinding) and against bodies that do not end.
"""

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guildhall_api.problems import problem
from guildhall_api.report import POLICY

BODY_MAX_BYTES: Final = 1024 * 1024
SECURITY_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
        "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types guildhall-parse guildhall-worker"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
REPORT_POLICY: Final = f"{POLICY}; sandbox"
PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
_ALWAYS: Final = ("localhost:*", "127.0.0.1:*", "[::1]:*")
_SAFE: Final = frozenset({"GET", "HEAD"})


def host_allowed(host: str, allowed: Iterable[str]) -> bool:
    """Whether a Host header names this service; `name:*` stands for any port or none."""
    name = host.lower()
    bare, colon, port = name.rpartition(":")
    if not colon or not port.isdigit():
        bare = name
    return any(name == each.lower() or (each.endswith(":*") and bare == each[:-2].lower()) for each in allowed)


def foreign(headers: Headers) -> str | None:
    """Why a request comes from another site's page, or None."""
    if headers.get("sec-fetch-site") in {"cross-site", "same-site"} and headers.get("sec-fetch-mode") != "navigate":
        return "it was made by a page of another site"
    origin = headers.get("origin")
    if origin is None:
        return None
    parts = urlsplit(origin)
    if parts.scheme in {"http", "https"} and parts.netloc.lower() == headers.get("host", "").lower():
        return None
    return f"its Origin is {origin[:100]!r}"


def refusal(scope: Scope, headers: Headers, hosts: Iterable[str]) -> tuple[int, str, str] | None:
    """Why a request is refused before anything reads it: status, title, detail; None lets it in."""
    if scope["path"] in PROBES:
        return None
    names = headers.getlist("host")
    if len(names) != 1 or not host_allowed(names[0], hosts):
        return 421, "This service does not answer to that Host", "Add the name to the api's `hosts`, or use localhost."
    why = foreign(headers)
    if why is not None and scope["path"].startswith("/api"):
        return 403, "Requests from other sites are refused", f"The request was refused because {why}."
    return None if scope["method"] in _SAFE else _unreadable(headers)


def _unreadable(headers: Headers) -> tuple[int, str, str] | None:
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return 415, "Only JSON is read", "Send Content-Type: application/json; an empty body is {}."
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > BODY_MAX_BYTES:
        return 413, "The body is too large", f"At most {BODY_MAX_BYTES} bytes are read."
    return None


class Guard:
    """ASGI middleware around everything."""

    def __init__(self, app: ASGIApp, hosts: list[str]) -> None:
        self._app = app
        self._hosts = (*_ALWAYS, *hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guarded = _with_headers(scope, send)
        refused = refusal(scope, Headers(scope=scope), self._hosts)
        if refused is not None:
            await problem(*refused)(scope, receive, guarded)
            return
        await self._app(scope, _bounded(receive), guarded)


def _with_headers(scope: Scope, send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            if scope["path"].startswith("/api"):
                headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return wrapped


def _bounded(receive: Receive) -> Receive:
    """A body without a length that grows too long ends as if the client had left."""
    seen = 0

    async def wrapped() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > BODY_MAX_BYTES:
                return {"type": "http.disconnect"}
        return message

    return wrapped
