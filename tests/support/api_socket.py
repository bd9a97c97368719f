"""The api on a real port of this machine."""

import asyncio  # noqa: I001
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn

from support.api_run import Api, until


@asynccontextmanager
async def served(api: Api) -> AsyncIterator[int]:
    """Serve `api` while the block runs; yields the port."""
    config = uvicorn.Config(api.app, host="127.0.0.1", port=0, lifespan="off", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        server.force_exit = True
        await task
