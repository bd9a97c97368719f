"""The database behind the ledger, the mailbox and approvals: SQLite by default, PostgreSQL by URL.

Guards against money or approvals being counted twice: every change is one serialised or row-locked transaction,
synced to disk before anyone is told (SQLite WAL with synchronous FULL).
"""

import asyncio
import fcntl
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.schema import CreateColumn

from guildhall_gateway.tables import METADATA, SCHEMA_VERSION

LOCK_WAIT_SECONDS: Final = 60
INSTANCE_ALIVE_SECONDS: Final = 20.0
POOL_COUNT: Final = 8
READERS_COUNT: Final = 2
_SILENT: Final = text("SELECT extract(epoch FROM clock_timestamp()) - seen_at FROM instances WHERE id = :id")
T = TypeVar("T")

_DRIVERS: Final = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}


class StoreError(OSError):
    """The database cannot be used; the message never holds its URL's password."""


def _complete(connection: Connection) -> None:
    """Make the tables and columns that are declared and not there: an older gateway's database gains them."""
    METADATA.create_all(connection)
    for table in METADATA.tables.values():
        there = {column["name"] for column in inspect(connection).get_columns(table.name)}
        for column in table.columns:
            if column.name not in there:
                declared = CreateColumn(column).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {declared}")


MIGRATIONS: Final[tuple[Callable[[Connection], None], ...]] = (METADATA.create_all, *[_complete] * 4)
"""Step n brings version n to n+1; steps are appended, never changed."""


def database_url(text_url: str) -> URL:
    """The URL with the async driver this gateway has. Raises StoreError."""
    try:
        url = make_url(text_url)
    except SQLAlchemyError as error:
        raise StoreError("the database URL cannot be read") from error
    driver = _DRIVERS.get(url.drivername.partition("+")[0], url.drivername)
    if driver not in _DRIVERS.values():
        raise StoreError(f"database '{url.drivername}' is not supported; use sqlite or postgresql")
    if driver == _DRIVERS["sqlite"] and url.database in (None, "", ":memory:"):
        raise StoreError("the ledger must survive restarts; an in-memory database is refused")
    return url.set(drivername=driver)


class Store:
    """One database. A transaction is a plain function of a Connection, run whole: on SQLite in one thread for all
    writes (one hop, and so serialised), on PostgreSQL on asyncpg under row locks."""

    def __init__(self, url: str) -> None:
        self.url = database_url(url)
        self.sqlite = self.url.drivername.startswith("sqlite")
        self.instance = secrets.token_hex(8)
        self._lock_file: Any = None
        self._writer = ThreadPoolExecutor(1, "store-write")
        self._readers = ThreadPoolExecutor(READERS_COUNT, "store-read")
        self._sync: Engine | None = _sqlite_engine(self.url) if self.sqlite else None
        self._async: AsyncEngine | None = None if self.sqlite else _postgres_engine(self.url)

    async def open(self) -> None:
        """Take the database (SQLite: alone), bring its schema up to date. Raises StoreError."""
        if self.sqlite:
            await asyncio.to_thread(self._take_alone)
        try:
            await self.write(_migrate)
        except (SQLAlchemyError, OSError) as error:
            where = self.url.render_as_string()  # without the password
            raise StoreError(f"the database at {where} cannot be opened: {_short(error)}") from None

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

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction that commits at its end or not at all. Raises StoreError."""
        try:
            if self._async is not None:
                async with self._async.begin() as connection:
                    return await connection.run_sync(work)
            return await asyncio.get_running_loop().run_in_executor(self._writer, self._write, work)
        except SQLAlchemyError as error:
            raise StoreError(f"the database refused a change: {_short(error)}") from error

    def _write(self, work: Callable[[Connection], T]) -> T:
        assert self._sync is not None  # noqa: S101  the caller asked
        with self._sync.begin() as connection:
            return work(connection)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which only reads, on one state of the database. Raises StoreError."""
        try:
            if self._async is not None:
                async with self._async.connect() as connection:
                    return await connection.run_sync(work)
            return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)
        except SQLAlchemyError as error:
            raise StoreError(f"the database cannot be read: {_short(error)}") from error

    def _read(self, work: Callable[[Connection], T]) -> T:
        assert self._sync is not None  # noqa: S101  the caller asked
        with self._sync.connect() as connection:
            return work(connection.execution_options(guildhall_read=True))

    def lock(self, connection: Connection, name: str) -> None:
        """Let others who name the same wait until this transaction ends; SQLite has one writer anyway."""
        if not self.sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:name))"), {"name": name})

    def is_another_alive(self, connection: Connection, instance: str) -> bool:
        """Whether that is another gateway, and one that lives. What this one does is known by the one who asks."""
        if self.sqlite or instance == self.instance:  # SQLite: the file lock says that we are alone
            return False
        silent = connection.execute(_SILENT, {"id": instance}).scalar()
        return silent is not None and float(silent) < INSTANCE_ALIVE_SECONDS

    async def runs_with_content(self) -> list[str]:
        """Uids of Runs of which replies, blobs, items, questions or approvals are kept."""
        tables = ("replies", "blobs", "inbox", "questions", "approvals", "frozen_guilds", "tool_calls")
        query = text(" UNION ".join(f"SELECT run FROM {table}" for table in tables))  # noqa: S608  constants
        return await self.read(lambda connection: [str(row.run) for row in connection.execute(query)])

    async def close(self) -> None:
        self._writer.shutdown()
        self._readers.shutdown()
        if self._async is not None:
            await self._async.dispose()
        if self._sync is not None:
            self._sync.dispose()
        if self._lock_file is not None:
            self._lock_file.close()


def _short(error: BaseException) -> str:
    return str(getattr(error, "orig", error))[:300]


def _sqlite_engine(url: URL) -> Engine:
    options = {"timeout": 15, "check_same_thread": False}
    engine = create_engine(url, pool_size=POOL_COUNT, poolclass=QueuePool, connect_args=options)

    @event.listens_for(engine, "connect")
    def _pragmas(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=15000"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        reads = connection.get_execution_options().get("guildhall_read")
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine


def _postgres_engine(url: URL) -> AsyncEngine:
    engine = create_async_engine(url, pool_size=POOL_COUNT, max_overflow=POOL_COUNT, pool_pre_ping=True)

    @event.listens_for(engine.sync_engine, "do_connect")
    def _connect(dialect: Any, _record: Any, arguments: Any, named: Any) -> Any:
        try:
            return dialect.connect(*arguments, **named)
        except Exception as error:  # the driver's own, of any kind, while it connects
            raise OperationalError("connecting", None, error) from error

    return engine


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
