"""Tools of the executor against the real workshop binary."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from guildhall_executor.workshop import Workshop
from support.workshop import running


class Place:
    """A workspace and the tools' way to it."""

    def __init__(self, folder: Path, ask: Workshop) -> None:
        self.folder = folder
        self.ask = ask


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    with running(tmp_path, with_baseline=False) as server:
        ask = Workshop(server.socket_path, os.getuid(), 10)
        yield Place(server.workspace, ask)
        await ask.close()
