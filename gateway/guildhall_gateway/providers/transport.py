"""The HTTP client of one provider. Guards against answers without end, packed answers that unfold, and redirects.

A provider's URL comes from the chart alone; an answer that points elsewhere is not followed, so the key goes nowhere
else. Proxies come from the environment, as the platform team sets it.
"""

from collections.abc import AsyncIterator
from typing import Final

import httpx2
from guildhall_contracts import limits

CONNECT_SECONDS: Final = 10.0
ANSWER_MAX_BYTES: Final = 64 * limits.MIB  # 128,000 output tokens, each an event of 500 bytes
LINE_MAX_BYTES: Final = 8 * limits.MIB  # SDKs hold a line until it ends, and copy it with every piece that comes


class AnswerTooLarge(httpx2.TransportError):
    """The provider sent more than any answer may hold."""


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = line = 0
        async for piece in self._inner:
            size += len(piece)
            end = piece.rfind(b"\n")
            line = line + len(piece) if end < 0 else len(piece) - end - 1
            if size > ANSWER_MAX_BYTES or line > LINE_MAX_BYTES:
                raise AnswerTooLarge("the answer, or a line of it, is larger than any may be")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


def http_client(silence_seconds: float) -> httpx2.AsyncClient:
    """A client that follows no redirects and waits so long for a provider that says nothing."""

    async def asked(request: httpx2.Request) -> None:
        request.headers["Accept-Encoding"] = "identity"

    async def answered(response: httpx2.Response) -> None:
        packed = response.headers.get("Content-Encoding", "identity").strip().lower()
        if packed not in ("identity", ""):
            raise httpx2.RemoteProtocolError("a packed answer was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101  what an async client gives
        response.stream = _Counted(response.stream)

    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(float(silence_seconds), connect=CONNECT_SECONDS),
        follow_redirects=False,
        event_hooks={"request": [asked], "response": [answered]},
    )
