"""What a dying gateway does outside: one approval, asked for, decided, and used up with one external call."""

from typing import Any

from guildhall_contracts.approvals import ApprovalDecision, ApprovalRequest
from guildhall_contracts.content import Block
from guildhall_contracts.external import ExternalResult
from guildhall_contracts.model_api import MailboxItem
from guildhall_gateway.approval_store import ApprovalStore
from guildhall_gateway.approvals import arguments_hash
from guildhall_gateway.inbox import Inbox
from guildhall_gateway.store import Store
from guildhall_gateway.tool_store import Before, CallRecord, ToolStore
from sqlalchemy import Connection, text

SENT = "sent"  # told when the call leaves the gateway: its effect cannot be taken back
ARGUMENTS = {"text": "once"}
HASH = arguments_hash(ARGUMENTS)


def request(run: str) -> ApprovalRequest:
    return ApprovalRequest(
        approval_id="a1", run=run, call_id="x1", role="coder", tool="kit__publish", effect="consequential",
        arguments=ARGUMENTS, arguments_hash=HASH,
    )  # fmt: skip


def result(outcome: Any) -> ExternalResult:
    content = [Block(text=outcome, origin="tool", authority="data", label="kit")]
    return ExternalResult(call_id="x1", outcome=outcome, content=content)


async def external_call(store: Store, run: str, tell: Any, now: float, *, hasty: bool = False) -> None:
    """Told twice, it sends nothing twice. `hasty`: the bug to be found, an approval used up before the call is kept."""
    approvals, tools, inbox = ApprovalStore(store, lambda: now), ToolStore(store), Inbox(store)
    await approvals.ask(request(run), run)
    decision = ApprovalDecision(approval_id="a1", arguments_hash=HASH, decision="approve", author="jane")
    item = MailboxItem(id=f"d-{run}", approval=decision)
    await approvals.decide(
        run,
        decision,
        lambda connection: inbox.put(connection, run, item) != "full",
        lambda connection: inbox.has(connection, item.id),
    )
    record = CallRecord(run, "x1", "e" * 64, "coder", "kit__publish", "a1")
    if hasty:
        refused = await approvals.consume(request(run), run)
        began = refused or await tools.begin(record, now, lambda _: None)
    else:
        began = await tools.begin(record, now, lambda connection: approvals.use(connection, request(run), run))
    if began is None:
        tell(SENT)
        await tools.end(run, result("done"))
    elif isinstance(began, Before) and began.result is None:
        await tools.end(run, result("unknown"))


def numbers(connection: Connection, run: str) -> dict[str, Any]:
    """What the tables say of the approval, of its decision's way to the executor, and of the call."""

    def one(query: str) -> Any:
        return connection.execute(text(query), {"run": run, "item": f"d-{run}"}).scalar()

    return {
        "approval": one("SELECT state FROM approvals WHERE run = :run"),
        "told": one("SELECT count(*) FROM inbox WHERE item = :item"),
        "call": one("SELECT state FROM tool_calls WHERE run = :run"),
        "result": one("SELECT result FROM tool_calls WHERE run = :run") or "",
    }


def disagreements(found: dict[str, Any], told: list[str]) -> list[str]:
    """Where approval, call and what left the gateway contradict each other."""
    wrong = []
    if (found["approval"] == "consumed") != (found["call"] is not None):
        wrong.append(f"the approval is {found['approval']} and the call {found['call']}")
    if (found["approval"] in {"approved", "consumed"}) != (found["told"] == 1):
        wrong.append(f"the approval is {found['approval']} and {found['told']} items tell of it")
    if told.count(SENT) > 1:
        wrong.append(f"sent {told.count(SENT)} times for one yes")
    if SENT in told and found["call"] is None:
        wrong.append("sent, and nothing is kept of it")
    return wrong


def unfinished(found: dict[str, Any], told: list[str]) -> list[str]:
    """What must hold once the story was told to its end."""
    known = "unknown" if '"unknown"' in found["result"] else "done" if '"done"' in found["result"] else "nothing"
    wrong = [] if (found["approval"], found["call"]) == ("consumed", "ended") else [f"at its end {found}"]
    if known == "done" and told.count(SENT) != 1:
        wrong.append(f"called done, and sent {told.count(SENT)} times")
    return wrong if known != "nothing" else [*wrong, "nobody knows what came of the call"]
