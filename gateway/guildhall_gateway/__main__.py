"""Starts the gateway: TLS on one port, the canary on another, health on a third; stops on SIGTERM."""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Final

import uvicorn

from guildhall_gateway import certificate, families
from guildhall_gateway.app import make_app
from guildhall_gateway.canary import Canary
from guildhall_gateway.config import Config, ConfigError, Tls, read_config
from guildhall_gateway.doorway import Doorway
from guildhall_gateway.gateway import Doors, Gateway
from guildhall_gateway.health import make_health
from guildhall_gateway.kube import in_cluster
from guildhall_gateway.token_review import KubernetesIdentity
from guildhall_gateway.watch import KubernetesRuns
from guildhall_gateway.wire import OnlyHttp

log = logging.getLogger("guildhall_gateway")

KEEP_ALIVE_SECONDS: Final = 75
HEALTH_REQUESTS_MAX_COUNT: Final = 200


class Server(uvicorn.Server):
    """uvicorn without its signal handling: the process has two servers and one way to stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def server(app: object, host: str, port: int, tls: Tls | None = None, at_once_max_count: int | None = None) -> Server:
    """A server that does not log requests, trusts no proxy header, upgrades to nothing and names no software.

    `at_once_max_count`: beyond it strangers hear 503, so the TLS port has none; its Doorway bounds it in silence."""
    settings = uvicorn.Config(
        app,  # type: ignore[arg-type]
        host=host,
        port=port,
        http=OnlyHttp,
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        lifespan="off",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        limit_concurrency=at_once_max_count,
        timeout_graceful_shutdown=5,
        ssl_certfile=tls.cert if tls else None,
        ssl_keyfile=tls.key if tls else None,
    )
    return Server(settings)


async def serve(config: Config) -> None:
    """Run until SIGTERM or SIGINT. Raises OSError when a port, the store or the cluster cannot be had."""
    client = in_cluster()
    runs = KubernetesRuns(client, list(config.run_namespaces))
    gateway = Gateway(config, Doors(runs, KubernetesIdentity(client, config.audience), runs, runs))
    canary, doorway = Canary(), Doorway()
    doors: list[socket.socket] = [doorway.listen(host, config.ports.https) for host in families.hosts(config.host)]
    main = server(doorway.around(make_app(gateway)), config.host, config.ports.https, config.tls)
    main.config.load()
    health_app = make_health(gateway.healthy, runs.ready)
    health = server(health_app, config.host, config.ports.health, at_once_max_count=HEALTH_REQUESTS_MAX_COUNT)
    health_doors = families.doors(config.host, config.ports.health)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    await gateway.start()
    runs.start()
    await canary.start(config.host, config.ports.canary)
    tasks = [asyncio.create_task(main.serve(doors)), asyncio.create_task(health.serve(health_doors))]
    if config.tls is not None and main.config.ssl is not None:
        tasks.append(asyncio.create_task(certificate.follow(config.tls, main.config.ssl)))
    log.info("serving %d run namespaces", len(config.run_namespaces))
    waiter = asyncio.create_task(stopping.wait())
    await asyncio.wait([waiter, *tasks], return_when=asyncio.FIRST_COMPLETED)
    log.info("stopping")
    await gateway.stop()
    main.should_exit = health.should_exit = True
    await asyncio.wait(tasks[:2], timeout=10)
    for task in [*tasks, waiter]:
        task.cancel()
    await asyncio.gather(*tasks, waiter, return_exceptions=True)
    await canary.stop()
    await runs.stop()
    await client.close()


def main() -> int:
    """0 after a clean stop, 1 when the gateway cannot run, 2 for a bad configuration."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    for talkative in ("httpx", "httpx2", "mcp", "client"):  # they log addresses, and what servers say
        logging.getLogger(talkative).setLevel(logging.WARNING if talkative == "httpx" else logging.CRITICAL)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # a warning for each nonsense a stranger sends
    try:
        config = read_config()
    except ConfigError as error:
        log.error("%s", error)  # noqa: TRY400  the message says all there is
        return 2
    try:
        asyncio.run(serve(config))
    except OSError as error:
        log.error("%s", error)  # noqa: TRY400
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
