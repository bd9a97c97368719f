"""The canary: a port that answers whoever reaches it, so that a run pod's failure to reach it proves the policy."""

import asyncio
from typing import Final

ANSWER: Final = b"guildhall canary: if a run pod reads this, its network is open\n"
CONNECTIONS_MAX_COUNT: Final = 256


class Canary:
    """Accepts, writes one line, closes; reads nothing."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._open = 0

    async def start(self, host: str, port: int) -> int:
        """Listen; gives the port. Raises OSError."""
        self._server = await asyncio.start_server(self._answer, host, port, limit=1_024)
        return int(self._server.sockets[0].getsockname()[1])

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
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
