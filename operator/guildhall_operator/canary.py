"""Proves, from the operator's own unrestricted pod, that the canary answers.

Guards against taking a dead address for a denial: what nobody can reach proves nothing about a run pod.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable
from typing import Final

from guildhall_contracts.gate import Target
from guildhall_contracts.limits import CANARY_ANSWER_MAX_BYTES

from guildhall_operator.config import Config
from guildhall_operator.observe import Surroundings

INTERVAL_SECONDS: Final = 5.0
CONNECT_SECONDS: Final = 2.0

logger = logging.getLogger(__name__)


def api_server_target(config: Config) -> Target | None:
    """Where a run pod would look for the API server."""
    if config.api_server is not None:
        return config.api_server
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    return Target(name="api-server", host=host, port=int(port)) if host and port.isdigit() else None


def gate_targets(config: Config, gateway_ip: str) -> tuple[Target, ...]:
    """What must never answer a run pod: the canary, the API server, and what the chart lists."""
    canary = Target(name="canary", host=gateway_ip, port=config.gateway.canary_port)
    server = api_server_target(config)
    return (canary, *([server] if server else []), *config.isolation.targets)


async def resolve(config: Config) -> str:
    """The gateway's ClusterIP. Raises OSError."""
    if config.gateway.cluster_ip is not None:
        return config.gateway.cluster_ip
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(config.gateway.service, config.gateway.port, type=socket.SOCK_STREAM)
    return str(found[0][4][0])


async def answers(host: str, port: int) -> str:
    """Why the canary does not answer; empty when it does."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                line = await reader.read(CANARY_ANSWER_MAX_BYTES)
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        return f"{host}:{port}: {error or 'timed out'!s}" if str(error) else f"{host}:{port} timed out"
    return "" if line else f"{host}:{port} closed without a word"


async def look(config: Config, around: Surroundings, clock: Callable[[], float] = time.monotonic) -> None:
    """One proof, written into `around`."""
    try:
        host = await resolve(config)
    except OSError as error:
        around.canary_problem = f"'{config.gateway.service}' does not resolve: {error}"
        return
    if host != around.gateway_ip:
        around.gateway_ip = host
        around.targets = gate_targets(config, host)
    problem = await answers(host, config.gateway.canary_port)
    if problem and problem != around.canary_problem:
        logger.warning("the canary does not answer: %s", problem)
    around.canary_problem = problem
    if not problem:
        around.canary_at = clock()


async def keep_looking(config: Config, around: Surroundings) -> None:
    """Never returns."""
    while True:
        await look(config, around)
        await asyncio.sleep(INTERVAL_SECONDS if not around.canary_problem else 1.0)
