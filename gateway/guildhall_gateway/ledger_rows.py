"""The ledger's SQL and the translation of its rows. Pure but for `totals_in` and `raise_budget`."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorKind
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import CallUsage, LedgerCall, ModelReply
from sqlalchemy import Connection, RowMapping, text

from guildhall_gateway.budget import Grant, Scope, Totals, Worst
from guildhall_gateway.prices import TokenCount

NO_LIMIT: Final = 2**62

NEW_SCOPE: Final = text(
    "INSERT INTO totals (scope, calls, calls_reserved, tokens, cached, output, tokens_reserved, cost, cost_reserved,"
    " unpriced) VALUES (:scope, 0, 0, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT (scope) DO NOTHING"
)
RESERVE: Final = text(
    "UPDATE totals SET calls_reserved = calls_reserved + 1, tokens_reserved = tokens_reserved + :tokens,"
    " cost_reserved = cost_reserved + :cost WHERE scope = :scope"
    " AND calls + calls_reserved + 1 <= :steps_limit"
    " AND tokens + output + tokens_reserved + :tokens <= :tokens_limit"
    " AND cost + cost_reserved + :cost <= :cost_limit"
)
SETTLE: Final = text(
    "UPDATE totals SET calls_reserved = calls_reserved - 1, calls = calls + :call,"
    " tokens_reserved = tokens_reserved - :reserved_tokens, cost_reserved = cost_reserved - :reserved_cost,"
    " tokens = tokens + :tokens, cached = cached + :cached, output = output + :output, cost = cost + :cost,"
    " unpriced = unpriced + :unpriced WHERE scope = :scope"
)
NEWEST: Final = text("SELECT * FROM calls WHERE run = :run AND call_id = :call_id ORDER BY attempt DESC LIMIT 1")
LOST: Final = text("SELECT count(*) FROM calls WHERE run = :run AND call_id = :call_id AND lost = 1")
INSERT: Final = text(
    "INSERT INTO calls (run, call_id, attempt, role, model, state, lost, request_sha256, owner, scopes,"
    " reserved_micro_usd, reserved_tokens, tokens, cached, output, cost, error_kind, started_at, settled_at)"
    " VALUES (:run, :call_id, :attempt, :role, :model, :state, 0, :request_sha256, :owner, :scopes,"
    " :reserved_micro_usd, :reserved_tokens, 0, 0, 0, NULL, :error_kind, :started_at, :settled_at)"
)
DROP_REFUSED: Final = text("DELETE FROM calls WHERE run = :run AND call_id = :call_id AND state = 'refused'")
CLOSE: Final = text(
    "UPDATE calls SET state = :state, lost = :lost, tokens = :tokens, cached = :cached, output = :output, cost = :cost,"
    " error_kind = :error_kind, settled_at = :settled_at"
    " WHERE run = :run AND call_id = :call_id AND attempt = :attempt AND state = 'reserved'"
)
ONE: Final = text("SELECT * FROM calls WHERE run = :run AND call_id = :call_id AND attempt = :attempt")
KEEP_REPLY: Final = text("INSERT INTO replies (run, call_id, body) VALUES (:run, :call_id, :body)")
CALLS_OF: Final = text("SELECT * FROM calls WHERE run = :run ORDER BY started_at DESC, attempt DESC LIMIT :limit")
BUDGET: Final = text("SELECT budget, raises FROM runs WHERE uid = :run")
FREEZE: Final = text(
    "INSERT INTO runs (uid, namespace, name, budget, first_seen, raises)"
    " VALUES (:uid, :namespace, :name, :budget, :now, 0) ON CONFLICT (uid) DO NOTHING"
)
RAISE: Final = text("UPDATE runs SET raises = raises + 1 WHERE uid = :run AND raises < :most")


# Who lives is told by the database's clock alone: those of two gateways may differ, and jump.
BEAT: Final = text(
    "INSERT INTO instances (id, seen_at) VALUES (:id, extract(epoch FROM clock_timestamp()))"
    " ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at"
)
FORGET_SILENT: Final = text("DELETE FROM instances WHERE seen_at < extract(epoch FROM clock_timestamp()) - :seconds")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended. `cost` None: price unknown."""

    state: Literal["settled", "failed"]
    count: TokenCount
    cost: int | None
    error_kind: ErrorKind | None = None
    reply: ModelReply | None = None
    counts_as_call: bool = True
    lost: bool = False


def stamp(seconds: float) -> str:
    """Unix seconds as UTC text with milliseconds."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def day_of(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def limits_of(scope: Scope, worst: Worst) -> dict[str, Any]:
    return {
        "scope": scope.key,
        "tokens": worst.tokens,
        "cost": worst.micro_usd or 0,
        "steps_limit": NO_LIMIT if scope.steps is None else scope.steps,
        "tokens_limit": NO_LIMIT if scope.tokens is None else scope.tokens,
        "cost_limit": NO_LIMIT if scope.cost_micro_usd is None else scope.cost_micro_usd,
    }


def settlement(scope: str, worst: Worst, outcome: Outcome | None) -> dict[str, Any]:
    count = outcome.count if outcome else TokenCount()
    called = outcome is not None and outcome.counts_as_call
    return {
        "scope": scope,
        "call": int(called),
        "reserved_tokens": worst.tokens,
        "reserved_cost": worst.micro_usd or 0,
        "tokens": count.prompt,
        "cached": count.cached,
        "output": count.output,
        "cost": (outcome.cost or 0) if outcome else 0,
        "unpriced": int(called and outcome is not None and outcome.cost is None),
    }


def granted(row: RowMapping) -> Grant:
    return Grant(Budget.model_validate_json(row["budget"]), int(row["raises"]))


def raise_budget(connection: Connection, run: str) -> bool:
    """Part of the transaction that takes a person's answer, so that one answer raises once; False over the bound."""
    values = {"run": run, "most": limits.BUDGET_RAISES_MAX_COUNT}
    return connection.execute(RAISE, values).rowcount == 1


def lost(row: RowMapping) -> Outcome:
    count = TokenCount(prompt=int(row["reserved_tokens"]))
    return Outcome("failed", count, row["reserved_micro_usd"], "llm_unavailable", lost=True)


def totals_in(connection: Connection, scope: str) -> Totals:
    query = text("SELECT * FROM totals WHERE scope = :scope")
    row = connection.execute(query, {"scope": scope}).mappings().first()
    return Totals() if row is None else Totals(**{key: int(value) for key, value in row.items() if key != "scope"})


def public_call(row: RowMapping) -> LedgerCall:
    return LedgerCall(
        call_id=row["call_id"],
        role=row["role"],
        model=row["model"],
        state=row["state"],
        usage=CallUsage(tokens=row["tokens"], cached_prompt_tokens=row["cached"], output_tokens=row["output"]),
        cost_micro_usd=row["cost"],
        reserved_micro_usd=row["reserved_micro_usd"] or 0,
        error_kind=row["error_kind"],
        started_at=stamp(row["started_at"]),
        settled_at=None if row["settled_at"] is None else stamp(row["settled_at"]),
    )
