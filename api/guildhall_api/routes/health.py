"""For the kubelet and Prometheus: alive, ready, and the figures."""

from fastapi import APIRouter, Request
from prometheus_client import generate_latest
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import PlainTextResponse, Response

from guildhall_api.services import services_of

router = APIRouter(tags=["health"])


@router.get("/healthz", response_class=PlainTextResponse)
async def healthz(request: Request) -> Response:
    """200 while every watch is alive; else 503 and which is not."""
    services = services_of(request)
    problem = "following the cluster has ended" if services.keeper.ended else services.source.healthy()
    return PlainTextResponse(problem or "ok", 503 if problem else 200)


@router.get("/readyz", response_class=PlainTextResponse)
async def readyz(request: Request) -> Response:
    """200 once everything was listed and the database answers."""
    services = services_of(request)
    if not services.keeper.ready:
        return PlainTextResponse("not every run namespace is listed yet", 503)
    try:
        await services.history.ping()
    except SQLAlchemyError:
        return PlainTextResponse("the history database does not answer", 503)
    return PlainTextResponse("ok")


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Figures in Prometheus' text format; no name of a Run or person is among them."""
    return Response(generate_latest(services_of(request).metrics), media_type="text/plain; version=0.0.4")
