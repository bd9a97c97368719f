"""How routes answer: bytes that are JSON already, compressed for whoever takes it, and the table of refusals."""

import asyncio
import gzip
from typing import Any, Final

from guildhall_contracts.api import Problem
from starlette.requests import Request
from starlette.responses import Response

_COMPRESS_ABOVE_BYTES: Final = 2_048
_REFUSALS: Final = {
    400: "The query cannot be read",
    401: "Not signed in",
    403: "The cluster does not allow this",
    404: "No such thing",
    409: "It has ended, or the name is taken",
    422: "The body breaks the contract, or admission refused it",
    429: "Too many at once",
    502: "The gateway or the cluster refused the api",
    503: "The gateway or the cluster cannot be reached",
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI's table of what a route may refuse with."""
    content = {"application/problem+json": {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}
    return {status: {"description": _REFUSALS[status], "content": content} for status in (401, 403, *statuses)}


async def json_bytes(request: Request, body: bytes, status: int = 200) -> Response:
    """JSON that is written already."""
    headers = {"Vary": "Accept-Encoding"}
    if len(body) > _COMPRESS_ABOVE_BYTES and "gzip" in request.headers.get("accept-encoding", ""):
        body = await asyncio.to_thread(gzip.compress, body, 4)
        headers["Content-Encoding"] = "gzip"
    return Response(body, status, headers, "application/json")
