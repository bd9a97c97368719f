"""`python -m guildhall_api`: read the configuration, connect, serve until told to stop."""

import asyncio
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from guildhall_contracts.limits import STREAM_HEARTBEAT_SECONDS

from guildhall_api.app import make_app, make_services
from guildhall_api.config import Config, StartError, load
from guildhall_api.console import INDEX
from guildhall_api.gateway import HttpGateway
from guildhall_api.history import History
from guildhall_api.identity import Everyone, KubernetesIdentity
from guildhall_api.kube import Kube, find_access
from guildhall_api.services import Services
from guildhall_api.watch import KubernetesRuns

log = logging.getLogger("guildhall_api")


class Server(uvicorn.Server):
    """uvicorn's, ending with status 0 when it was told to end: it would raise the signal again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


async def serve(config: Config) -> None:
    """Until SIGTERM; open streams are told to end first. Raises StartError."""
    kube = Kube(find_access())
    gateway = HttpGateway(config.gateway)
    try:
        services = await _services(config, kube, gateway)
        try:
            await _serve(services)
        finally:
            await services.history.close()
    finally:
        await gateway.aclose()
        await kube.aclose()


async def _services(config: Config, kube: Kube, gateway: HttpGateway) -> Services:
    """What the routes work with, each part tried as far as can be before anyone asks. Raises StartError."""
    identity = (
        Everyone(config.sign_in.user)
        if config.sign_in.mode == "none"
        else KubernetesIdentity(kube, config.sign_in.audiences)
    )
    source = KubernetesRuns(kube, config.run_namespaces)
    services = make_services(config, source, identity, gateway, History(config.database_url))
    if INDEX not in services.console:
        raise StartError(f"consoleDir {config.console_dir} has no index.html: set it to the folder of the console")
    await services.history.open()  # the server's start opens it again, but tells of a failure by a traceback
    return services


async def _serve(services: Services) -> None:
    """Until SIGTERM. Raises StartError where nobody can be served."""
    listen, port = services.config.listen, services.config.port
    settings = uvicorn.Config(
        make_app(services), host=listen, port=port, log_config=None, server_header=False,
        proxy_headers=False, timeout_graceful_shutdown=STREAM_HEARTBEAT_SECONDS + 5, access_log=False,
        limit_concurrency=2_000, h11_max_incomplete_event_size=64 * 1024,
    )  # fmt: skip
    try:
        await Server(settings).serve()
    except SystemExit as error:  # uvicorn's word for a start that failed
        message = f"the api cannot serve on {listen}, port {port}: the log above says why"
        raise StartError(f"{message}; listen and port say where") from error


def main() -> int:
    """0 after a clean stop, 1 when the api cannot start, 2 for a bad configuration file."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        asyncio.run(serve(load()))
    except StartError as error:
        log.error("%s", error)  # noqa: TRY400  the message says all there is
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
