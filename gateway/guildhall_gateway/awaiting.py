"""What waits for a person, read for the api. Guards its answer: bounded, and arguments whole or not at all."""

import json
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.awaiting import AwaitingApproval, AwaitingQuestion, AwaitingView
from sqlalchemy import Connection, TextClause, text

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
    " WHERE state = 'open' AND expires_at > :now AND (CAST(:run AS TEXT) = '' OR run = CAST(:run AS TEXT))"
    " ORDER BY asked_at LIMIT :most"
)
_QUESTIONS: Final = text("SELECT * FROM questions" + _OPEN)  # noqa: S608  constants
_APPROVALS: Final = text(_APPROVAL.format(arguments=_LISTED) + _OPEN)
_QUESTION: Final = text("SELECT * FROM questions WHERE run = :run AND id = :id")
_ONE_APPROVAL: Final = text(_APPROVAL.format(arguments="arguments") + " WHERE run = :run AND approval_id = :id")


class AwaitingBoard:
    """Open questions and approvals of Runs that go on."""

    def __init__(self, store: Store, source: RunSource) -> None:
        self._store = store
        self._source = source

    async def view(self, run: str, identity: str, now: float) -> AwaitingView:
        """Everything open (of `run` unless that is empty), or with `identity` that one thing however it stands."""
        if identity:
            return await self._one(run, identity, now)
        values = {"run": run, "now": now, "most": limits.AWAITING_MAX_COUNT}
        questions, approvals = await self._rows(_QUESTIONS, _APPROVALS, values)
        return AwaitingView(
            questions=[_question(row, now) for row in questions if self._goes_on(row.run)],
            approvals=[_approval(row, now) for row in approvals if self._goes_on(row.run)],
        )

    async def _one(self, run: str, identity: str, now: float) -> AwaitingView:
        questions, approvals = await self._rows(_QUESTION, _ONE_APPROVAL, {"run": run, "id": identity})
        return AwaitingView(
            questions=[_question(row, now) for row in questions], approvals=[_approval(row, now) for row in approvals]
        )

    async def _rows(
        self, questions: TextClause, approvals: TextClause, values: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        def work(connection: Connection) -> tuple[list[Any], list[Any]]:
            return list(connection.execute(questions, values)), list(connection.execute(approvals, values))

        return await self._store.read(work)

    def _goes_on(self, uid: str) -> bool:
        run = self._source.run(uid)
        return run is not None and not run.finished and not run.cancelled


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
