"""A ledger's whole story, told by a process that is killed before one statement or commit after another.

`python -m unit.gateway.dying FOLDER-OR-URL [--fresh] [--broken]` prints one JSON line for each death, with what
was wrong after it. A new process then settles what was left and tells the story to its end. `--fresh`: a new database
each time, every twelfth moment, so that it dies while tables are made too. `--broken`: with a ledger that is wrong;
`--hasty`: with a wrong order of approval and call.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from guildhall_contracts.guild import Budget
from guildhall_contracts.intervention import Answer
from guildhall_contracts.model_api import AskedItem, LedgerTotals, MailboxItem, ModelReply, ModelRequest
from guildhall_gateway.budget import Totals, Worst, scopes
from guildhall_gateway.config import Budgets
from guildhall_gateway.inbox import Inbox
from guildhall_gateway.ledger import Claim, Ledger, Replay, Reserved, _close
from guildhall_gateway.ledger_rows import ONE, SETTLE, Outcome, settlement, totals_in
from guildhall_gateway.prices import TokenCount
from guildhall_gateway.questions import Questions
from guildhall_gateway.store import Store
from sqlalchemy import Connection, event, text
from unit.gateway import dying_calls, kit

DAY = "2026-01-01"
COSTS = {"c1": 40, "c2": 30, "c4": 20}  # c3 fails and costs nothing
WORST = 100
SILENCE = text("UPDATE instances SET seen_at = seen_at - 60")  # the dead have been silent for a minute
NOW, LATER = 1_000.0, 1_100.0
Tell = Callable[[str], None]
LEDGER: type[Ledger] = Ledger
HASTY = False


def claim(run: str, call_id: str) -> Claim:
    paying = scopes(run, f"ns-{run}", DAY, Budget(cost_micro_usd=1_000), Budgets(day_micro_usd=10**9))
    return Claim(ModelRequest.model_validate(kit.request(call_id)), "d" * 64, paying, Worst(10, WORST))


def outcome(call_id: str) -> Outcome:
    if call_id not in COSTS:
        return Outcome("failed", TokenCount(), 0, "llm_unavailable", counts_as_call=False)
    body = {"callId": call_id, "stopReason": "end", "usage": {}, "model": "scripted:hi", "costMicroUSD": COSTS[call_id]}
    reply = ModelReply.model_validate(body | {"totals": LedgerTotals().to_wire()})
    return Outcome("settled", TokenCount(prompt=5, output=1), COSTS[call_id], reply=reply)


async def one_call(ledger: Ledger, run: str, call_id: str, tell: Tell, now: float) -> None:
    answer = await ledger.reserve(run, claim(run, call_id), now)
    if isinstance(answer, Reserved):
        await ledger.settle(run, call_id, answer.attempt, outcome(call_id), now)
        tell(call_id)
    elif not isinstance(answer, Replay):
        raise TypeError(f"{call_id}: {answer}")


async def story(store: Store, run: str, tell: Tell, now: float) -> None:
    """Every way the ledger is written to; told twice, it changes nothing the second time."""
    ledger, inbox, questions = LEDGER(store), Inbox(store), Questions(store)
    await ledger.beat()
    await ledger.freeze_budget(run, "team", "name", Budget(cost_micro_usd=1_000), now)
    for call_id in ("c1", "c2", "c3"):
        await one_call(ledger, run, call_id, tell, now)
    asked = AskedItem(id="q1", kind="budget", role="coder", text="continue?", expires_seconds=10_000)
    await questions.ask(run, asked, now)
    answer = MailboxItem(id=f"i-{run}", answer=Answer(question_id="q1", text="continue"))
    await questions.answer(run, answer, inbox, now)
    await one_call(ledger, run, "c4", tell, now)
    await dying_calls.external_call(store, run, tell, now, hasty=HASTY)


def numbers(connection: Connection, run: str) -> dict[str, Any]:
    """What the tables say, each by itself."""

    def one(query: str, **values: object) -> Any:
        return connection.execute(text(query), values).scalar()

    rows = connection.execute(text("SELECT * FROM calls WHERE run = :run"), {"run": run}).mappings().all()
    return {
        "totals": [totals_in(connection, key) for key in (f"run:{run}", f"ns:ns-{run}:{DAY}")],
        "calls": [dict(row) for row in rows],
        "replies": one("SELECT count(*) FROM replies WHERE run = :run", run=run),
        "answered": one("SELECT count(*) FROM questions WHERE run = :run AND state = 'answered'", run=run),
        "items": one("SELECT count(*) FROM inbox WHERE item = :item", item=f"i-{run}"),
        "raises": one("SELECT raises FROM runs WHERE uid = :run", run=run) or 0,
        "outside": dying_calls.numbers(connection, run),
    }


def disagreements(found: dict[str, Any], told: list[str]) -> list[str]:
    """Where the tables contradict each other, or the caller who was `told` of these calls."""
    rows = found["calls"]
    reserved = [row for row in rows if row["state"] == "reserved"]
    settled = {row["call_id"]: row["cost"] for row in rows if row["state"] == "settled"}
    expected = Totals(
        calls=sum(row["state"] == "settled" or row["lost"] for row in rows),
        calls_reserved=len(reserved),
        tokens=sum(row["tokens"] for row in rows),
        output=sum(row["output"] for row in rows),
        tokens_reserved=sum(row["reserved_tokens"] for row in reserved),
        cost=sum(row["cost"] or 0 for row in rows),
        cost_reserved=sum(row["reserved_micro_usd"] for row in reserved),
    )
    wrong = [f"totals {totals} are not the calls' {expected}" for totals in found["totals"] if totals != expected]
    if found["replies"] != len(settled):
        wrong.append(f"{found['replies']} replies for {len(settled)} settled calls")
    wrong += [f"{call_id} cost {settled[call_id]}" for call_id in settled if settled[call_id] != COSTS[call_id]]
    wrong += [
        f"{call_id} was told and is not settled" for call_id in told if call_id in COSTS and call_id not in settled
    ]
    if not found["answered"] == found["items"] == found["raises"]:
        wrong.append(f"answered {found['answered']}, items {found['items']}, raises {found['raises']}")
    return wrong + dying_calls.disagreements(found["outside"], told)


class Death:
    """Kills this process at moment number `at`; counts statements and commits before, and commits after."""

    def __init__(self, store: Store, at: int) -> None:
        self.count, self.at = 0, at
        engine = store._sync if store._sync is not None else store._async.sync_engine  # type: ignore[union-attr]
        event.listen(engine, "before_cursor_execute", lambda *_: self.moment())
        event.listen(engine, "commit", lambda *_: self.moment())

    def moment(self) -> None:
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


async def live(url: str, run: str, at: int, pipe: int) -> None:
    store = Store(url)
    death = Death(store, at)

    def tell(call_id: str) -> None:
        os.write(pipe, f"{call_id}\n".encode())
        death.moment()  # a death between a commit and the next statement

    await store.open()
    await story(store, run, tell, NOW)
    await store.close()


async def recover(url: str, run: str, told: list[str]) -> list[str]:
    """What is wrong at once, after settling, and after the story was told to its end."""
    store = Store(url)
    await store.open()
    wrong: list[str] = []

    async def look(when: str) -> None:
        found = await store.read(lambda connection: numbers(connection, run))
        wrong.extend(f"{when}: {problem}" for problem in disagreements(found, told))

    await look("as it was left")
    await store.write(lambda connection: connection.execute(SILENCE))
    await Ledger(store).settle_orphans(LATER)
    await look("settled")
    sent = told.append
    await story(store, run, lambda word: sent(word) if word == dying_calls.SENT else None, LATER)
    await story(store, run, lambda word: sent(word) if word == dying_calls.SENT else None, LATER)
    await look("told to its end")
    found = await store.read(lambda connection: numbers(connection, run))
    wrong.extend(dying_calls.unfinished(found["outside"], told))
    lost = sum(row["lost"] for row in found["calls"])
    if found["totals"][0].cost != sum(COSTS.values()) + lost * WORST or found["totals"][0].cost_reserved or lost > 1:
        wrong.append(f"{found['totals'][0]} after {lost} lost calls")
    if found["raises"] != 1:
        wrong.append(f"raised {found['raises']} times for one answer")
    await store.close()
    return wrong


def forked(work: Callable[[], Awaitable[Any]]) -> int:
    """The wait status of a child that does `work`."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            asyncio.run(work())  # type: ignore[arg-type]
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def one_death(url: str, run: str, at: int) -> tuple[int, list[str]]:
    reader, writer = os.pipe()
    status = forked(lambda: live(url, run, at, writer))
    os.close(writer)
    with os.fdopen(reader) as stream:
        told = stream.read().split()
    return status, asyncio.run(recover(url, run, told))


class Careless(Ledger):
    """The bug to be found: a call is closed in one transaction and paid for in another."""

    async def settle(self, run: str, call_id: str, attempt: int, outcome: Outcome, now: float) -> Totals:
        key = {"run": run, "call_id": call_id, "attempt": attempt}
        row = await self._store.write(lambda connection: connection.execute(ONE, key).mappings().one())
        unpaid: Any = dict(row) | {"scopes": "[]"}
        await self._store.write(lambda connection: _close(connection, unpaid, outcome, now))
        worst = Worst(int(row["reserved_tokens"]), row["reserved_micro_usd"])
        for scope in json.loads(row["scopes"]):
            values = settlement(scope, worst, outcome)
            await self._store.write(lambda connection, values=values: connection.execute(SETTLE, values))  # type: ignore[misc]
        return Totals()


def main(where: str, *options: str) -> None:
    global LEDGER, HASTY
    LEDGER, HASTY = Careless if "--broken" in options else Ledger, "--hasty" in options
    fresh, step = "--fresh" in options, 12 if "--fresh" in options else 1
    for at in range(1, 2_000, step):
        url = f"sqlite:///{where}/{at if fresh else 0}.db" if "://" not in where else where
        status, wrong = one_death(url, f"run-{at}", at)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        sys.stdout.write(json.dumps({"at": at, "killed": killed, "status": status, "wrong": wrong}) + "\n")
        sys.stdout.flush()
        if not killed:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
