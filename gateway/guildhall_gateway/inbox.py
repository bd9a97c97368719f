"""Mailbox items and open questions in the store: numbered once for each Run, read from a cursor, at least once."""

from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.model_api import AskedItem, MailboxItem
from sqlalchemy import text

from guildhall_gateway.store import Store

ITEMS_PER_RUN_MAX_COUNT: Final = 1_000
QUESTIONS_OPEN_MAX_COUNT: Final = 64


class Inbox:
    """The only writer of `inbox` and `questions`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, run: str, item: MailboxItem) -> bool:
        """Put an item at the end; False when it is there already or the Run's box is full."""
        insert = text(
            "INSERT INTO inbox (run, n, item, body, state) VALUES (:run, :n, :item, :body, 'new')"
            " ON CONFLICT (item) DO NOTHING"
        )
        async with self._store.write() as connection:
            if not self._store.sqlite:
                lock = text("SELECT pg_advisory_xact_lock(hashtext(:run))")
                await connection.execute(lock, {"run": run})
            query = text("SELECT coalesce(max(n), 0) FROM inbox WHERE run = :run")
            last = int((await connection.execute(query, {"run": run})).scalar_one())
            if last >= ITEMS_PER_RUN_MAX_COUNT:
                return False
            values = {"run": run, "n": last + 1, "item": item.id, "body": item.model_dump_json(by_alias=True)}
            return (await connection.execute(insert, values)).rowcount == 1

    async def page(self, run: str, after: int) -> tuple[list[MailboxItem], int]:
        """Items after a number, and the number of the last one given. A number beyond the end starts again."""
        query = text("SELECT n, body FROM inbox WHERE run = :run AND n > :after ORDER BY n LIMIT :limit")
        async with self._store.read() as connection:
            top = text("SELECT coalesce(max(n), 0) FROM inbox WHERE run = :run")
            last = int((await connection.execute(top, {"run": run})).scalar_one())
            start = after if after <= last else 0
            values = {"run": run, "after": start, "limit": limits.MAILBOX_PAGE_MAX_COUNT}
            rows = (await connection.execute(query, values)).all()
        items = [MailboxItem.model_validate_json(row.body) for row in rows]
        return items, int(rows[-1].n) if rows else start

    async def mark(self, run: str, up_to: int, *, was: str, to: str) -> list[str]:
        """Move items up to a number from one state to the next; the ids that moved."""
        query = text("SELECT item FROM inbox WHERE run = :run AND n <= :n AND state = :was ORDER BY n")
        update = text("UPDATE inbox SET state = :to WHERE run = :run AND n <= :n AND state = :was")
        values = {"run": run, "n": up_to, "was": was}
        async with self._store.read() as connection:
            if not (await connection.execute(query, values)).first():
                return []
        async with self._store.write() as connection:
            moved = [str(row.item) for row in (await connection.execute(query, values)).all()]
            await connection.execute(update, values | {"to": to})
        return moved

    async def mark_one(self, item: str, to: str) -> None:
        async with self._store.write() as connection:
            await connection.execute(text("UPDATE inbox SET state = :to WHERE item = :item"), {"to": to, "item": item})

    async def has(self, item: str) -> bool:
        """Whether an item was taken in before."""
        query = text("SELECT 1 FROM inbox WHERE item = :item")
        async with self._store.read() as connection:
            return (await connection.execute(query, {"item": item})).first() is not None

    async def unread(self, run: str) -> list[str]:
        """Ids of items that no executor has acknowledged."""
        query = text("SELECT item FROM inbox WHERE run = :run AND state <> 'consumed' ORDER BY n")
        async with self._store.read() as connection:
            return [str(row.item) for row in (await connection.execute(query, {"run": run})).all()]

    async def ask(self, run: str, question: AskedItem, now: float) -> bool:
        """Record an open question; False when too many are open."""
        upsert = text(
            "INSERT INTO questions (run, id, role, text, expires_at, state)"
            " VALUES (:run, :id, :role, :text, :expires_at, 'open') ON CONFLICT (run, id) DO NOTHING"
        )
        async with self._store.write() as connection:
            query = text("SELECT count(*) FROM questions WHERE run = :run AND state = 'open'")
            if int((await connection.execute(query, {"run": run})).scalar_one()) >= QUESTIONS_OPEN_MAX_COUNT:
                return False
            values = {
                "run": run,
                "id": question.id,
                "role": question.role,
                "text": question.text,
                "expires_at": now + question.expires_seconds,
            }
            await connection.execute(upsert, values)
        return True

    async def close_question(self, run: str, question: str) -> bool:
        """Answered or withdrawn; False when it is unknown."""
        update = text("UPDATE questions SET state = 'closed' WHERE run = :run AND id = :id")
        async with self._store.write() as connection:
            return (await connection.execute(update, {"run": run, "id": question})).rowcount == 1

    async def question_state(self, run: str, question: str, now: float) -> str | None:
        """`open`, `closed`, `expired`, or None when it was never asked."""
        query = text("SELECT state, expires_at FROM questions WHERE run = :run AND id = :id")
        async with self._store.read() as connection:
            row = (await connection.execute(query, {"run": run, "id": question})).first()
        if row is None:
            return None
        return "expired" if row.state == "open" and now >= row.expires_at else str(row.state)

    async def open_questions(self, run: str, now: float) -> int:
        query = text("SELECT count(*) FROM questions WHERE run = :run AND state = 'open' AND expires_at > :now")
        async with self._store.read() as connection:
            return int((await connection.execute(query, {"run": run, "now": now})).scalar_one())

    async def runs_with_expired_questions(self, now: float) -> list[str]:
        """Close what is past its time; the Runs concerned."""
        query = text("SELECT DISTINCT run FROM questions WHERE state = 'open' AND expires_at <= :now")
        update = text("UPDATE questions SET state = 'expired' WHERE state = 'open' AND expires_at <= :now")
        async with self._store.read() as connection:
            runs = [str(row.run) for row in (await connection.execute(query, {"now": now})).all()]
        if runs:
            async with self._store.write() as connection:
                await connection.execute(update, {"now": now})
        return runs
