"""Mailbox items in the store: numbered once for each Run, read from a cursor, at least once."""

from typing import Final, Literal

from guildhall_contracts import limits
from guildhall_contracts.model_api import MailboxItem
from sqlalchemy import Connection, text

from guildhall_gateway.store import Store

ITEMS_PER_RUN_MAX_COUNT: Final = 1_000

_HAS: Final = text("SELECT 1 FROM inbox WHERE item = :item")
_TOP: Final = text("SELECT coalesce(max(n), 0) FROM inbox WHERE run = :run")
_ADD: Final = text(
    "INSERT INTO inbox (run, n, item, body, state) VALUES (:run, :n, :item, :body, 'new') ON CONFLICT (item) DO NOTHING"
)
_PAGE: Final = text("SELECT n, body FROM inbox WHERE run = :run AND n > :after ORDER BY n LIMIT :limit")
_UP_TO: Final = text("SELECT item FROM inbox WHERE run = :run AND n <= :n AND state = :was ORDER BY n")
_MOVE: Final = text("UPDATE inbox SET state = :to WHERE run = :run AND n <= :n AND state = :was")
Added = Literal["added", "there", "full"]
State = Literal["new", "delivered", "consumed", "expired"]


class Inbox:
    """The only writer of `inbox`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, run: str, item: MailboxItem) -> Added:
        """Put an item at the end, once."""
        return await self._store.write(lambda connection: self.put(connection, run, item))

    def put(self, connection: Connection, run: str, item: MailboxItem) -> Added:
        """`add` as a part of a larger transaction. A cancel, one for each Run, finds room in a full box."""
        self._store.lock(connection, f"inbox:{run}")
        if self.has(connection, item.id):
            return "there"
        last = int(connection.execute(_TOP, {"run": run}).scalar_one())
        if last >= ITEMS_PER_RUN_MAX_COUNT and not item.cancel:
            return "full"
        body = item.model_dump_json(by_alias=True, exclude_none=True)
        added = connection.execute(_ADD, {"run": run, "n": last + 1, "item": item.id, "body": body}).rowcount == 1
        return "added" if added else "there"

    def has(self, connection: Connection, item: str) -> bool:
        """Whether it was put there, by this gateway or another; as a part of a larger transaction."""
        return connection.execute(_HAS, {"item": item}).first() is not None

    async def page(self, run: str, after: int) -> tuple[list[MailboxItem], int]:
        """Items after a number, and the number of the last one given. A number beyond the end starts again."""

        def work(connection: Connection) -> tuple[list[tuple[int, str]], int]:
            last = int(connection.execute(_TOP, {"run": run}).scalar_one())
            start = after if after <= last else 0
            values = {"run": run, "after": start, "limit": limits.MAILBOX_PAGE_MAX_COUNT}
            return [(int(row.n), str(row.body)) for row in connection.execute(_PAGE, values)], start

        rows, start = await self._store.read(work)
        items = [MailboxItem.model_validate_json(body) for _, body in rows]
        return items, rows[-1][0] if rows else start

    async def mark(self, run: str, up_to: int, *, was: str, to: str) -> list[str]:
        """Move items up to a number from one state to the next; the ids that moved."""
        values = {"run": run, "n": up_to, "was": was}

        def look(connection: Connection) -> list[str]:
            return [str(row.item) for row in connection.execute(_UP_TO, values)]

        def work(connection: Connection) -> list[str]:
            moved = look(connection)
            connection.execute(_MOVE, values | {"to": to})
            return moved

        if up_to <= 0 or not await self._store.read(look):  # most polls write nothing
            return []
        return await self._store.write(work)

    async def mark_one(self, item: str, to: str) -> None:
        update = text("UPDATE inbox SET state = :to WHERE item = :item")
        await self._store.write(lambda connection: connection.execute(update, {"to": to, "item": item}))

    async def state(self, item: str) -> State | None:
        """Where an item stands; None when it was never taken in."""
        query = text("SELECT state FROM inbox WHERE item = :item")
        found: State | None = await self._store.read(
            lambda connection: connection.execute(query, {"item": item}).scalar()
        )
        return found

    async def unread(self, run: str) -> list[str]:
        """Ids of items that no executor has acknowledged."""
        query = text("SELECT item FROM inbox WHERE run = :run AND state IN ('new', 'delivered') ORDER BY n")
        rows = await self._store.read(lambda connection: connection.execute(query, {"run": run}).all())
        return [str(row.item) for row in rows]

    async def forget(self, run: str) -> None:
        """Delete what was for a Run that is gone."""

        def work(connection: Connection) -> None:
            for table in ("inbox", "questions"):
                connection.execute(text(f"DELETE FROM {table} WHERE run = :run"), {"run": run})  # noqa: S608  two constants

        await self._store.write(work)
