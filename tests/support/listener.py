"""Something on this machine that must hear nothing: a TCP and UDP port, and an abstract Unix socket."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field


@dataclass
class Listener:
    """`heard` holds the first bytes of whatever came, by what door."""

    address: str
    port: int
    abstract: str
    heard: list[tuple[str, bytes]] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"{self.address}:{self.port}"

    async def take(self, door: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = b""
        with contextlib.suppress(OSError, TimeoutError):
            data = await asyncio.wait_for(reader.read(65_536), 2)
            writer.write(b"HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
        self.heard.append((door, data))
        writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, listener: Listener) -> None:
        self.listener = listener

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.listener.heard.append(("udp", data))


def own_address() -> str:
    """An address of this machine, not loopback if there is one. No packet is sent: the kernel is asked for a route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    return "127.0.0.1"


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    listener = Listener(own_address(), 0, f"guildhall-hears-nothing-{os.getpid()}-{os.urandom(4).hex()}")
    tcp = await asyncio.start_server(lambda r, w: listener.take("tcp", r, w), listener.address, 0)
    listener.port = tcp.sockets[0].getsockname()[1]
    unix = await asyncio.start_unix_server(lambda r, w: listener.take("unix", r, w), "\0" + listener.abstract)
    loop = asyncio.get_running_loop()
    udp, _ = await loop.create_datagram_endpoint(
        lambda: _Datagrams(listener), local_addr=(listener.address, listener.port)
    )
    try:
        yield listener
    finally:
        udp.close()
        for server in (tcp, unix):
            server.close()
            await server.wait_closed()
