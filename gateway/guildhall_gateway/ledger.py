"""Calls and money in the store: reserve before a call, settle after, once. Guards the budget against parallel calls.

Every pay of a call updates the rows of its scopes in one fixed order, each under its own limit, in one transaction.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorKind
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import MADE_ELSEWHERE, LedgerCall, LedgerView, ModelReply, ModelRequest
from sqlalchemy import Connection, RowMapping, text

from guildhall_gateway.budget import Grant, Over, Scope, Totals, Worst, over_budget, totals_view
from guildhall_gateway.ledger_room import Room
from guildhall_gateway.ledger_rows import (
    BEAT,
    BUDGET,
    CALLS_OF,
    CLOSE,
    DROP_REFUSED,
    FORGET_SILENT,
    FREEZE,
    INSERT,
    KEEP_REPLY,
    LOST,
    NEW_SCOPE,
    NEWEST,
    ONE,
    RESERVE,
    SETTLE,
    Outcome,
    granted,
    limits_of,
    lost,
    public_call,
    settlement,
    totals_in,
)
from guildhall_gateway.problems import Refusal, gateway_error, refusal
from guildhall_gateway.store import INSTANCE_ALIVE_SECONDS, Store

Busy = Callable[[], set[tuple[str, str]]]
"""The calls this gateway is making, as (run, call id); asked after the rows are read."""

ELSEWHERE: Final = {"cause": MADE_ELSEWHERE}
HELD_RETRY_SECONDS: Final = 1.0  # for who asked here and waited already
LOST_MAX_COUNT: Final = 2
ATTEMPTS_MAX_COUNT: Final = 50


@dataclass(frozen=True, slots=True)
class Claim:
    """A call that wants money: `digest` is over the whole request, `scopes` pay, `worst` is what is promised."""

    request: ModelRequest
    digest: str
    scopes: tuple[Scope, ...]
    worst: Worst
    grant: Grant = field(default_factory=lambda: Grant(Budget()))


@dataclass(frozen=True, slots=True)
class Reserved:
    """The money is promised; the call may be made. `attempt` counts tries of this call id, from 1."""

    attempt: int
    worst: Worst


@dataclass(frozen=True, slots=True)
class Replay:
    """The call was settled before; this is its reply as stored."""

    reply: ModelReply


@dataclass(frozen=True, slots=True)
class Held(Refusal):
    """Not now: calls under way hold what `scope` has left. Nothing of it is recorded."""

    scope: str


def _no(status: int, kind: ErrorKind, message: str, **more: Any) -> Refusal:
    return refusal(status, kind, message, **more)


class Ledger:
    """What the Runs spent. The only writer of `totals`, `calls`, `replies`, `runs` and `instances`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.room = Room()

    async def reserve(self, run: str, claim: Claim, now: float) -> Reserved | Replay | Refusal:
        """Promise the worst case of a call, give back its stored reply, or say why neither; Held: why not yet."""
        answer = await self._store.write(lambda connection: self._reserve(connection, run, claim, now))
        if isinstance(answer, Reserved):
            self.room.changed(scope.key for scope in claim.scopes)
        return answer

    def _reserve(self, connection: Connection, run: str, claim: Claim, now: float) -> Reserved | Replay | Refusal:
        key = {"run": run, "call_id": claim.request.call_id}
        newest = connection.execute(NEWEST, key).mappings().first()
        known = self._known(connection, newest, claim.digest, now) if newest else None
        if known is not None:
            return known
        was_refused = newest is not None and newest["state"] == "refused"
        if was_refused:
            connection.execute(DROP_REFUSED, key)
        attempt = 1 if newest is None else int(newest["attempt"]) + (not was_refused)
        no_room = _promise(connection, claim)
        if not isinstance(no_room, Held):
            connection.execute(INSERT, key | self._row(claim, attempt, now, no_room))
        return no_room or Reserved(attempt, claim.worst)

    def _row(self, claim: Claim, attempt: int, now: float, too_dear: Refusal | None) -> dict[str, Any]:
        return {
            "attempt": attempt,
            "role": claim.request.role,
            "model": claim.request.model,
            "state": "refused" if too_dear else "reserved",
            "request_sha256": claim.digest,
            "owner": self._store.instance,
            "scopes": json.dumps([scope.key for scope in claim.scopes]),
            "reserved_micro_usd": claim.worst.micro_usd,
            "reserved_tokens": claim.worst.tokens,
            "error_kind": "budget_exhausted" if too_dear else None,
            "started_at": now,
            "settled_at": now if too_dear else None,
        }

    def _known(self, connection: Connection, newest: RowMapping, digest: str, now: float) -> Replay | Refusal | None:
        key = {"run": newest["run"], "call_id": newest["call_id"]}
        if newest["state"] == "settled":
            return _replay(connection, newest, digest)
        if newest["state"] == "reserved":
            if self._store.is_another_alive(connection, newest["owner"]):
                why = f"call '{newest['call_id']}' is being made; ask again for its reply"
                return _no(409, "llm_unavailable", why, retry_after_seconds=1.0, detail=dict(ELSEWHERE))
            _close(connection, newest, lost(newest), now)
        if newest["attempt"] >= ATTEMPTS_MAX_COUNT:
            return _no(409, "internal", f"call id '{newest['call_id']}' was tried {ATTEMPTS_MAX_COUNT} times; give up")
        if newest["state"] != "refused" and int(connection.execute(LOST, key).scalar_one()) >= LOST_MAX_COUNT:
            why = f"call '{newest['call_id']}' was cut off twice; it is not made again under this id"
            return _no(409, "llm_unavailable", why, retryable=False)
        return None

    async def settle(self, run: str, call_id: str, attempt: int, outcome: Outcome, now: float) -> Totals:
        """Close a reserved call and give the Run's totals; one closed already stays: nothing is counted twice."""
        key = {"run": run, "call_id": call_id, "attempt": attempt}

        def work(connection: Connection) -> tuple[Totals, list[str]]:
            row = connection.execute(ONE, key).mappings().first()
            if row is not None:
                _close(connection, row, outcome, now)
            return totals_in(connection, f"run:{run}"), _payers(row)

        totals, payers = await self._store.write(work)
        self.room.changed(payers)
        return totals

    async def settle_orphans(self, now: float, busy: Busy = set) -> list[str]:
        """Close at worst case what is reserved but made by nobody: not by a living gateway, not in `busy`.

        The uids of the Runs concerned.
        """
        query = text("SELECT * FROM calls WHERE state = 'reserved'")
        rows = await self._store.read(lambda connection: connection.execute(query).mappings().all())
        touched = []
        for row in rows:  # one transaction each: rows of several Runs locked at once could deadlock
            if (row["run"], row["call_id"]) in busy():
                continue
            if await self._store.write(lambda connection, row=row: self._close_orphan(connection, row, now)):  # type: ignore[misc]
                touched.append(str(row["run"]))
                self.room.changed(_payers(row))
        return list(dict.fromkeys(touched))

    def _close_orphan(self, connection: Connection, row: RowMapping, now: float) -> bool:
        alive = self._store.is_another_alive(connection, row["owner"])
        return not alive and _close(connection, row, lost(row), now)

    async def beat(self) -> None:
        """Say that this instance lives (PostgreSQL only: SQLite has the file lock)."""

        def work(connection: Connection) -> None:
            connection.execute(BEAT, {"id": self._store.instance})
            connection.execute(FORGET_SILENT, {"seconds": 100 * INSTANCE_ALIVE_SECONDS})

        if not self._store.sqlite:
            await self._store.write(work)

    async def retire(self) -> None:
        """Forget this instance, so that what it left reserved may be closed at once."""
        delete = text("DELETE FROM instances WHERE id = :id")
        await self._store.write(lambda connection: connection.execute(delete, {"id": self._store.instance}))

    async def totals(self, run: str) -> Totals:
        return await self._store.read(lambda connection: totals_in(connection, f"run:{run}"))

    async def forget_replies(self, run: str) -> bool:
        """Delete the stored replies of a Run that is over: nobody may ask for them again. False: there were none."""
        look = text("SELECT 1 FROM replies WHERE run = :run LIMIT 1")
        delete = text("DELETE FROM replies WHERE run = :run")
        if await self._store.read(lambda connection: connection.execute(look, {"run": run}).first()) is None:
            return False  # a gateway that starts sees every Run that is over; most were cleaned up long ago
        await self._store.write(lambda connection: connection.execute(delete, {"run": run}))
        return True

    async def freeze_budget(self, run: str, namespace: str, name: str, budget: Budget, now: float) -> Grant:
        """The budget first recorded for a Run; nothing but a person's answers moves it from then on."""
        row = {"uid": run, "namespace": namespace, "name": name, "budget": json.dumps(budget.to_wire()), "now": now}

        def work(connection: Connection) -> Grant:
            connection.execute(FREEZE, row)
            return granted(connection.execute(BUDGET, {"run": run}).mappings().one())

        return await self._store.write(work)

    async def grant(self, run: str) -> Grant | None:
        """What was recorded for a Run; None before its first call."""
        row = await self._store.read(lambda connection: connection.execute(BUDGET, {"run": run}).mappings().first())
        return None if row is None else granted(row)

    async def calls(self, run: str) -> list[LedgerCall]:
        """The last calls of a Run, oldest first."""
        values = {"run": run, "limit": limits.PAGE_MAX_COUNT}
        rows = await self._store.read(lambda connection: connection.execute(CALLS_OF, values).mappings().all())
        return [public_call(row) for row in reversed(rows)]

    async def view(self, run: str, budget: Budget) -> LedgerView:
        """The public projection of one Run's ledger."""
        calls = await self.calls(run)
        scripted = any(call.model.startswith("scripted:") for call in calls)
        return LedgerView(totals=totals_view(await self.totals(run), budget), calls=calls, scripted=scripted)


def _replay(connection: Connection, newest: RowMapping, digest: str) -> Replay | Refusal:
    if newest["request_sha256"] != digest:
        why = f"call id '{newest['call_id']}' was used for another request; use a new one"
        return _no(409, "internal", why)
    query = text("SELECT body FROM replies WHERE run = :run AND call_id = :call_id")
    body = connection.execute(query, {"run": newest["run"], "call_id": newest["call_id"]}).scalar_one()
    return Replay(ModelReply.model_validate_json(body))


def _promise(connection: Connection, claim: Claim) -> Refusal | None:
    """Add the worst case to every scope; when one has no room, take it back from those before and say why.

    What is taken back before a wait holds up nobody else: who waits, holds nothing."""
    worst = claim.worst
    done: list[Scope] = []
    for scope in claim.scopes:
        if _has_room(connection, scope, worst):
            done.append(scope)
            continue
        for earlier in done:
            connection.execute(SETTLE, settlement(earlier.key, worst, None))
        return _no_room(claim.grant, scope, over_budget(scope, totals_in(connection, scope.key), worst))
    return None


def _no_room(grant: Grant, scope: Scope, over: Over | None) -> Refusal:
    """Held, or a stop. Nothing `over`: another call settled between the attempt and this look at it."""
    if over is not None and not over.held:
        return _no(402, "budget_exhausted", over.why, detail=grant.stop(scope, over))
    why = over.why if over is not None else f"{scope.what} had no room a moment ago"
    error = gateway_error("budget_exhausted", why, retryable=True, retry_after_seconds=HELD_RETRY_SECONDS)
    return Held(402, error, scope.key)


def _has_room(connection: Connection, scope: Scope, worst: Worst) -> bool:
    if worst.micro_usd is None and scope.cost_micro_usd is not None:
        return False
    values = limits_of(scope, worst)
    if connection.execute(RESERVE, values).rowcount == 1:
        return True
    connection.execute(NEW_SCOPE, {"scope": scope.key})  # it may be new, or made by another a moment ago
    return connection.execute(RESERVE, values).rowcount == 1


def _payers(row: RowMapping | None) -> list[str]:
    """The scopes that pay for a call."""
    return list(json.loads(row["scopes"])) if row is not None else []


def _close(connection: Connection, row: RowMapping, outcome: Outcome, now: float) -> bool:
    """Close a call that is still reserved; False when another did."""
    key = {"run": row["run"], "call_id": row["call_id"], "attempt": row["attempt"]}
    count = outcome.count
    values = {
        "state": outcome.state,
        "lost": int(outcome.lost),
        "tokens": count.prompt,
        "cached": count.cached,
        "output": count.output,
        "cost": outcome.cost,
        "error_kind": outcome.error_kind,
        "settled_at": now,
    }
    if connection.execute(CLOSE, key | values).rowcount != 1:
        return False
    worst = Worst(int(row["reserved_tokens"]), row["reserved_micro_usd"])
    for scope in _payers(row):
        connection.execute(SETTLE, settlement(scope, worst, outcome))
    if outcome.reply is not None:
        body = outcome.reply.model_dump_json(by_alias=True, exclude_none=True)
        connection.execute(KEEP_REPLY, {"run": row["run"], "call_id": row["call_id"], "body": body})
    return True
