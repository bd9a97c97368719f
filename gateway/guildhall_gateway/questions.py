"""Questions to people in the store: asked once, answered once, open for a bounded time.

Guards against two answers to one question: taking the answer and telling its executor are one transaction.
"""

import json
from typing import Any, Final, Literal

from guildhall_contracts.model_api import BUDGET_CONTINUE, AskedItem, MailboxItem
from sqlalchemy import Connection, text

from guildhall_gateway.inbox import Inbox
from guildhall_gateway.ledger_rows import raise_budget
from guildhall_gateway.mailbox import FULL, Turned
from guildhall_gateway.store import Store

OPEN_MAX_COUNT: Final = 64

_ASK: Final = text(
    "INSERT INTO questions (run, id, kind, role, text, context, options, asked_at, expires_at, state)"
    " VALUES (:run, :id, :kind, :role, :text, :context, :options, :asked_at, :expires_at, 'open')"
    " ON CONFLICT (run, id) DO NOTHING"
)
_OPEN: Final = text("SELECT count(*) FROM questions WHERE run = :run AND state = 'open' AND expires_at > :now")
_GET: Final = text("SELECT * FROM questions WHERE run = :run AND id = :id")
_TAKE: Final = text(
    "UPDATE questions SET state = 'answered', author = :author"
    " WHERE run = :run AND id = :id AND state = 'open' AND expires_at > :now"
)
_WITHDRAW: Final = text("UPDATE questions SET state = 'withdrawn' WHERE run = :run AND id = :id AND state = 'open'")
_CLOSE: Final = text("UPDATE questions SET state = 'withdrawn' WHERE run = :run AND state = 'open'")

Standing = Literal["open", "answered", "withdrawn", "expired"]
NEVER_ASKED: Final = Turned("Refused", "there is no such question in this Run")
_TURNED: Final = {
    None: NEVER_ASKED,
    "answered": Turned("Refused", "the question was answered already"),
    "withdrawn": Turned("Refused", "the question was withdrawn"),
    "expired": Turned("Expired", "the question has expired"),
}


class _UndeliverableError(Exception):
    """Undoes an answer that its executor could not be told of."""


class Questions:
    """The only writer of `questions`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def ask(self, run: str, question: AskedItem, now: float) -> bool:
        """Record an open question, once; False when too many are open."""
        values = {
            "run": run, "id": question.id, "kind": question.kind, "role": question.role, "text": question.text,
            "context": question.context, "options": json.dumps(question.options),
            "asked_at": now, "expires_at": now + question.expires_seconds,
        }  # fmt: skip

        def work(connection: Connection) -> bool:
            if _row(connection, run, question.id) is None and _open(connection, run, now) >= OPEN_MAX_COUNT:
                return False
            connection.execute(_ASK, values)
            return True

        return await self._store.write(work)

    async def answer(self, run: str, item: MailboxItem, inbox: Inbox, now: float) -> Turned | None:
        """Take the answer in `item` and put it into the Run's box, both or neither; None, or why not."""
        assert item.answer is not None  # noqa: S101  the caller looked
        question, said = item.answer.question_id, item.answer.text.strip().lower()
        values = {"run": run, "id": question, "author": item.author, "now": now}

        def work(connection: Connection) -> Turned | None:
            if connection.execute(_TAKE, values).rowcount != 1:
                if inbox.has(connection, item.id):  # another gateway took this very answer a moment ago
                    return None
                row = _row(connection, run, question)
                return _TURNED[None if row is None else standing(row, now)]
            if inbox.put(connection, run, item) == "full":
                raise _UndeliverableError
            if said == BUDGET_CONTINUE and _row(connection, run, question).kind == "budget":
                raise_budget(connection, run)
            return None

        try:
            return await self._store.write(work)
        except _UndeliverableError:
            return FULL

    async def withdraw(self, run: str, question: str) -> bool:
        """Nobody needs an answer any more; one that was taken stays answered. False when it is unknown."""
        values = {"run": run, "id": question}

        def work(connection: Connection) -> bool:
            return connection.execute(_WITHDRAW, values).rowcount == 1 or _row(connection, run, question) is not None

        return await self._store.write(work)

    async def close(self, run: str) -> None:
        """The Run is over: nobody is asked any more."""
        await self._store.write(lambda connection: connection.execute(_CLOSE, {"run": run}))

    async def open_count(self, run: str, now: float) -> int:
        return await self._store.read(lambda connection: _open(connection, run, now))

    async def expire(self, now: float) -> list[str]:
        """Close what is past its time; the Runs concerned."""
        query = text("SELECT DISTINCT run FROM questions WHERE state = 'open' AND expires_at <= :now")
        update = text("UPDATE questions SET state = 'expired' WHERE state = 'open' AND expires_at <= :now")
        rows = await self._store.read(lambda connection: connection.execute(query, {"now": now}).all())
        if rows:
            await self._store.write(lambda connection: connection.execute(update, {"now": now}))
        return [str(row.run) for row in rows]


def standing(row: Any, now: float) -> Standing:
    """Where a stored question stands at `now`. Pure."""
    state: Standing = row.state if row.state != "closed" else "withdrawn"  # an older gateway's word
    return "expired" if state == "open" and now >= row.expires_at else state


def _row(connection: Connection, run: str, question: str) -> Any:
    return connection.execute(_GET, {"run": run, "id": question}).first()


def _open(connection: Connection, run: str, now: float) -> int:
    return int(connection.execute(_OPEN, {"run": run, "now": now}).scalar_one())
