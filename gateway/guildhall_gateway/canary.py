"""The canary: a port that answers whoever reaches it, so that a run pod's failure to reach it proves the policy."""

import asyncio
from typing import Final

from guildhall_gateway import families

ANSWER: Final = b"guildhall canary: if a run pod reads this, its network is open\n"
CONNECTIONS_MAX_COUNT: Final = 256


class Canary:
    """Accepts, writes one line, closes; reads nothing."""

    def __init__(self) -> None:
        self._servers: list[asyncio.Server] = []
        self._open = 0

    async def start(self, host: str, port: int) -> int:
        """Listen, in each family `host` stands for; gives the port. Raises OSError."""
        for door in families.doors(host, port):
            self._servers.append(await asyncio.start_server(self._answer, sock=door, limit=1_024))
        return int(self._servers[0].sockets[0].getsockname()[1])

    async def _answer(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= CONNECTIONS_MAX_COUNT:
                writer.write(ANSWER)
                async with asyncio.timeout(2):
                    await writer.drain()
        except OSError:
            pass  # TimeoutError and resets: the caller left
        finally:
            self._open -= 1
            writer.close()

    async def stop(self) -> None:
        for server in self._servers:
            server.close()
        for server in self._servers:
            await server.wait_closed()
