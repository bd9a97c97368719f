"""Calls of external tools for Runs, each made at most once.

Guards what leaves the cluster: policy and approval are enforced here, where the calls are made.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakValueDictionary

from guildhall_contracts import limits
from guildhall_contracts.approvals import ApprovalRequest
from guildhall_contracts.canonical import NotCanonical, arguments_hash, canonical_json, sha256_hex
from guildhall_contracts.external import ExternalCall, ExternalResult
from guildhall_contracts.policy import ToolPolicy, needs_approval
from sqlalchemy import Connection

from guildhall_gateway.adapters.arguments import argument_problem
from guildhall_gateway.adapters.connections import Connections
from guildhall_gateway.adapters.kept import Kept
from guildhall_gateway.adapters.listing import Offer
from guildhall_gateway.adapters.normalise import label_of, result_block, result_text
from guildhall_gateway.adapters.target import Problem
from guildhall_gateway.approval_store import ApprovalStore
from guildhall_gateway.drain import Drain
from guildhall_gateway.offered import OfferedTools, connection_of, require_listed
from guildhall_gateway.problems import ELSEWHERE_LOOK_SECONDS, Refusal, Refused, refusal
from guildhall_gateway.runs import RunView
from guildhall_gateway.tool_policy import denied, permitted
from guildhall_gateway.tool_store import Before, CallRecord, ToolStore

log = logging.getLogger(__name__)

END_PAUSES_SECONDS: Final = (0.2, 1.0, 3.0)
SLOW: Final = f"another gateway makes it and has no answer after {limits.EXTERNAL_CALL_MAX_SECONDS} seconds"
RESTARTED: Final = "the gateway was restarted while it was being made"
UNKNOWN: Final = "Whether this call took effect is not known: {why}. Look before you repeat it."
ENDED: Final = "the Run or the gateway ended while it was being made"


@dataclass(frozen=True, slots=True)
class _Live:
    """A call being made. Only `asking` is ever cut, so that no cut comes between a result and its being kept."""

    request_sha256: str
    asking: "asyncio.Task[ExternalResult]"
    task: "asyncio.Task[ExternalResult]"

    def cut(self) -> None:
        """Stop asking, once: a second cancellation could come while the session is being closed."""
        if not self.asking.cancelling():
            self.asking.cancel()


class Tools:
    """Serves `POST /v1/tools/{name}`."""

    def __init__(
        self,
        store: ToolStore,
        approvals: ApprovalStore,
        offered: OfferedTools,
        connections: Connections,
        decided: Callable[[str], None],
    ) -> None:
        self._store = store
        self._approvals = approvals
        self._offered = offered
        self._connections = connections
        self._decided = decided
        self._live: dict[tuple[str, str], _Live] = {}
        self._drain = Drain()
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def call(self, run: RunView, tool: str, call: ExternalCall) -> ExternalResult:
        """The result of a call that is made now, being made, or was made before. Raises Refused."""
        record = _record(run, tool, call)
        async with self._turn(record):
            found = self._making(record) or await self._begun(run, record, call)
        return found if isinstance(found, ExternalResult) else await asyncio.shield(found)

    def _turn(self, record: CallRecord) -> asyncio.Lock:
        """Held by one request of a call id at a time, so that a call that is begun is found being made."""
        key = (record.run, record.call_id)
        lock = self._turns.get(key)
        if lock is None:
            lock = self._turns[key] = asyncio.Lock()
        return lock

    def _making(self, record: CallRecord) -> "asyncio.Task[ExternalResult] | None":
        """The task that makes this call now. Raises Refused where it is another call's."""
        live = self._live.get((record.run, record.call_id))
        if live is None:
            return None
        _same(live.request_sha256, record)
        return live.task

    async def _begun(
        self, run: RunView, record: CallRecord, call: ExternalCall
    ) -> "asyncio.Task[ExternalResult] | ExternalResult":
        with self._drain.admitted():
            found = await self._store.before(record) or await self._first(run, record, call)
        return await self._again(run, record, found) if isinstance(found, Before) else found

    async def _first(
        self, run: RunView, record: CallRecord, call: ExternalCall
    ) -> "asyncio.Task[ExternalResult] | Before":
        """The task of a call that nobody has begun; Before where another gateway was faster. Raises Refused."""
        offers, unlisted = self._offered.offers(run)
        require_listed(record.tool, unlisted - {connection_of(name) for name in offers})
        policy = await self._judged(run, record.tool, call, {name: offer for name, (_, offer) in offers.items()})
        began = await self._store.begin(record, self._approvals.clock(), self._approval(run, record, call, policy))
        if isinstance(began, str):
            raise Refused(denied("approval_refused", f"the call was not made: {began}"))
        if began is None:
            self._decided(run.uid)
            return self._start(run, record, call, *offers[record.tool])
        return began

    def _start(
        self, run: RunView, record: CallRecord, call: ExternalCall, kept: Kept, offer: Offer
    ) -> "asyncio.Task[ExternalResult]":
        key = (run.uid, call.call_id)
        asking = asyncio.create_task(self._asked(run, record, call, kept, offer))
        task = asyncio.create_task(self._made(run, record, asking))
        self._live[key] = _Live(record.request_sha256, asking, task)
        self._drain.follow(task)
        task.add_done_callback(lambda _: self._live.pop(key, None))
        return task

    async def _again(self, run: RunView, record: CallRecord, before: Before) -> ExternalResult:
        """What became of a call that was begun before and is not being made here."""
        _same(before.request_sha256, record)
        before = await self._made_elsewhere(record, before)
        if before.result is not None:
            return before.result.model_copy(update={"replayed": True})
        why = SLOW if before.elsewhere else RESTARTED
        return await self._store.end(run.uid, _unknown(record, why))

    async def _made_elsewhere(self, record: CallRecord, before: Before) -> Before:
        """What became of it, once the gateway that makes it has an answer, or lives no more, or took too long.

        Raises Refused where this gateway stops meanwhile.
        """
        end = time.monotonic() + limits.EXTERNAL_CALL_MAX_SECONDS
        while before.elsewhere and time.monotonic() < end:
            await asyncio.sleep(ELSEWHERE_LOOK_SECONDS)
            self._drain.check()
            before = await self._store.before(record) or before
        return before

    async def _judged(self, run: RunView, tool: str, call: ExternalCall, offers: dict[str, Offer]) -> ToolPolicy:
        """The policy a call is made by. Raises Refused."""
        policy = permitted(await self._offered.rights(run), call.role, tool, offers)
        if isinstance(policy, Refusal):
            raise Refused(policy)
        problem = await asyncio.to_thread(argument_problem, offers[tool].parameters, call.arguments)
        if problem is not None:
            raise Refused(denied("invalid_arguments", f"{problem}. The call was not made."))
        if needs_approval(policy) and call.approval_id is None:
            raise Refused(denied("approval_needed", f"'{tool}' needs a person's approval of exactly this call"))
        if (
            len({key for key in [*self._live, *self._turns] if key[0] == run.uid})
            > limits.EXTERNAL_CALLS_PER_RUN_MAX_COUNT
        ):
            raise Refused(denied("busy", "too many external calls of this Run are being made", retryable=True))
        return policy

    def _approval(
        self, run: RunView, record: CallRecord, call: ExternalCall, policy: ToolPolicy
    ) -> Callable[[Connection], str | None]:
        """Uses up the call's approval, where policy wants one, inside the transaction that records the call."""
        if not needs_approval(policy):
            return lambda _: None
        request = ApprovalRequest(
            approval_id=call.approval_id or "",
            run=run.uid,
            call_id=call.call_id,
            role=call.role,
            tool=record.tool,
            effect=policy.effect,
            arguments=call.arguments,
            arguments_hash=arguments_hash(call.arguments),
        )
        return lambda connection: self._approvals.use(connection, request, run.uid)

    async def _made(self, run: RunView, record: CallRecord, asking: "asyncio.Task[ExternalResult]") -> ExternalResult:
        """Keep what came of the call, whatever that is."""
        try:
            await asyncio.wait([asking])
            result = _unknown(record, ENDED) if asking.cancelled() else asking.result()
        except Exception:
            log.exception("call %s of run %s", record.call_id, run.uid)
            result = _unknown(record, "the gateway failed while it was being made")
        return await self._ended(run, result)

    async def _asked(
        self, run: RunView, record: CallRecord, call: ExternalCall, kept: Kept, offer: Offer
    ) -> ExternalResult:
        try:
            said = await self._connections.call(kept, offer, run.uid, call.call_id, call.arguments)
        except Problem as problem:
            if problem.taken:
                return _unknown(record, str(problem))
            used = " Its approval is used up." if record.approval_id else ""
            return _result(record, "error", f"The call was not made: {problem}.{used}")[0]
        text = result_text(said.content, said.structured)
        result, omitted = _result(record, "error" if said.is_error else "done", text)
        return result.model_copy(update={"omitted_bytes": omitted})

    async def _ended(self, run: RunView, result: ExternalResult) -> ExternalResult:
        for pause in END_PAUSES_SECONDS:
            try:
                return await self._store.end(run.uid, result)
            except OSError as error:
                log.warning("call %s of run %s is not kept yet: %s", result.call_id, run.uid, error)
                await asyncio.sleep(pause)
        return await self._store.end(run.uid, result)

    def cut(self, run: str) -> None:
        """End every call of a Run now."""
        for (uid, _), live in list(self._live.items()):
            if uid == run:
                live.cut()

    async def forget(self, run: str) -> None:
        """Delete what was for a Run that is gone."""
        await self._store.forget(run)

    async def close(self, grace_seconds: float) -> None:
        """Begin none any more; let calls end for a while, then cut them, and keep that as well."""
        await self._drain.close(grace_seconds, self._cut_all)

    def _cut_all(self) -> None:
        for live in list(self._live.values()):
            live.cut()


def _record(run: RunView, tool: str, call: ExternalCall) -> CallRecord:
    """Raises Refused for arguments that have no canonical form."""
    try:
        said = canonical_json({"tool": tool, "role": call.role, "arguments": call.arguments})
    except NotCanonical as error:
        raise Refused(denied("invalid_arguments", str(error)[:300])) from error
    return CallRecord(run.uid, call.call_id, sha256_hex(said), call.role, tool, call.approval_id or "")


def _same(request_sha256: str, record: CallRecord) -> None:
    if request_sha256 != record.request_sha256:
        text = f"call id '{record.call_id}' was used for another call"
        raise Refused(refusal(409, "internal", text, retryable=False))


def _result(record: CallRecord, outcome: Any, text: str) -> tuple[ExternalResult, int]:
    connection, _, part = record.tool.partition("__")
    block, omitted = result_block(text, label_of(connection, part))
    return ExternalResult(call_id=record.call_id, outcome=outcome, content=[block]), omitted


def _unknown(record: CallRecord, why: str) -> ExternalResult:
    return _result(record, "unknown", UNKNOWN.format(why=why))[0]
