"""What waits for a person, read for the api. Guards its answer: bounded, and arguments whole or not at all; and each
namespace's people against another namespace whose Runs ask so much that nothing else would be listed.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.awaiting import AwaitingApproval, AwaitingQuestion, AwaitingView
from sqlalchemy import BindParameter, Connection, TextClause, bindparam, text

from guildhall_gateway.approvals import FINAL
from guildhall_gateway.ledger_rows import stamp
from guildhall_gateway.questions import standing
from guildhall_gateway.runs import RunSource
from guildhall_gateway.store import Store

_APPROVAL: Final = (
    "SELECT run, approval_id, call_id, role, tool, effect, arguments_hash, state, asked_at, expires_at,"
    " arguments_bytes, {arguments} AS arguments FROM approvals"
)
_LISTED: Final = f"CASE WHEN arguments_bytes <= {limits.LISTED_ARGUMENTS_MAX_BYTES} THEN arguments ELSE NULL END"
_OPEN: Final = (
    "SELECT run, {id} AS id, asked_at FROM {table} WHERE state = 'open' AND expires_at > :now AND run IN :runs"
    " ORDER BY asked_at, run, {id} LIMIT :most"
)
_RUNS: Final[BindParameter[Any]] = bindparam("runs", expanding=True)
_OPEN_QUESTIONS: Final = text(_OPEN.format(table="questions", id="id")).bindparams(_RUNS)
_OPEN_APPROVALS: Final = text(_OPEN.format(table="approvals", id="approval_id")).bindparams(_RUNS)
_KEYS: Final[BindParameter[Any]] = bindparam("keys", expanding=True)
_QUESTIONS: Final = text("SELECT * FROM questions WHERE (run, id) IN :keys").bindparams(_KEYS)
_LISTED_APPROVALS: Final = text(_APPROVAL.format(arguments=_LISTED) + " WHERE (run, approval_id) IN :keys").bindparams(
    _KEYS
)
_WHOLE_APPROVALS: Final = text(
    _APPROVAL.format(arguments="arguments") + " WHERE (run, approval_id) IN :keys"
).bindparams(_KEYS)
Open = tuple[float, str, str]  # when it was asked, its Run, its id


class AwaitingBoard:
    """Open questions and approvals of Runs that go on."""

    def __init__(self, store: Store, source: RunSource) -> None:
        self._store = store
        self._source = source

    async def open(self, namespaces: Collection[str], now: float) -> AwaitingView:
        """What is open in these namespaces: a share for each of them, the oldest first."""
        going_on: dict[str, list[str]] = {namespace: [] for namespace in namespaces}
        for run in self._source.runs():
            if run.namespace in going_on and run.attempt and self._goes_on(run.uid):
                going_on[run.namespace].append(run.uid)
        return await self._listed(list(going_on.values()), now)

    async def of(self, run: str, identity: str, now: float) -> AwaitingView:
        """What is open in a Run, or with `identity` that one thing however it stands."""
        if identity:
            return await self._one(run, identity, now)
        return await self._listed([[run]] if self._goes_on(run) else [], now)

    async def _listed(self, groups: Sequence[Sequence[str]], now: float) -> AwaitingView:
        """What is open in groups of Runs, no group at another's cost."""

        def work(connection: Connection) -> tuple[list[Any], list[Any]]:
            questions = _open(connection, _OPEN_QUESTIONS, groups, now)
            approvals = _open(connection, _OPEN_APPROVALS, groups, now)
            return _rows(connection, _QUESTIONS, "id", questions), _rows(
                connection, _LISTED_APPROVALS, "approval_id", approvals
            )

        questions, approvals = await self._store.read(work)
        return AwaitingView(
            questions=[_question(row, now) for row in questions], approvals=[_approval(row, now) for row in approvals]
        )

    async def _one(self, run: str, identity: str, now: float) -> AwaitingView:
        key = [(0.0, run, identity)]

        def work(connection: Connection) -> tuple[list[Any], list[Any]]:
            return _rows(connection, _QUESTIONS, "id", key), _rows(connection, _WHOLE_APPROVALS, "approval_id", key)

        questions, approvals = await self._store.read(work)
        return AwaitingView(
            questions=[_question(row, now) for row in questions], approvals=[_approval(row, now) for row in approvals]
        )

    def _goes_on(self, uid: str) -> bool:
        run = self._source.run(uid)
        return run is not None and not run.finished and not run.cancelled


def _open(connection: Connection, query: TextClause, groups: Sequence[Sequence[str]], now: float) -> list[Open]:
    found = []
    for runs in groups:
        values = {"runs": runs[: limits.AWAITING_RUNS_MAX_COUNT], "now": now, "most": limits.AWAITING_MAX_COUNT}
        found.append([(row.asked_at, row.run, row.id) for row in connection.execute(query, values)] if runs else [])
    return shared(found, limits.AWAITING_MAX_COUNT)


def shared(groups: Sequence[Sequence[Open]], most: int) -> list[Open]:
    """At most `most`, oldest first: of each group its first, then of each its second, and so on. Pure."""
    ranked = sorted((rank, each) for group in groups for rank, each in enumerate(group))
    return sorted(each for _, each in ranked[:most])


def _rows(connection: Connection, query: TextClause, name: str, keys: Sequence[Open]) -> list[Any]:
    """What is kept under `keys`, in their order: one query, however many they are."""
    wanted = [(run, identity) for _, run, identity in keys]
    rows = connection.execute(query, {"keys": wanted}).all() if wanted else []
    found = {(row.run, getattr(row, name)): row for row in rows}
    return [found[key] for key in wanted if key in found]


def _question(row: Any, now: float) -> AwaitingQuestion:
    return AwaitingQuestion(
        run=row.run, id=row.id, kind=row.kind, role=row.role, text=row.text, context=row.context,
        options=json.loads(row.options), state=standing(row, now),
        asked_at=stamp(row.asked_at), expires_at=stamp(row.expires_at),
    )  # fmt: skip


def _approval(row: Any, now: float) -> AwaitingApproval:
    over = row.state not in FINAL and now >= row.expires_at
    return AwaitingApproval(
        run=row.run, approval_id=row.approval_id, call_id=row.call_id, role=row.role, tool=row.tool,
        effect=row.effect, arguments=row.arguments, arguments_bytes=row.arguments_bytes,
        arguments_hash=row.arguments_hash,
        state="expired" if over else row.state, asked_at=stamp(row.asked_at), expires_at=stamp(row.expires_at),
    )  # fmt: skip
