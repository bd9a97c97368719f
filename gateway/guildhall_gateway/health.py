"""The plain port: alive, ready, metrics. Says nothing about any Run."""

from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from guildhall_gateway.metrics import REGISTRY


def make_health(healthy: Callable[[], bool], ready: Callable[[], bool]) -> Starlette:
    """`/healthz` turns red when a watch or worker is dead, `/readyz` while the cluster is not listed yet."""

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("ok" if healthy() else "a watch or worker is dead", 200 if healthy() else 503)

    async def readyz(_request: Request) -> Response:
        good = healthy() and ready()
        return PlainTextResponse("ok" if good else "not ready", 200 if good else 503)

    async def metrics(_request: Request) -> Response:
        return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST)

    return Starlette(routes=[Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)])
