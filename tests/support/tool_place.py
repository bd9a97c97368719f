"""The executor's tools on a folder of a test's own, through the real workshop binary and its real client."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guildhall_executor.tools import file, read, shell
from guildhall_executor.tools.result import Ran
from guildhall_executor.workshop import Workshop
from support.workshop import running


@dataclass
class Place:
    """A workspace and the tools' way to it."""

    folder: Path
    ask: Workshop

    async def read(self, path: str, **fields: Any) -> Ran:
        return await read.read_file(self.ask, read.ReadFile(path=path, **fields))

    async def write(self, path: str, content: str) -> Ran:
        return await file.write_file(self.ask, file.WriteFile(path=path, content=content))

    async def edit(self, path: str, old: str, new: str, **fields: Any) -> Ran:
        return await file.edit_file(self.ask, file.EditFile(path=path, old_text=old, new_text=new, **fields))

    async def list(self, path: str = ".", **fields: Any) -> Ran:
        return await file.list_files(self.ask, file.ListFiles(path=path, **fields))

    async def search(self, pattern: str, **fields: Any) -> Ran:
        return await file.search_files(self.ask, file.SearchFiles(pattern=pattern, **fields))

    async def shell(self, command: str = "", **fields: Any) -> Ran:
        return await shell.run_shell(self.ask, shell.RunShell(command=command, **fields))


@asynccontextmanager
async def tools_on(base: Path) -> AsyncIterator[Place]:
    """Tools on `base/workspace`."""
    with running(base, with_baseline=False) as server:
        ask = Workshop(server.socket_path, os.getuid(), 10)
        try:
            yield Place(server.workspace, ask)
        finally:
            await ask.close()
