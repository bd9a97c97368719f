"""Calls and money in the store: reserve before a call, settle after, once. Guards the budget against parallel calls.

Every pay of a call updates the rows of its scopes in one fixed order, each under its own limit, in one transaction.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorKind
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import LedgerCall, LedgerView, ModelReply, ModelRequest
from sqlalchemy import RowMapping, text
from sqlalchemy.ext.asyncio import AsyncConnection

from guildhall_gateway.budget import Scope, Totals, Worst, over_budget, totals_view
from guildhall_gateway.ledger_rows import (
    CLOSE,
    DROP_REFUSED,
    INSERT,
    LOST,
    NEW_SCOPE,
    NEWEST,
    RESERVE,
    SETTLE,
    Outcome,
    limits_of,
    lost,
    public_call,
    settlement,
    totals_in,
)
from guildhall_gateway.problems import Refusal, refusal
from guildhall_gateway.store import INSTANCE_ALIVE_SECONDS, Store

Busy = Callable[[], set[tuple[str, str]]]
"""The calls this gateway is making, as (run, call id); asked after the rows are read."""

LOST_MAX_COUNT: Final = 2
ATTEMPTS_MAX_COUNT: Final = 50


@dataclass(frozen=True, slots=True)
class Claim:
    """A call that wants money: `digest` is over the whole request, `scopes` pay, `worst` is what is promised."""

    request: ModelRequest
    digest: str
    scopes: tuple[Scope, ...]
    worst: Worst


@dataclass(frozen=True, slots=True)
class Reserved:
    """The money is promised; the call may be made. `attempt` counts tries of this call id, from 1."""

    attempt: int
    worst: Worst


@dataclass(frozen=True, slots=True)
class Replay:
    """The call was settled before; this is its reply as stored."""

    reply: ModelReply


def _no(status: int, kind: ErrorKind, message: str, **more: Any) -> Refusal:
    return refusal(status, kind, message, **more)


class Ledger:
    """What the Runs spent. The only writer of `totals`, `calls` and `replies`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def reserve(self, run: str, claim: Claim, now: float) -> Reserved | Replay | Refusal:
        """Promise the worst case of a call, give back its stored reply, or say why neither."""
        request, worst = claim.request, claim.worst
        key = {"run": run, "call_id": request.call_id}
        async with self._store.write() as connection:
            newest = (await connection.execute(NEWEST, key)).mappings().first()
            known = await self._known(connection, newest, claim.digest, now) if newest else None
            if known is not None:
                return known
            attempt = 1 if newest is None else int(newest["attempt"]) + (newest["state"] != "refused")
            await connection.execute(DROP_REFUSED, key)
            too_dear = await self._promise(connection, claim.scopes, worst)
            row = key | {
                "attempt": attempt,
                "role": request.role,
                "model": request.model,
                "state": "refused" if too_dear else "reserved",
                "request_sha256": claim.digest,
                "owner": self._store.instance,
                "scopes": json.dumps([scope.key for scope in claim.scopes]),
                "reserved_micro_usd": worst.micro_usd,
                "reserved_tokens": worst.tokens,
                "error_kind": "budget_exhausted" if too_dear else None,
                "started_at": now,
                "settled_at": now if too_dear else None,
            }
            await connection.execute(INSERT, row)
        return _no(402, "budget_exhausted", too_dear) if too_dear else Reserved(attempt, worst)

    async def _known(
        self, connection: AsyncConnection, newest: RowMapping, digest: str, now: float
    ) -> Replay | Refusal | None:
        key = {"run": newest["run"], "call_id": newest["call_id"]}
        if newest["state"] == "settled":
            if newest["request_sha256"] != digest:
                return _no(
                    409, "internal", f"call id '{newest['call_id']}' was used for another request; use a new one"
                )
            query = text("SELECT body FROM replies WHERE run = :run AND call_id = :call_id")
            body = (await connection.execute(query, key)).scalar_one()
            return Replay(ModelReply.model_validate_json(body))
        if newest["state"] == "reserved":
            if await self._alive(connection, newest["owner"], now):
                text_ = f"call '{newest['call_id']}' is being made; ask again for its reply"
                return _no(409, "llm_unavailable", text_, retry_after_seconds=1.0)
            await self._close(connection, newest, lost(newest), now)
        if newest["attempt"] >= ATTEMPTS_MAX_COUNT:
            return _no(409, "internal", f"call id '{newest['call_id']}' was tried {ATTEMPTS_MAX_COUNT} times; give up")
        if int((await connection.execute(LOST, key)).scalar_one()) >= LOST_MAX_COUNT:
            text_ = f"call '{newest['call_id']}' was cut off twice; it is not made again under this id"
            return _no(409, "llm_unavailable", text_, retryable=False)
        return None

    async def _alive(self, connection: AsyncConnection, owner: str, now: float) -> bool:
        if self._store.sqlite or owner == self._store.instance:
            return False  # the file lock says that we are alone; our own calls are known by the one who asks
        seen = (await connection.execute(text("SELECT seen_at FROM instances WHERE id = :id"), {"id": owner})).scalar()
        return seen is not None and now - float(seen) < INSTANCE_ALIVE_SECONDS

    async def _promise(self, connection: AsyncConnection, scopes: tuple[Scope, ...], worst: Worst) -> str | None:
        """Add `worst` to every scope; when one has no room, take it back from those before and say why."""
        done: list[Scope] = []
        for scope in scopes:
            await connection.execute(NEW_SCOPE, {"scope": scope.key})
            unpriced = worst.micro_usd is None and scope.cost_micro_usd is not None
            changed = 0 if unpriced else (await connection.execute(RESERVE, limits_of(scope, worst))).rowcount
            if changed != 1:
                for earlier in done:
                    await connection.execute(SETTLE, settlement(earlier.key, worst, None))
                totals = await totals_in(connection, scope.key)
                return over_budget(scope, totals, worst) or f"{scope.what} has no room for another call"
            done.append(scope)
        return None

    async def settle(self, run: str, call_id: str, attempt: int, outcome: Outcome, now: float) -> Totals:
        """Close a reserved call and give the Run's totals; one closed already stays: nothing is counted twice."""
        key = {"run": run, "call_id": call_id, "attempt": attempt}
        query = text("SELECT * FROM calls WHERE run = :run AND call_id = :call_id AND attempt = :attempt")
        async with self._store.write() as connection:
            row = (await connection.execute(query, key)).mappings().first()
            if row is not None:
                await self._close(connection, row, outcome, now)
            return await totals_in(connection, f"run:{run}")

    async def _close(self, connection: AsyncConnection, row: RowMapping, outcome: Outcome, now: float) -> bool:
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
        if (await connection.execute(CLOSE, key | values)).rowcount != 1:
            return False
        worst = Worst(int(row["reserved_tokens"]), row["reserved_micro_usd"])
        for scope in json.loads(row["scopes"]):
            await connection.execute(SETTLE, settlement(scope, worst, outcome))
        if outcome.reply is not None:
            insert = text("INSERT INTO replies (run, call_id, body) VALUES (:run, :call_id, :body)")
            body = outcome.reply.model_dump_json(by_alias=True, exclude_none=True)
            await connection.execute(insert, {"run": row["run"], "call_id": row["call_id"], "body": body})
        return True

    async def settle_orphans(self, now: float, busy: Busy = set) -> list[str]:
        """Close at worst case what is reserved but made by nobody: not by a living gateway, not in `busy`.

        The uids of the Runs concerned.
        """
        async with self._store.read() as connection:
            rows = (await connection.execute(text("SELECT * FROM calls WHERE state = 'reserved'"))).mappings().all()
        touched = []
        for row in rows:  # one transaction each: rows of several Runs locked at once could deadlock
            async with self._store.write() as connection:
                if (row["run"], row["call_id"]) in busy() or await self._alive(connection, row["owner"], now):
                    continue
                if await self._close(connection, row, lost(row), now):
                    touched.append(str(row["run"]))
        return list(dict.fromkeys(touched))

    async def beat(self, now: float) -> None:
        """Say that this instance lives (PostgreSQL only: SQLite has the file lock)."""
        if self._store.sqlite:
            return
        upsert = text(
            "INSERT INTO instances (id, seen_at) VALUES (:id, :now)"
            " ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at"
        )
        async with self._store.write() as connection:
            await connection.execute(upsert, {"id": self._store.instance, "now": now})
            gone = {"before": now - 100 * INSTANCE_ALIVE_SECONDS}
            await connection.execute(text("DELETE FROM instances WHERE seen_at < :before"), gone)

    async def retire(self) -> None:
        """Forget this instance, so that what it left reserved may be closed at once."""
        async with self._store.write() as connection:
            await connection.execute(text("DELETE FROM instances WHERE id = :id"), {"id": self._store.instance})

    async def totals(self, run: str) -> Totals:
        async with self._store.read() as connection:
            return await totals_in(connection, f"run:{run}")

    async def forget_replies(self, run: str) -> None:
        """Delete the stored replies of a Run that is over: nobody may ask for them again."""
        async with self._store.write() as connection:
            await connection.execute(text("DELETE FROM replies WHERE run = :run"), {"run": run})

    async def freeze_budget(self, run: str, namespace: str, name: str, budget: Budget, now: float) -> Budget:
        """The budget first recorded for a Run; later changes of its Guild do not move it."""
        insert = text(
            "INSERT INTO runs (uid, namespace, name, budget, first_seen)"
            " VALUES (:uid, :namespace, :name, :budget, :now) ON CONFLICT (uid) DO NOTHING"
        )
        row = {"uid": run, "namespace": namespace, "name": name, "budget": json.dumps(budget.to_wire()), "now": now}
        async with self._store.write() as connection:
            await connection.execute(insert, row)
        return await self.budget(run) or budget

    async def budget(self, run: str) -> Budget | None:
        async with self._store.read() as connection:
            body = (await connection.execute(text("SELECT budget FROM runs WHERE uid = :run"), {"run": run})).scalar()
        return None if body is None else Budget.model_validate_json(body)

    async def calls(self, run: str) -> list[LedgerCall]:
        """The last calls of a Run, oldest first."""
        query = text("SELECT * FROM calls WHERE run = :run ORDER BY started_at DESC, attempt DESC LIMIT :limit")
        async with self._store.read() as connection:
            found = await connection.execute(query, {"run": run, "limit": limits.PAGE_MAX_COUNT})
            rows = found.mappings().all()
        return [public_call(row) for row in reversed(rows)]

    async def view(self, run: str, budget: Budget) -> LedgerView:
        """The public projection of one Run's ledger."""
        calls = await self.calls(run)
        scripted = any(call.model.startswith("scripted:") for call in calls)
        return LedgerView(totals=totals_view(await self.totals(run), budget), calls=calls, scripted=scripted)
