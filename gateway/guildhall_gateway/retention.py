"""What is kept of Runs that are gone, and until when: nothing of a private one, the money of the others for a while.

Guards against a database that only grows, and against a private Run living on in the ledger.
"""

from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection, text

from guildhall_gateway.store import Store
from guildhall_gateway.tables import METADATA

PRUNE_EVERY_SECONDS: Final = 600.0
PRUNE_MAX_COUNT: Final = 200  # Runs at a time: writes of calls wait meanwhile

_PRIVATE: Final = text(
    "INSERT INTO keeping (run, private, gone_at) VALUES (:run, 1, NULL) ON CONFLICT (run) DO UPDATE SET private = 1"
)
_GONE: Final = text(
    "INSERT INTO keeping (run, private, gone_at) VALUES (:run, 0, :now)"
    " ON CONFLICT (run) DO UPDATE SET gone_at = coalesce(keeping.gone_at, excluded.gone_at)"
)
_IS_PRIVATE: Final = text("SELECT private FROM keeping WHERE run = :run")
_OPEN_CALL: Final = text("SELECT 1 FROM calls WHERE run = :run AND state = 'reserved' LIMIT 1")
_DUE: Final = text("SELECT run FROM keeping WHERE gone_at < :before ORDER BY gone_at LIMIT :most")
_UNNOTED: Final = text(
    "SELECT uid FROM runs WHERE uid NOT IN (SELECT run FROM keeping WHERE gone_at IS NOT NULL)"
    " UNION SELECT run FROM keeping WHERE private = 1"
)
_OLD_DAYS: Final = text(
    "DELETE FROM totals WHERE (scope LIKE 'day:%' OR scope LIKE 'ns:%') AND substr(scope, length(scope) - 9) < :day"
)


def _purge(connection: Connection, run: str) -> bool:
    """Every row of a Run. False while a call of it is open: its promise must leave the day's sums first."""
    if connection.execute(_OPEN_CALL, {"run": run}).first() is not None:
        return False
    for table in METADATA.tables.values():
        if "run" in table.columns:
            connection.execute(table.delete().where(table.columns["run"] == run))
    connection.execute(text("DELETE FROM runs WHERE uid = :run"), {"run": run})
    connection.execute(text("DELETE FROM totals WHERE scope = :scope"), {"scope": f"run:{run}"})
    return True


class Retention:
    """The only reader of the table `keeping`. Times are Unix seconds."""

    def __init__(self, store: Store, keep_seconds: float) -> None:
        self._store = store
        self._keep_seconds = keep_seconds
        self._private: set[str] = set()
        self._pruned_at = 0.0

    async def note_private(self, run: str) -> None:
        """Remembers before its first call that a Run is private, also across restarts."""
        if run not in self._private:
            await self._store.write(lambda connection: connection.execute(_PRIVATE, {"run": run}))
            self._private.add(run)

    async def gone(self, run: str, now: float) -> None:
        """The Run was deleted: a private one is forgotten at once, of another the money stays for a while."""

        def work(connection: Connection) -> None:
            private = connection.execute(_IS_PRIVATE, {"run": run}).scalar()
            if not (private and _purge(connection, run)):
                connection.execute(_GONE, {"run": run, "now": now})

        await self._store.write(work)
        self._private.discard(run)

    async def unnoted(self) -> list[str]:
        """Runs that have money or are private and were not seen to go: some may have gone while no gateway ran."""
        return await self._store.read(lambda connection: [str(uid) for (uid,) in connection.execute(_UNNOTED)])

    async def prune(self, now: float) -> int:
        """Now and then: forgets Runs that have been gone for long enough, and the sums of days as old. How many."""
        if now - self._pruned_at < PRUNE_EVERY_SECONDS:
            return 0
        before = now - self._keep_seconds
        due = {"before": before, "most": PRUNE_MAX_COUNT}

        def work(connection: Connection) -> int:
            runs = [str(run) for (run,) in connection.execute(_DUE, due)]
            connection.execute(_OLD_DAYS, {"day": _day(before)})
            return sum(_purge(connection, run) for run in runs)

        forgotten = await self._store.write(work)
        if forgotten < PRUNE_MAX_COUNT:
            self._pruned_at = now  # else there are more: the next sweep goes on
        return forgotten


def _day(unix: float) -> str:
    """The UTC day of a moment as YYYY-MM-DD."""
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%d")
