"""Proves, from the operator's own unrestricted pod, that the canary answers.

Guards against taking a dead address for a denial: what nobody can reach proves nothing about a run pod.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from guildhall_contracts.gate import Target
from guildhall_contracts.limits import CANARY_ANSWER_MAX_BYTES

from guildhall_operator.config import Config
from guildhall_operator.observe import Surroundings

INTERVAL_SECONDS: Final = 5.0
CONNECT_SECONDS: Final = 2.0
API_SERVER_NAME: Final = "kubernetes.default.svc"

logger = logging.getLogger(__name__)


def api_server_targets(config: Config, found: Sequence[str] = ()) -> tuple[Target, ...]:
    """Where a run pod would look for the API server; `found` are addresses of its Service."""
    if config.api_server is not None:
        return (config.api_server,)
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not port.isdigit():
        return ()
    return _targets("api-server", one_of_each_family((host, *found)), int(port))


def gate_targets(config: Config, gateway: Sequence[str], server: Sequence[str] = ()) -> tuple[Target, ...]:
    """What must never answer a run pod: canary and API server, by each family they have, and what the chart lists."""
    canaries = _targets("canary", gateway, config.gateway.canary_port)
    return (*canaries, *api_server_targets(config, server), *config.isolation.targets)


def _targets(name: str, hosts: Sequence[str], port: int) -> tuple[Target, ...]:
    """One target an address; the second, of the other family, is named after it."""
    names = (name, *(f"{name}-{'ipv6' if ':' in host else 'ipv4'}" for host in hosts[1:]))
    return tuple(Target(name=said, host=host, port=port) for said, host in zip(names, hosts, strict=True))


def one_of_each_family(hosts: Iterable[str]) -> tuple[str, ...]:
    """The first IPv4 and the first IPv6 address, in this order; what is no address counts as IPv4."""
    first: dict[bool, str] = {}
    for host in hosts:
        first.setdefault(":" in host, host)
    return tuple(first[family] for family in (False, True) if family in first)


async def addresses(name: str, port: int) -> tuple[str, ...]:
    """The addresses of a Service, one of each family this pod has itself. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return one_of_each_family(str(item[4][0]) for item in found)


async def resolve(config: Config) -> tuple[str, ...]:
    """The gateway's ClusterIPs, one of each family. Raises OSError."""
    if config.gateway.cluster_ip is not None:
        return (config.gateway.cluster_ip,)
    return await addresses(config.gateway.service, config.gateway.port)


async def resolve_server(config: Config, known: tuple[str, ...]) -> tuple[str, ...]:
    """The API server's ClusterIPs, one of each family; `known` while its name says nothing or need not be asked."""
    if config.api_server is not None or "KUBERNETES_SERVICE_HOST" not in os.environ:
        return known
    try:
        return await addresses(API_SERVER_NAME, 443)
    except OSError:
        return known


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
        return f"{host}:{port}: {error}" if str(error) else f"{host}:{port} timed out"
    return "" if line else f"{host}:{port} closed without a word"


async def look(config: Config, around: Surroundings, clock: Callable[[], float] = time.monotonic) -> None:
    """One proof, written into `around`: the canary has answered when it did by every family it has."""
    try:
        hosts = await resolve(config)
    except OSError as error:
        around.canary_problem = f"'{config.gateway.service}' does not resolve: {error}"
        return
    around.server_ips = await resolve_server(config, around.server_ips)
    around.gateway_ip = hosts[0]
    around.targets = gate_targets(config, hosts, around.server_ips)
    problems = await asyncio.gather(*(answers(host, config.gateway.canary_port) for host in hosts))
    problem = "; ".join(filter(None, problems))
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
