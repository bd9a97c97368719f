"""Where the gateway listens. Guards the answer to "who asks": each family has a socket of its own, so that a peer's
address reads as its pod's status has it, and never as IPv4 inside of IPv6.
"""

import socket
from typing import Final

EVERY_IPV4: Final = "0.0.0.0"  # noqa: S104  a pod listens on its own addresses
EVERY_IPV6: Final = "::"


def hosts(host: str) -> list[str]:
    """`host`; where it is empty, every address of each family this machine has."""
    if host:
        return [host]
    return [EVERY_IPV4, EVERY_IPV6] if _has_ipv6() else [EVERY_IPV4]


def _has_ipv6() -> bool:
    try:
        bound(EVERY_IPV6, 0, socket.socket(socket.AF_INET6, socket.SOCK_STREAM)).close()
    except OSError:
        return False
    return True


def family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def bound(host: str, port: int, made: socket.socket) -> socket.socket:
    """`made`, bound there, for its own family alone. Raises OSError, and has closed it then."""
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if made.family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((host, port))
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made


def doors(host: str, port: int) -> list[socket.socket]:
    """A bound socket of each family `host` stands for. Raises OSError."""
    return [bound(each, port, socket.socket(family(each), socket.SOCK_STREAM)) for each in hosts(host)]
