"""External tools for Runs: what is offered, and calls, each made at most once.

Guards what leaves the cluster: policy and approval are enforced here, where the calls are made.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakValueDictionary

from guildhall_contracts import limits
from guildhall_contracts.approvals import ApprovalRequest
from guildhall_contracts.canonical import NotCanonical, arguments_hash, canonical_json, digest, sha256_hex
from guildhall_contracts.external import ExternalCall, ExternalResult, ExternalTool, ExternalTools
from guildhall_contracts.guild import GuildSpec
from guildhall_contracts.model_api import ModelRequest
from guildhall_contracts.policy import ToolPolicy, is_external, needs_approval
from pydantic import ValidationError
from sqlalchemy import Connection

from guildhall_gateway.adapters.arguments import argument_problem
from guildhall_gateway.adapters.connections import Connections
from guildhall_gateway.adapters.kept import Kept
from guildhall_gateway.adapters.listing import Offer, model_description
from guildhall_gateway.adapters.normalise import label_of, result_block, result_text
from guildhall_gateway.adapters.target import Problem
from guildhall_gateway.approval_store import ApprovalStore
from guildhall_gateway.problems import ELSEWHERE_LOOK_SECONDS, Refusal, Refused, lagging, refusal
from guildhall_gateway.runs import RunSource, RunView
from guildhall_gateway.tool_policy import Rights, denied, external_names, permitted
from guildhall_gateway.tool_store import Before, CallRecord, ToolStore

log = logging.getLogger(__name__)

END_PAUSES_SECONDS: Final = (0.2, 1.0, 3.0)
SLOW: Final = f"another gateway makes it and has no answer after {limits.EXTERNAL_CALL_MAX_SECONDS} seconds"
RESTARTED: Final = "the gateway was restarted while it was being made"
UNKNOWN: Final = "Whether this call took effect is not known: {why}. Look before you repeat it."
Calls = dict[tuple[str, str], tuple[str, "asyncio.Task[ExternalResult]"]]


class Tools:
    """Serves `GET /v1/tools` and `POST /v1/tools/{name}`."""

    def __init__(
        self,
        store: ToolStore,
        approvals: ApprovalStore,
        source: RunSource,
        connections: Connections,
        decided: Callable[[str], None],
    ) -> None:
        self._store = store
        self._approvals = approvals
        self._source = source
        self._connections = connections
        self._decided = decided
        self._live: Calls = {}
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def rights(self, run: RunView) -> Rights:
        """The Run's own rights, by the Guild it was frozen with. Raises Refused."""
        kept = await self._store.guild(run.uid)
        if kept is None:
            kept = self._frozen(run)
            await self._store.freeze(run.uid, kept)
        return Rights(run, kept)

    def _frozen(self, run: RunView) -> GuildSpec:
        """The Guild with the digest the operator recorded for this Run; any other one gives no rights."""
        if run.guild_digest is None:
            raise Refused(lagging("the Guild in this Run's status"))
        view = self._source.guild(run.namespace, run.guild_ref) if run.guild_ref else None
        raw = run.guild or (view.spec if view else None)
        try:
            guild = GuildSpec.model_validate(raw)
            same = digest(guild) == run.guild_digest
        except (ValidationError, NotCanonical):
            same = False
        if not same:
            text = (
                "the Guild was changed while this Run was starting, so its external tools are not known; start it again"
            )
            raise Refused(denied("tool_denied", text))
        return guild

    async def offered(self, run: RunView) -> ExternalTools:
        """What roles of this Run may be offered. Raises Refused."""
        offers, unseen = self._seen(run)
        if not offers and not unseen:
            return ExternalTools()
        rights = await self.rights(run)
        for name in external_names(rights.guild):
            self._waited_for(name, unseen)
        tools = []
        for name in external_names(rights.guild):
            kept, offer = offers.get(name, (None, None))
            policy = rights.policy(name, offer) if offer else None
            if kept and offer and policy:
                text = model_description(kept.view.name, offer)
                tools.append(ExternalTool(name=name, description=text, parameters=offer.parameters, policy=policy))
        return ExternalTools(tools=tools[: limits.EXTERNAL_TOOLS_PER_RUN_MAX_COUNT])

    def _seen(self, run: RunView) -> tuple[dict[str, tuple[Kept, Offer]], set[str]]:
        """What is offered now, and the Connections of which that is not known yet. Raises Refused."""
        if not self._source.ready():
            raise Refused(lagging("the connections of this namespace"))
        return self._connections.offers(run.namespace), self._connections.unseen(run.namespace)

    def _waited_for(self, tool: str, unseen: set[str]) -> None:
        connection = tool.partition("__")[0]
        if connection in unseen:
            raise Refused(lagging(f"the tools of connection '{connection}'"))

    def shown(self, run: RunView, request: ModelRequest) -> ModelRequest:
        """The request without the external tools nobody offers any more."""
        if not self._source.ready() or not any(is_external(tool.name) for tool in request.tools):
            return request  # what is not known to be gone stays; its calls are judged one by one
        offers, unseen = self._seen(run)
        kept = [
            tool
            for tool in request.tools
            if not is_external(tool.name) or tool.name in offers or tool.name.partition("__")[0] in unseen
        ]
        return request if len(kept) == len(request.tools) else request.model_copy(update={"tools": kept})

    async def call(self, run: RunView, tool: str, call: ExternalCall) -> ExternalResult:
        """The result of a call that is made now, being made, or was made before. Raises Refused."""
        record = _record(run, tool, call)
        async with self._turn(record):
            live = self._making(record)
            found = live or await self._begun(run, record, call, await self._store.before(record))
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
        _same(live[0], record)
        return live[1]

    async def _begun(
        self, run: RunView, record: CallRecord, call: ExternalCall, before: Before | None
    ) -> "asyncio.Task[ExternalResult] | ExternalResult":
        if before is None:
            offers, unseen = self._seen(run)
            self._waited_for(record.tool, unseen - {name.partition("__")[0] for name in offers})
            policy = await self._judged(run, record.tool, call, {name: offer for name, (_, offer) in offers.items()})
            began = await self._store.begin(record, self._approvals.clock(), self._approval(run, record, call, policy))
            if isinstance(began, str):
                raise Refused(denied("approval_refused", f"the call was not made: {began}"))
            if began is None:
                self._decided(run.uid)
                return self._start(run, record, call, *offers[record.tool])
            before = began
        return await self._again(run, record, before)

    def _start(
        self, run: RunView, record: CallRecord, call: ExternalCall, kept: Kept, offer: Offer
    ) -> "asyncio.Task[ExternalResult]":
        key = (run.uid, call.call_id)
        task = asyncio.create_task(self._made(run, record, call, kept, offer))
        self._live[key] = (record.request_sha256, task)
        task.add_done_callback(lambda _: self._live.pop(key, None))  # also of one cut before it began
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
        """What became of it, once the gateway that makes it has an answer, or lives no more, or took too long."""
        end = time.monotonic() + limits.EXTERNAL_CALL_MAX_SECONDS
        while before.elsewhere and time.monotonic() < end:
            await asyncio.sleep(ELSEWHERE_LOOK_SECONDS)
            before = await self._store.before(record) or before
        return before

    async def _judged(self, run: RunView, tool: str, call: ExternalCall, offers: dict[str, Offer]) -> ToolPolicy:
        """The policy a call is made by. Raises Refused."""
        policy = permitted(await self.rights(run), call.role, tool, offers)
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

    async def _made(
        self, run: RunView, record: CallRecord, call: ExternalCall, kept: Kept, offer: Offer
    ) -> ExternalResult:
        """Make the call and keep what came of it, whatever that is."""
        try:
            result = await self._asked(run, record, call, kept, offer)
        except asyncio.CancelledError:
            result = _unknown(record, "the Run or the gateway ended while it was being made")
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
        for (uid, _), (_, task) in list(self._live.items()):
            if uid == run:
                task.cancel()

    async def forget(self, run: str) -> None:
        """Delete what was for a Run that is gone."""
        await self._store.forget(run)

    async def close(self, grace_seconds: float) -> None:
        """Let calls end for a while, then cut them."""
        tasks = [task for _, task in self._live.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


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
