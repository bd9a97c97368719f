"""Asks again and again whether the network is still closed. Guards against a policy taken away during a Run."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from typing import Final

from guildhall_contracts.gate import Target

ATTEMPT_SECONDS: Final = 1.0


async def answers(target: Target, seconds: float = ATTEMPT_SECONDS) -> bool:
    """Whether a TCP connection to `target` succeeds. Only addresses are tried: no name is ever looked up."""
    family = socket.AF_INET6 if ipaddress.ip_address(target.host).version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as sock:
        try:
            async with asyncio.timeout(seconds):
                await asyncio.get_running_loop().sock_connect(sock, (target.host, target.port))
        except (OSError, TimeoutError):
            return False
    return True


def unsound(targets: Sequence[Target]) -> list[str]:
    """Targets that cannot be tried because they are names."""
    return [target.name for target in targets if not _is_address(target.host)]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def first_answer(targets: Sequence[Target], every_seconds: float) -> Target:
    """Waits until a required target answers, and says which. Without required targets it waits for ever."""
    required = [target for target in targets if target.required]
    while True:
        results = await asyncio.gather(*(answers(target) for target in required))
        for target, answered in zip(required, results, strict=True):
            if answered:
                return target
        await asyncio.sleep(every_seconds)
