"""Approvals in the store: decided once, verified and consumed in one statement, so that two workers get one yes.

Guards against replay, and against a clock set back or stopped: time only goes on here, and what it passed stays passed.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from guildhall_contracts.approvals import ApprovalDecision, ApprovalRequest
from guildhall_contracts.canonical import canonical_json
from sqlalchemy import Connection, text

from guildhall_gateway.approvals import BOUND, Kept, acceptable, decidable, kept, usable
from guildhall_gateway.mailbox import FULL, Turned
from guildhall_gateway.store import Store

OPEN_MAX_COUNT: Final = 64
CLOCK_KEY: Final = "latest_time"

_GET: Final = text(
    f"SELECT {', '.join(Kept.__slots__)} FROM approvals WHERE run = :run AND approval_id = :approval_id"  # noqa: S608
)
_INSERT: Final = text(
    "INSERT INTO approvals (run, approval_id, call_id, role, tool, effect, arguments_hash, policy_version, state,"
    " author, expires_at, arguments, arguments_bytes, asked_at) VALUES (:run, :approval_id, :call_id, :role, :tool,"
    " :effect, :arguments_hash, :policy_version, 'open', '', :expires_at, :arguments, :arguments_bytes, :asked_at)"
    " ON CONFLICT (run, approval_id) DO NOTHING"
)
_MOVE: Final = text(
    "UPDATE approvals SET state = :to, author = :author WHERE run = :run AND approval_id = :approval_id"
    " AND state = :was"
)
_EXPIRE: Final = text(
    "UPDATE approvals SET state = 'expired' WHERE state IN ('open', 'approved') AND expires_at <= :now"
)
_WITHDRAW: Final = text(
    "UPDATE approvals SET state = 'withdrawn' WHERE run = :run AND approval_id = :approval_id"
    " AND state IN ('open', 'approved')"
)
_CLOSE: Final = text("UPDATE approvals SET state = 'withdrawn' WHERE run = :run AND state IN ('open', 'approved')")
_LATEST: Final = text("SELECT value FROM meta WHERE key = :key")
_SEEN: Final = text(
    "INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)


class _UndeliverableError(Exception):
    """Undoes a decision that its executor could not be told of."""


class ApprovalStore:
    """The only writer of `approvals`. Methods return None, or why not."""

    def __init__(
        self, store: Store, clock: Callable[[], float], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self.clock = clock
        self._monotonic = monotonic
        self._seen: tuple[float, float] | None = None  # the latest time told here, and what `monotonic` said then

    async def ask(self, request: ApprovalRequest, run: str) -> str | None:
        """Record that a person is asked; asking the same again changes nothing, asking another thing is refused."""
        refused = acceptable(request, run)
        return refused or await self._store.write(lambda connection: self._ask(connection, request, run))

    def _ask(self, connection: Connection, request: ApprovalRequest, run: str) -> str | None:
        now = self._now(connection)
        if _get(connection, run, request.approval_id) is None and _open_count(connection, run) >= OPEN_MAX_COUNT:
            return f"{OPEN_MAX_COUNT} approvals are open already"
        wanted = kept(request, now)
        values = {name: getattr(wanted, name) for name in Kept.__slots__ if name not in ("state", "author")}
        arguments = canonical_json(request.arguments)
        shown = {"arguments": arguments.decode(), "arguments_bytes": len(arguments), "asked_at": now}
        connection.execute(_INSERT, values | shown)
        found = _get(connection, run, request.approval_id)
        same = found is not None and all(getattr(found, name) == getattr(wanted, name) for name in BOUND)
        return None if same else "this approval id was used for another call"

    async def decide(
        self,
        run: str,
        decision: ApprovalDecision,
        deliver: Callable[[Connection], bool] = lambda _: True,
        delivered: Callable[[Connection], bool] = lambda _: False,
    ) -> Turned | None:
        """Take a person's decision, once. `deliver` is part of the same transaction: False, and nothing is decided.
        `delivered`: another gateway took this very decision a moment ago."""

        def work(connection: Connection) -> Turned | None:
            now = self._now(connection)
            if delivered(connection):
                return None
            approval = _get(connection, run, decision.approval_id)
            to = "approved" if decision.decision == "approve" else "denied"
            refused = decidable(approval, decision.arguments_hash, now)
            if refused is not None:
                return refused
            taken = _move(connection, (run, decision.approval_id), "open", to, decision.author)
            if taken is not None:
                return Turned("Refused", taken)
            if not deliver(connection):
                raise _UndeliverableError
            return None

        try:
            return await self._store.write(work)
        except _UndeliverableError:
            return FULL

    async def consume(self, request: ApprovalRequest, run: str) -> str | None:
        """Verify and use up in one transaction: of any number of callers, at most one gets None."""
        return await self._store.write(lambda connection: self.use(connection, request, run))

    def use(self, connection: Connection, request: ApprovalRequest, run: str) -> str | None:
        """`consume` as a part of a larger transaction: what is done with the approval is recorded with its use."""
        now = self._now(connection)
        approval = _get(connection, run, request.approval_id)
        refused = usable(approval, request, run, now)
        author = approval.author if approval else ""
        return refused or _move(connection, (run, request.approval_id), "approved", "consumed", author)

    async def withdraw(self, run: str, approval_id: str) -> bool:
        """The call is not wanted any more: nobody is asked about it, and a yes to it is void. False: unknown."""
        values = {"run": run, "approval_id": approval_id}

        def work(connection: Connection) -> bool:
            return connection.execute(_WITHDRAW, values).rowcount == 1 or _get(connection, run, approval_id) is not None

        return await self._store.write(work)

    async def close(self, run: str) -> None:
        """The Run is over: what was not used up is void, and nobody is asked any more."""
        await self._store.write(lambda connection: connection.execute(_CLOSE, {"run": run}))

    async def open_count(self, run: str) -> int:
        return await self._store.read(lambda connection: _open_count(connection, run))

    async def forget(self, run: str) -> None:
        """Delete what was for a Run that is gone."""
        delete = text("DELETE FROM approvals WHERE run = :run")
        await self._store.write(lambda connection: connection.execute(delete, {"run": run}))

    async def expire(self) -> None:
        """Close what is past its time, for good."""
        await self._store.write(self._now)

    def _now(self, connection: Connection) -> float:
        """The latest time ever seen, and no less than has passed since; also closes what that time has overtaken.

        One transaction at a time: of two gateways, the one whose clock is behind must not take time back."""
        self._store.lock(connection, CLOCK_KEY)
        row = connection.execute(_LATEST, {"key": CLOCK_KEY}).scalar()
        monotonic = self._monotonic()
        passed = self._seen[0] + monotonic - self._seen[1] if self._seen else 0.0
        now = max(self.clock(), float(row or 0.0), passed)
        self._seen = (now, monotonic)
        connection.execute(_SEEN, {"key": CLOCK_KEY, "value": repr(now)})
        connection.execute(_EXPIRE, {"now": now})
        return now


def _get(connection: Connection, run: str, approval_id: str) -> Kept | None:
    row = connection.execute(_GET, {"run": run, "approval_id": approval_id}).mappings().first()
    values: dict[str, Any] = dict(row) if row is not None else {}
    return Kept(**values) if values else None


def _open_count(connection: Connection, run: str) -> int:
    query = text("SELECT count(*) FROM approvals WHERE run = :run AND state = 'open'")
    return int(connection.execute(query, {"run": run}).scalar_one())


def _move(connection: Connection, key: tuple[str, str], was: str, to: str, author: str) -> str | None:
    values = {"run": key[0], "approval_id": key[1], "was": was, "to": to, "author": author}
    moved = connection.execute(_MOVE, values).rowcount == 1
    return None if moved else "the approval was used or decided at the same moment by another"
