"""Tools of the executor against the real workshop binary."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from support.tool_place import Place, tools_on


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with tools_on(tmp_path) as one:
        yield one
