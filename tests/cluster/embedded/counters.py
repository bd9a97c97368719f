"""The kernel's named packet counters (nfacct). kube-proxy makes some and never deletes them; no tool is needed here."""

from __future__ import annotations

import socket
import struct

# Counters of kube-proxy, by its own names.
OURS = ("ct_state_invalid_dropped_pkts", "localhost_nps_accepted_pkts")

_NETFILTER = 12
_SUBSYSTEM = 7 << 8
_GET, _DELETE = _SUBSYSTEM | 1, _SUBSYSTEM | 3
_REQUEST, _ACK, _DUMP = 1, 4, 0x300
_NAME = 1
_ERROR, _DONE = 2, 3
_HEADER = struct.Struct("=IHHII")
_FAMILY = struct.Struct("=BBH")
_ATTRIBUTE = struct.Struct("=HH")


def _ask(kind: int, flags: int, attributes: bytes = b"") -> list[tuple[int, bytes]]:
    """Send one netlink message; the type and payload of each reply up to the last."""
    body = _FAMILY.pack(0, 0, 0) + attributes
    message = _HEADER.pack(_HEADER.size + len(body), kind, _REQUEST | flags, 1, 0) + body
    replies: list[tuple[int, bytes]] = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETFILTER) as link:
        link.settimeout(2)
        link.send(message)
        while not replies or replies[-1][0] not in (_ERROR, _DONE):
            replies += _split(link.recv(1 << 16))
    return replies


def _split(data: bytes) -> list[tuple[int, bytes]]:
    found = []
    while len(data) >= _HEADER.size:
        length, kind, _, _, _ = _HEADER.unpack_from(data)
        found.append((kind, data[_HEADER.size : length]))
        data = data[max((length + 3) & ~3, _HEADER.size) :]
    return found


def _name(payload: bytes) -> str | None:
    rest = payload[_FAMILY.size :]
    while len(rest) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(rest)
        if kind == _NAME:
            return rest[_ATTRIBUTE.size : length].rstrip(b"\0").decode(errors="replace")
        rest = rest[max((length + 3) & ~3, _ATTRIBUTE.size) :]
    return None


def names() -> set[str]:
    """Names of all counters; empty where the kernel has none or does not know them."""
    try:
        replies = _ask(_GET, _DUMP)
    except OSError:
        return set()
    return {name for kind, payload in replies if kind == _GET - 1 and (name := _name(payload)) is not None}


def delete_ours() -> None:
    """Delete kube-proxy's counters; one that a rule still uses stays."""
    for name in names() & set(OURS):
        value = name.encode() + b"\0"
        attribute = _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), _NAME) + value
        _ask(_DELETE, _ACK, attribute.ljust((len(attribute) + 3) & ~3, b"\0"))
