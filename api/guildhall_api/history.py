"""What is kept of every Run, keyed by uid: the lines as they were written, and what lists need without them.

Guards against losing or doubling an event when this process dies: a batch and what it changes are one transaction.
"""

import hashlib
import json
import zlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from guildhall_contracts.events import Unreadable
from sqlalchemy import Row, case, delete, event, func, insert, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from guildhall_api import tables
from guildhall_api.config import StartError
from guildhall_api.intake import Intake, Taken
from guildhall_api.records import ListFilter, RunFacts, StoredRun, Wire
from guildhall_api.summaries import TERMINAL_PHASES
from guildhall_api.tables import blobs, events, runs, snapshots, unreadables, versions

_DRIVERS: Final = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}
_SCAN_PAGE_COUNT: Final = 2_000


class History:
    """One database. Methods raise SQLAlchemy's errors; a failed one changed nothing."""

    def __init__(self, url: str) -> None:
        """Raises StartError for a URL that names no database of a kind there is."""
        self.engine = _engine(url)
        self._sqlite = self.engine.dialect.name == "sqlite"
        if self._sqlite:
            event.listen(self.engine.sync_engine, "connect", _prepare_sqlite)

    async def open(self) -> None:
        """Create what is missing. Raises StartError for a database that cannot be used, or has another version."""
        try:
            await self._open()
        except StartError:
            await self.close()
            raise

    async def _open(self) -> None:
        try:
            version = await self._create()
        except SQLAlchemyError as error:
            words = error.orig if isinstance(error, DBAPIError) else error
            message = f"the database {_named(self.engine.url)} cannot be used: {words!s}"
            raise StartError(f"{message}; make it reachable and writable, or set databaseUrl to another") from error
        if version != tables.SCHEMA_VERSION:
            message = f"the history database has version {version}, this api needs {tables.SCHEMA_VERSION}"
            raise StartError(f"{message}: run the api that wrote it, or set databaseUrl to another")

    async def _create(self) -> int:
        """The tables, where there are none; the version of those there are."""
        async with self.engine.begin() as connection:
            await connection.run_sync(tables.metadata.create_all)
            found: int | None = (await connection.execute(select(versions.c.version))).scalar()
            if found is None:
                await connection.execute(insert(versions).values(version=tables.SCHEMA_VERSION))
            return tables.SCHEMA_VERSION if found is None else found

    async def close(self) -> None:
        await self.engine.dispose()

    def _insert(self, table: Any) -> Any:
        return sqlite.insert(table) if self._sqlite else postgresql.insert(table)

    # Runs

    async def put_run(self, facts: RunFacts) -> int:
        """Add or update what is known of the resource; the key of its row."""
        values = {
            "uid": facts.uid, "namespace": facts.namespace, "name": facts.name, "created_at": facts.created_at,
            "phase": facts.phase, "guild": facts.guild, "search": facts.search, "private": facts.private,
            "live": facts.live, "summary": json.dumps(facts.summary), "detail": json.dumps(facts.detail),
            "expires_at": facts.expires_at,
        }  # fmt: skip
        changed = {name: value for name, value in values.items() if name != "uid" and value is not None}
        statement = self._insert(runs).values(**values, last_seq=0, unreadable=0, intake="{}", sealed=False)
        statement = statement.on_conflict_do_update(index_elements=["uid"], set_=changed).returning(runs.c.id)
        async with self.engine.begin() as connection:
            return int((await connection.execute(statement)).scalar_one())

    async def find(self, *, uid: str | None = None, name: tuple[str, str] | None = None) -> StoredRun | None:
        """A Run by uid, else by namespace and name: the live one first, then the newest."""
        statement = select(runs).order_by(runs.c.live.desc(), runs.c.created_at.desc()).limit(1)
        if uid is not None:
            statement = statement.where(runs.c.uid == uid)
        if name is not None:
            statement = statement.where(runs.c.namespace == name[0], runs.c.name == name[1])
        async with self.engine.connect() as connection:
            row = (await connection.execute(statement)).first()
        return _stored(row) if row is not None else None

    async def open_runs(self, namespace: str) -> list[StoredRun]:
        """Rows that say their Run exists, or goes on."""
        async with self.engine.connect() as connection:
            unfinished = runs.c.live | runs.c.phase.not_in(TERMINAL_PHASES)
            statement = select(runs).where(runs.c.namespace == namespace, unfinished)
            return [_stored(row) for row in (await connection.execute(statement)).all()]

    async def list_runs(self, wanted: ListFilter) -> list[Wire]:
        """RunSummaries, newest first. Private Runs are listed only while they live, and never found by text."""
        statement = select(runs.c.summary).where(runs.c.namespace.in_(list(wanted.namespaces)))
        statement = statement.where(~runs.c.private | runs.c.live)
        if wanted.phase is not None:
            statement = statement.where(runs.c.phase == wanted.phase)
        if wanted.guild is not None:
            statement = statement.where(runs.c.guild == wanted.guild)
        if wanted.live is not None:
            statement = statement.where(runs.c.live == wanted.live)
        if wanted.text:
            statement = statement.where(~runs.c.private, runs.c.search.contains(wanted.text.lower(), autoescape=True))
        if wanted.before is not None:
            statement = statement.where(tuple_(runs.c.created_at, runs.c.uid) < wanted.before)
        statement = statement.order_by(runs.c.created_at.desc(), runs.c.uid.desc()).limit(wanted.limit)
        async with self.engine.connect() as connection:
            return [json.loads(text) for text in (await connection.execute(statement)).scalars()]

    async def gone(self, uid: str, summary: Wire, expires_at: float) -> None:
        """The resource is deleted; the Run lives on in history, as `summary`, until `expires_at`."""
        values = {"live": False, "phase": summary["phase"], "summary": json.dumps(summary | {"live": False})}
        async with self.engine.begin() as connection:
            changed = update(runs).where(runs.c.uid == uid).values(**values, expires_at=expires_at)
            await connection.execute(changed)

    async def expire(self, now: float) -> int:
        """Remove every Run whose time is over, with all that belongs to it; how many."""
        async with self.engine.begin() as connection:
            over = runs.c.expires_at <= now, ~runs.c.live | (runs.c.private & runs.c.sealed)
            done = await connection.execute(delete(runs).where(*over))
            return int(done.rowcount)

    # Events

    async def append(self, key: int, intake: Intake, taken: Sequence[Taken], rows: Sequence[Unreadable]) -> None:
        """Store a batch and what is now known of the log, or nothing."""
        first = intake.unreadable - len(rows)
        async with self.engine.begin() as connection:
            if taken:
                values = [
                    {"run_id": key, "seq": each.seq, "op": each.op, "type": each.event.type, "line": each.line}
                    for each in taken
                ]
                await connection.execute(self._insert(events).on_conflict_do_nothing(), values)
            if rows:
                values = [
                    {
                        "run_id": key,
                        "ordinal": first + n,
                        **row.model_dump(include={"after", "reason", "bytes", "text"}),
                    }
                    for n, row in enumerate(rows, 1)
                ]
                await connection.execute(self._insert(unreadables).on_conflict_do_nothing(), values)
            await connection.execute(
                update(runs).where(runs.c.id == key).values(
                    last_seq=intake.last_seq, unreadable=intake.unreadable, intake=json.dumps(_kept(intake))
                )
            )  # fmt: skip

    async def lines(self, key: int, after: int, limit: int) -> list[tuple[int, bytes]]:
        """At most `limit` lines with seq > `after`, in order."""
        statement = select(events.c.seq, events.c.line).where(events.c.run_id == key, events.c.seq > after)
        async with self.engine.connect() as connection:
            found = await connection.execute(statement.order_by(events.c.seq).limit(limit))
            return [(row.seq, row.line) for row in found.all()]

    async def all_lines(self, key: int, after: int = 0) -> AsyncIterator[list[tuple[int, bytes]]]:
        """Every line after `after`, in pages: memory holds one."""
        while page := await self.lines(key, after, _SCAN_PAGE_COUNT):
            yield page
            after = page[-1][0]

    async def last_lines(self, key: int, count: int) -> list[tuple[int, bytes]]:
        statement = select(events.c.seq, events.c.line).where(events.c.run_id == key)
        async with self.engine.connect() as connection:
            found = await connection.execute(statement.order_by(events.c.seq.desc()).limit(count))
            return [(row.seq, row.line) for row in reversed(found.all())]

    async def operation(self, key: int, op: str, limit: int) -> list[tuple[int, bytes]]:
        """The first `limit` events that name `op`."""
        statement = select(events.c.seq, events.c.line).where(events.c.run_id == key, events.c.op == op)
        async with self.engine.connect() as connection:
            found = await connection.execute(statement.order_by(events.c.seq).limit(limit))
            return [(row.seq, row.line) for row in found.all()]

    async def last_of(self, key: int, type_: str) -> bytes | None:
        """The newest event of a type."""
        statement = select(events.c.line).where(events.c.run_id == key, events.c.type == type_)
        async with self.engine.connect() as connection:
            found: bytes | None = (await connection.execute(statement.order_by(events.c.seq.desc()).limit(1))).scalar()
        return found

    async def of_type(self, key: int, type_: str) -> AsyncIterator[bytes]:
        """The events of a type, in order; not read all at once."""
        statement = select(events.c.line).where(events.c.run_id == key, events.c.type == type_)
        async with self.engine.connect() as connection:
            async for row in await connection.stream(statement.order_by(events.c.seq)):
                yield row.line

    async def rows(self, key: int, seen: int, limit: int = 1_000) -> list[tuple[int, Unreadable]]:
        """Unreadable rows after the first `seen`, with their ordinals."""
        statement = select(unreadables).where(unreadables.c.run_id == key, unreadables.c.ordinal > seen)
        async with self.engine.connect() as connection:
            found = await connection.execute(statement.order_by(unreadables.c.ordinal).limit(limit))
            return [
                (row.ordinal, Unreadable(after=row.after, reason=row.reason, bytes=row.bytes, text=row.text))
                for row in found.all()
            ]

    # Blobs and snapshots

    async def put_blob(self, key: int, sha256: str, data: bytes) -> None:
        """Keep a blob. Raises ValueError if `data` is not what its name says."""
        if hashlib.sha256(data).hexdigest() != sha256:
            raise ValueError(f"{len(data)} bytes do not hash to {sha256}")
        values = {"run_id": key, "sha256": sha256, "size": len(data), "data": zlib.compress(data)}
        async with self.engine.begin() as connection:
            await connection.execute(self._insert(blobs).values(**values).on_conflict_do_nothing())

    async def blob_bytes(self, key: int) -> int:
        """How much is kept of a Run's blobs, in their own bytes."""
        async with self.engine.connect() as connection:
            total = await connection.execute(
                select(func.coalesce(func.sum(blobs.c.size), 0)).where(blobs.c.run_id == key)
            )
            return int(total.scalar_one())

    async def blob(self, key: int, sha256: str) -> bytes | None:
        statement = select(blobs.c.data).where(blobs.c.run_id == key, blobs.c.sha256 == sha256)
        async with self.engine.connect() as connection:
            data = (await connection.execute(statement)).scalar()
        return zlib.decompress(data) if data is not None else None

    async def seal(self, key: int, run: Wire, operations: int, full: bytes, slim: bytes) -> None:
        """The log has ended: keep the fold. `full` and `slim` are the model's JSON, with and without prose."""
        values = {"run": json.dumps(run), "operations": operations}
        values |= {"full": zlib.compress(full), "slim": zlib.compress(slim)}
        statement = self._insert(snapshots).values(run_id=key, **values)
        async with self.engine.begin() as connection:
            await connection.execute(statement.on_conflict_do_update(index_elements=["run_id"], set_=values))
            await connection.execute(update(runs).where(runs.c.id == key).values(sealed=True))

    async def snapshot(self, key: int, *, slim_above: int | None) -> bytes | None:
        """The sealed model's JSON, without prose if it has more than `slim_above` operations."""
        column: Any = snapshots.c.full
        if slim_above is not None:
            column = case((snapshots.c.operations > slim_above, snapshots.c.slim), else_=snapshots.c.full)
        async with self.engine.connect() as connection:
            data = (await connection.execute(select(column).where(snapshots.c.run_id == key))).scalar()
        return zlib.decompress(data) if data is not None else None

    async def snapshot_run(self, key: int) -> Wire | None:
        """`InteractionModel.run` of a sealed Run."""
        async with self.engine.connect() as connection:
            text = (await connection.execute(select(snapshots.c.run).where(snapshots.c.run_id == key))).scalar()
        return json.loads(text) if text is not None else None

    async def ping(self) -> None:
        async with self.engine.connect() as connection:
            await connection.execute(select(func.count()).select_from(versions))


def _engine(url: str) -> AsyncEngine:
    """Raises StartError, without the words of the parser: they may hold a part of a password."""
    try:
        parsed = make_url(url)
        driver = _DRIVERS.get(parsed.drivername, parsed.drivername)
        engine = create_async_engine(parsed.set(drivername=driver), pool_pre_ping=not driver.startswith("sqlite"))
    except (SQLAlchemyError, ImportError, ValueError) as error:
        kinds = "sqlite:////<path> or postgresql://<user>@<host>/<database>"
        raise StartError(f"databaseUrl names no database this api can use: set it to {kinds}") from error

    @event.listens_for(engine.sync_engine, "do_connect")
    def _connect(dialect: Any, _record: Any, arguments: Any, named: Any) -> Any:
        try:
            return dialect.connect(*arguments, **named)
        except Exception as error:  # the driver's own, of any kind, while it connects
            raise OperationalError("connecting", None, error) from error

    return engine


def _named(url: URL) -> str:
    """The database without who signs in and how."""
    kind = url.get_backend_name()
    return URL.create(kind, host=url.host, port=url.port, database=url.database).render_as_string()


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    try:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=10000"):
            connection.execute(f"PRAGMA {pragma}")
    except Exception:
        connection.close()  # nobody else knows of it yet, and its thread would outlive whoever asked
        raise


def _kept(intake: Intake) -> Wire:
    return {
        "holes": intake.holes, "lost": intake.lost, "pod": intake.pod, "attempt": intake.attempt,
        "stamp": intake.stamp,
    }  # fmt: skip


def intake_of(run: StoredRun) -> Intake:
    """What was known of the log when the last batch was stored."""
    kept = run.intake
    return Intake(
        run=run.uid, last_seq=run.last_seq, unreadable=run.unreadable,
        holes=[(first, last) for first, last in kept.get("holes", [])],
        lost=[(first, last) for first, last in kept.get("lost", [])],
        pod=kept.get("pod", ""), attempt=kept.get("attempt", 0), stamp=kept.get("stamp", ""),
    )  # fmt: skip


def _stored(row: Row[Any]) -> StoredRun:
    return StoredRun(
        key=row.id, uid=row.uid, namespace=row.namespace, name=row.name, live=row.live, sealed=row.sealed,
        private=row.private, summary=json.loads(row.summary), detail=json.loads(row.detail), last_seq=row.last_seq,
        unreadable=row.unreadable, intake=json.loads(row.intake), expires_at=row.expires_at,
    )  # fmt: skip
