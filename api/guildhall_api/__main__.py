"""`python -m guildhall_api`: read the configuration, connect, serve until told to stop."""

import asyncio
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from guildhall_contracts.limits import STREAM_HEARTBEAT_SECONDS
from pydantic import ValidationError

from guildhall_api.app import make_app, make_services
from guildhall_api.config import Config, load
from guildhall_api.gateway import HttpGateway
from guildhall_api.history import History
from guildhall_api.identity import Everyone, KubernetesIdentity
from guildhall_api.kube import Kube, find_access
from guildhall_api.watch import KubernetesRuns


class Server(uvicorn.Server):
    """uvicorn's, ending with status 0 when it was told to end: it would raise the signal again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


async def serve(config: Config) -> None:
    """Until SIGTERM; open streams are told to end first."""
    kube = Kube(find_access())
    gateway = HttpGateway(config.gateway)
    identity = (
        Everyone(config.sign_in.user)
        if config.sign_in.mode == "none"
        else KubernetesIdentity(kube, config.sign_in.audiences)
    )
    source = KubernetesRuns(kube, config.run_namespaces)
    services = make_services(config, source, identity, gateway, History(config.database_url))
    settings = uvicorn.Config(
        make_app(services), host=config.listen, port=config.port, log_config=None, server_header=False,
        proxy_headers=False, timeout_graceful_shutdown=STREAM_HEARTBEAT_SECONDS + 5, access_log=False,
        limit_concurrency=2_000, h11_max_incomplete_event_size=64 * 1024,
    )  # fmt: skip
    try:
        await Server(settings).serve()
    finally:
        await gateway.aclose()
        await kube.aclose()


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        config = load()
    except (OSError, ValidationError) as error:
        sys.stderr.write(f"the configuration cannot be used: {error}\n")
        return 2
    asyncio.run(serve(config))
    return 0


if __name__ == "__main__":
    sys.exit(main())
