"""Blobs: bytes under their own SHA-256, for each Run. Guards against filling the disk and against a hash that lies."""

import asyncio
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from guildhall_contracts import limits
from sqlalchemy import Connection, text

from guildhall_gateway.problems import Refusal, Refused, refusal, too_large
from guildhall_gateway.store import Store

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_RUN: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
WRITE_BUFFER_BYTES: Final = 256 * 1024


class Blobs:
    """Files `<folder>/<run>/<sha256>`; the store has their sizes. A file counts only once it is in both."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        *,
        blob_max_bytes: int = limits.BLOB_MAX_BYTES,
        run_max_bytes: int = limits.BLOBS_PER_RUN_MAX_BYTES,
    ) -> None:
        self._store = store
        self._folder = folder
        self._blob_max_bytes = blob_max_bytes
        self._run_max_bytes = run_max_bytes

    def open(self) -> None:
        """Make the folder and remove what an earlier gateway left half written. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for partial in self._folder.glob("*/*.part"):
            partial.unlink(missing_ok=True)

    def path(self, run: str, sha256: str) -> Path:
        if not (_RUN.fullmatch(run) and _SHA256.fullmatch(sha256)):
            raise Refused(refusal(404, "internal", "there is no such blob", retryable=False))
        return self._folder / run / sha256

    async def put(self, run: str, sha256: str, body: AsyncIterator[bytes], declared_bytes: int | None) -> bool:
        """Take a blob in; False when it was there already. Raises Refused for a wrong hash or too many bytes."""
        target = self.path(run, sha256)
        if declared_bytes is not None and declared_bytes > self._blob_max_bytes:
            raise Refused(too_large(self._blob_max_bytes))
        await self._room_for(run, declared_bytes or 0)
        target.parent.mkdir(exist_ok=True)
        partial = target.with_name(f"{sha256}.{secrets.token_hex(4)}.part")
        try:
            size = await self._receive(partial, sha256, body)
            return await self._keep(run, sha256, size, (partial, target))
        finally:
            partial.unlink(missing_ok=True)

    async def _receive(self, partial: Path, sha256: str, body: AsyncIterator[bytes]) -> int:
        size, hasher = 0, hashlib.sha256()
        with partial.open("wb", buffering=WRITE_BUFFER_BYTES) as file:
            async for piece in body:
                size += len(piece)
                if size > self._blob_max_bytes:
                    raise Refused(too_large(self._blob_max_bytes))
                hasher.update(piece)
                file.write(piece)
            file.flush()
            await asyncio.to_thread(os.fsync, file.fileno())
        if hasher.hexdigest() != sha256:
            text_ = f"the body's SHA-256 is {hasher.hexdigest()}, not the one in the address; nothing was kept"
            raise Refused(refusal(422, "internal", text_, retryable=True))
        return size

    async def _keep(self, run: str, sha256: str, size: int, moved: tuple[Path, Path]) -> bool:
        insert = text(
            "INSERT INTO blobs (run, sha256, size) VALUES (:run, :sha256, :size) ON CONFLICT (run, sha256) DO NOTHING"
        )

        def work(connection: Connection) -> bool:
            self._store.lock(connection, f"blobs:{run}")
            new = connection.execute(insert, {"run": run, "sha256": sha256, "size": size}).rowcount == 1
            if new and _used(connection, run) > self._run_max_bytes:
                raise Refused(self._full())
            moved[0].replace(moved[1])
            return new

        return await self._store.write(work)

    async def _room_for(self, run: str, size: int) -> None:
        used = await self._store.read(lambda connection: _used(connection, run))
        if used + size > self._run_max_bytes:
            raise Refused(self._full())

    def _full(self) -> Refusal:
        text_ = f"the blobs of this Run would take more than {self._run_max_bytes} bytes; keep fewer or smaller ones"
        return refusal(507, "internal", text_, retryable=False)

    async def find(self, run: str, sha256: str) -> tuple[Path, int]:
        """The file of a blob and its size. Raises Refused when there is none."""
        path = self.path(run, sha256)
        query = text("SELECT size FROM blobs WHERE run = :run AND sha256 = :sha256")
        values = {"run": run, "sha256": sha256}
        size = await self._store.read(lambda connection: connection.execute(query, values).scalar())
        if size is None or not path.is_file():
            raise Refused(refusal(404, "internal", "there is no such blob", retryable=False))
        return path, int(size)

    async def drop(self, run: str) -> None:
        """Remove everything of a Run that is gone."""
        delete = text("DELETE FROM blobs WHERE run = :run")
        await self._store.write(lambda connection: connection.execute(delete, {"run": run}))
        if _RUN.fullmatch(run):
            await asyncio.to_thread(shutil.rmtree, self._folder / run, True)


def _used(connection: Connection, run: str) -> int:
    total = text("SELECT coalesce(sum(size), 0) FROM blobs WHERE run = :run")
    return int(connection.execute(total, {"run": run}).scalar_one())
