"""The database behind the ledger, the mailbox and approvals: SQLite by default, PostgreSQL by URL.

Guards against money or approvals being counted twice: every change is one serialised or row-locked transaction,
synced to disk before anyone is told (SQLite WAL with synchronous FULL).
"""

import asyncio
import fcntl
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from guildhall_gateway.tables import METADATA, SCHEMA_VERSION

LOCK_WAIT_SECONDS: Final = 60
INSTANCE_ALIVE_SECONDS: Final = 20.0
POOL_COUNT: Final = 8

_DRIVERS: Final = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}


class StoreError(OSError):
    """The database cannot be used; the message never holds its URL's password."""


MIGRATIONS: Final[tuple[Callable[[Connection], None], ...]] = (METADATA.create_all,)
"""Step n brings version n to n+1; steps are appended, never changed."""


def database_url(text_url: str) -> URL:
    """The URL with the async driver this gateway has. Raises StoreError."""
    try:
        url = make_url(text_url)
    except SQLAlchemyError as error:
        raise StoreError("the database URL cannot be read") from error
    driver = _DRIVERS.get(url.drivername, url.drivername)
    if driver not in _DRIVERS.values():
        raise StoreError(f"database '{url.drivername}' is not supported; use sqlite or postgresql")
    if driver == _DRIVERS["sqlite"] and url.database in (None, "", ":memory:"):
        raise StoreError("the ledger must survive restarts; an in-memory database is refused")
    return url.set(drivername=driver)


class Store:
    """One engine. `write()` is a serialised (SQLite) or row-locking (PostgreSQL) transaction; `read()` only reads."""

    def __init__(self, url: str) -> None:
        self.url = database_url(url)
        self.sqlite = self.url.drivername.startswith("sqlite")
        self.instance = secrets.token_hex(8)
        self._writer = asyncio.Lock()
        self._lock_file: Any = None
        self._engine = _sqlite_engine(self.url) if self.sqlite else _postgres_engine(self.url)

    async def open(self) -> None:
        """Take the database (SQLite: alone), bring its schema up to date. Raises StoreError."""
        if self.sqlite:
            await asyncio.to_thread(self._take_alone)
        try:
            async with self._engine.begin() as connection:
                await connection.run_sync(_migrate)
        except (SQLAlchemyError, OSError) as error:
            raise StoreError(
                f"the database at {self.url.render_as_string()} cannot be opened: {_short(error)}"
            ) from None

    def _take_alone(self) -> None:
        path = Path(str(self.url.database))
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock_file = Path(f"{path}.lock").open("w")  # noqa: SIM115  held as long as the store
        for _ in range(LOCK_WAIT_SECONDS * 5):
            try:
                fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.2)
            else:
                return
        raise StoreError(f"another gateway holds {path}; one SQLite file serves one gateway")

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that commits at the end or not at all. Raises StoreError."""
        try:
            if not self.sqlite:
                async with self._engine.begin() as connection:
                    yield connection
                return
            async with self._writer, self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(f"the database refused a change: {_short(error)}") from error

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that only reads. Raises StoreError."""
        try:
            async with self._engine.connect() as connection:
                yield await connection.execution_options(guildhall_read=True)
        except SQLAlchemyError as error:
            raise StoreError(f"the database cannot be read: {_short(error)}") from error

    async def close(self) -> None:
        await self._engine.dispose()
        if self._lock_file is not None:
            self._lock_file.close()


def _short(error: BaseException) -> str:
    return str(getattr(error, "orig", error))[:300]


def _sqlite_engine(url: URL) -> AsyncEngine:
    engine = create_async_engine(url, pool_size=POOL_COUNT, connect_args={"timeout": 15})
    sync = engine.sync_engine

    @event.listens_for(sync, "connect")
    def _pragmas(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=15000"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(sync, "begin")
    def _begin(connection: Connection) -> None:
        reads = connection.get_execution_options().get("guildhall_read")
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine


def _postgres_engine(url: URL) -> AsyncEngine:
    return create_async_engine(url, pool_size=POOL_COUNT, max_overflow=POOL_COUNT, pool_pre_ping=True)


def _migrate(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(727074)"))  # two gateways starting at once
    connection.execute(text("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)"))
    found = connection.execute(text("SELECT max(version) FROM schema_version")).scalar()
    version = int(found or 0)
    if version > SCHEMA_VERSION:
        raise StoreError(f"the database has schema {version}, this gateway knows {SCHEMA_VERSION}; upgrade the gateway")
    for step in MIGRATIONS[version:]:
        step(connection)
        version += 1
        connection.execute(text("INSERT INTO schema_version (version) VALUES (:version)"), {"version": version})
