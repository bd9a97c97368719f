"""Wires everything: configuration in, an ASGI application out. Reads as a table of contents."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from guildhall_api.auth import Auth
from guildhall_api.config import Config, StartError
from guildhall_api.console import File, read_console, serve
from guildhall_api.gateway import GatewayClient
from guildhall_api.guard import Guard
from guildhall_api.history import History
from guildhall_api.keeper import Keeper
from guildhall_api.kube import KubeError
from guildhall_api.markup import Render, plain, renderer
from guildhall_api.metrics import registry_of
from guildhall_api.problems import Refused, from_cluster, problem
from guildhall_api.routes import acts, flow, health, people, runs, session, stream
from guildhall_api.services import Services
from guildhall_api.source import IdentitySource, RunSource

log = logging.getLogger(__name__)

POLICY_FILE = "/src/markdown-policy.json"


def make_services(
    config: Config, source: RunSource, identity: IdentitySource, gateway: GatewayClient, history: History
) -> Services:
    """Everything but the network. Raises StartError."""
    keeper = Keeper(config, source, history, gateway)
    console = read_console(Path(config.console_dir))
    return Services(
        config=config, source=source, history=history, gateway=gateway, keeper=keeper,
        auth=Auth(config.sign_in, identity), metrics=registry_of(keeper),
        console=console, render=_render(console),
    )  # fmt: skip


def _render(console: dict[str, File]) -> Render:
    """How the report shows prose: by the console's policy, else as text. Raises StartError."""
    policy = console.get(POLICY_FILE)
    try:
        return renderer(policy.data) if policy is not None else plain
    except (KeyError, TypeError, ValueError) as error:
        message = f"{POLICY_FILE} in consoleDir cannot be used: {error!r}"
        raise StartError(f"{message}; set consoleDir to the console of this version") from error


def make_routes() -> FastAPI:
    """The routes alone; the contract is generated from them."""
    app = FastAPI(title="Guildhall", version="1", openapi_url=None, docs_url=None, redoc_url=None, lifespan=_lifespan)
    for module in (session, runs, flow, stream, acts, people, health):
        app.include_router(module.router)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(KubeError, _cluster)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _broken)
    return app


def make_app(services: Services) -> ASGIApp:
    """The application as it is served."""
    app = make_routes()
    app.state.services = services

    @app.get("/{path:path}", include_in_schema=False)
    async def console(request: Request) -> Response:
        return serve(services.console, request)

    return Guard(app, services.config.hosts)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    async with running(services):
        yield


@asynccontextmanager
async def running(services: Services) -> AsyncIterator[None]:
    """Follow the cluster while the block runs."""
    await services.history.open()
    keeping = asyncio.create_task(services.keeper.run())
    keeping.add_done_callback(_ended)
    try:
        yield
    finally:
        services.closing = True
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await services.history.close()


def _ended(task: "asyncio.Task[None]") -> None:
    """A keeper that ends by itself leaves an api that shows the past for ever: say so, loudly."""
    if not task.cancelled() and task.exception() is not None:
        log.critical("following the cluster ended", exc_info=task.exception())


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)  # noqa: S101
    return problem(error.status, error.title, error.detail, error.headers)


async def _cluster(request: Request, error: Exception) -> Response:
    assert isinstance(error, KubeError)  # noqa: S101
    return await _refused(request, from_cluster(error, "this request"))


async def _invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    found = error.errors()
    detail = "; ".join(f"{'.'.join(str(step) for step in each['loc'])}: {each['msg']}" for each in found[:10])
    in_body = any(each["loc"] and each["loc"][0] == "body" and each["type"] != "json_invalid" for each in found)
    return problem(422 if in_body else 400, "The request breaks the contract", detail)


async def _http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    title = "There is nothing here" if error.status_code == 404 else str(error.detail)[:200]
    return problem(error.status_code, title, "", error.headers)


async def _broken(_request: Request, error: Exception) -> Response:
    log.error("a request failed", exc_info=error)
    return problem(500, "The api failed", "The log of the api has the cause.")
