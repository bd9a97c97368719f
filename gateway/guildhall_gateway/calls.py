"""Model calls in flight: reserve, ask the provider, settle, whatever happens to the caller's connection meanwhile.

Guards against calls that outlive their Run (cancel cuts them), hang (idle limit), or are paid for twice (one task a call).
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.canonical import sha256_hex
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import (
    AnyLine,
    CallUsage,
    FailureLine,
    GatewayError,
    Heartbeat,
    LedgerTotals,
    ModelReply,
    ModelRequest,
    ReplyLine,
    TextDelta,
)

from guildhall_gateway.budget import Totals, scopes, totals_view, worst_case
from guildhall_gateway.config import Budgets
from guildhall_gateway.ledger import Ledger, Replay, Reserved
from guildhall_gateway.ledger_rows import Outcome, day_of
from guildhall_gateway.prices import TokenCount
from guildhall_gateway.problems import Refused, gateway_error, refusal
from guildhall_gateway.providers.base import Provider, ProviderFailure, ProviderReply, empty_answer, stalled
from guildhall_gateway.runs import RunView

log = logging.getLogger(__name__)

DELTA_MAX_CHARS: Final = limits.EVENT_TEXT_MAX_BYTES // 4
FOLLOWER_QUEUE_MAX_COUNT: Final = 1_024
CANCELLED: Final = gateway_error("interrupted", "the Run was cancelled or is over; the call was cut")
STOPPING: Final = gateway_error(
    "llm_unavailable", "the gateway is restarting; the call was cut", retry_after_seconds=2.0
)
BROKEN: Final = gateway_error("internal", "the gateway failed while it made this call; its log says why")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: silence of a provider, a whole call, and between heartbeats to the caller."""

    idle: float = limits.MODEL_STREAM_IDLE_MAX_SECONDS
    call: float = limits.MODEL_CALL_MAX_SECONDS
    heartbeat: float = limits.MODEL_HEARTBEAT_SECONDS


@dataclass(slots=True, eq=False)
class LiveCall:
    """A call being made. Followers get text while it comes and the last line for certain."""

    run: str
    request: ModelRequest
    digest: str
    followers: set[asyncio.Queue[AnyLine]] = field(default_factory=set)
    last: AnyLine | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    cut_by: GatewayError | None = None

    def tell(self, line: AnyLine) -> None:
        for queue in self.followers:
            if not queue.full():  # a slow reader loses live text, never the reply
                queue.put_nowait(line)

    def end(self, line: AnyLine) -> None:
        self.last = line
        self.done.set()


class ModelCalls:
    """Makes calls for Runs; one task for each, found again by call id."""

    def __init__(
        self,
        ledger: Ledger,
        providers: Callable[[str], Provider | None],
        *,
        allow: list[str],
        shared: Budgets,
        settled: Callable[[str], None],
        timeouts: Timeouts = Timeouts(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._ledger = ledger
        self._providers = providers
        self._allow = allow
        self._shared = shared
        self._settled = settled
        self._timeouts = timeouts
        self._clock = clock
        self._live: dict[tuple[str, str], LiveCall] = {}

    async def start(self, run: RunView, budget: Budget, request: ModelRequest) -> LiveCall | ModelReply:
        """The call, being made, or its stored reply. Raises Refused."""
        digest = sha256_hex(request.model_dump_json().encode("utf-8", "surrogatepass"))
        live = self._live.get((run.uid, request.call_id))
        if live is not None and live.digest == digest:
            return live
        provider = self._provider(request)
        worst = worst_case(request, provider.pricing(request))
        payers = scopes(run.uid, run.namespace, day_of(self._clock()), budget, self._shared)
        answer = await self._ledger.reserve(run.uid, request, digest, payers, worst, self._clock())
        if isinstance(answer, Replay):
            return await self._replayed(run, budget, answer.reply)
        if not isinstance(answer, Reserved):
            self._settled(run.uid)
            raise Refused(answer)
        live = LiveCall(run.uid, request, digest)
        self._live[run.uid, request.call_id] = live
        live.task = asyncio.create_task(self._perform(live, provider, answer, budget))
        return live

    def _provider(self, request: ModelRequest) -> Provider:
        allowed = any(fnmatchcase(request.model, pattern) for pattern in self._allow)
        provider = self._providers(request.model) if allowed else None
        if provider is None:
            text = f"model '{request.model}' is not allowed here; allowed are: {', '.join(self._allow) or 'none'}"
            if allowed:
                text = f"model '{request.model}' has no provider here; the platform team must add its key or base URL"
            raise Refused(refusal(403, "llm_refused", text, retryable=False))
        return provider

    async def _replayed(self, run: RunView, budget: Budget, reply: ModelReply) -> ModelReply:
        totals = totals_view(await self._ledger.totals(run.uid), budget)
        return reply.model_copy(update={"replayed": True, "totals": totals})

    async def _perform(self, live: LiveCall, provider: Provider, reserved: Reserved, budget: Budget) -> None:
        """Ask, settle, tell. A cancelled task settles too: what may have been billed is charged."""
        failure: GatewayError | None = None
        reply: ProviderReply | None = None
        billed = "unknown"
        try:
            async with asyncio.timeout(self._timeouts.call):
                reply = await self._ask(live, provider, reserved.attempt)
        except ProviderFailure as problem:
            failure, billed = problem.error, problem.billed
        except TimeoutError:
            failure = stalled(live.request.model, self._timeouts.call).error
        except asyncio.CancelledError:
            failure = live.cut_by or STOPPING
        except Exception:
            log.exception("call %s of run %s failed", live.request.call_id, live.run)
            failure = BROKEN
        try:
            live.end(await self._close(live, provider, reserved, budget, reply, failure, billed))
        except BaseException:
            live.end(FailureLine(failure=failure or BROKEN))
            raise
        finally:
            self._live.pop((live.run, live.request.call_id), None)
            self._settled(live.run)

    async def _ask(self, live: LiveCall, provider: Provider, attempt: int) -> ProviderReply:
        stream = provider.stream(live.request, attempt)
        while True:
            try:
                piece = await asyncio.wait_for(anext(stream), self._timeouts.idle)
            except TimeoutError:
                raise stalled(live.request.model, self._timeouts.idle) from None
            except StopAsyncIteration:
                raise empty_answer(live.request.model) from None
            if isinstance(piece, ProviderReply):
                return piece
            for start in range(0, len(piece), DELTA_MAX_CHARS):
                live.tell(TextDelta(text=piece[start : start + DELTA_MAX_CHARS]))

    async def _close(
        self,
        live: LiveCall,
        provider: Provider,
        reserved: Reserved,
        budget: Budget,
        reply: ProviderReply | None,
        failure: GatewayError | None,
        billed: str,
    ) -> AnyLine:
        request = live.request
        count = reply.count if reply and reply.count else None
        if count is None:
            free = failure is not None and billed == "nothing"
            count = TokenCount() if free else TokenCount(prompt=reserved.worst.tokens)
            cost = 0 if free else reserved.worst.micro_usd
        else:
            cost = provider.pricing(request)(count)
        if reply is None or failure is not None:
            failure = failure or BROKEN
            outcome = Outcome("failed", count, cost, failure.error.kind, counts_as_call=billed != "nothing")
            await self._settle(live, reserved, outcome)
            return FailureLine(failure=failure)
        kept = _reply(request, reply, count, cost)
        totals = await self._settle(live, reserved, Outcome("settled", count, cost, reply=kept))
        return ReplyLine(reply=kept.model_copy(update={"totals": totals_view(totals, budget)}))

    async def _settle(self, live: LiveCall, reserved: Reserved, outcome: Outcome) -> Totals:
        work = self._ledger.settle(live.run, live.request.call_id, reserved.attempt, outcome, self._clock())
        return await asyncio.shield(asyncio.ensure_future(work))

    async def follow(self, live: LiveCall) -> AsyncIterator[AnyLine]:
        """The lines of a call from now on, with heartbeats, ending with its reply or failure."""
        queue: asyncio.Queue[AnyLine] = asyncio.Queue(FOLLOWER_QUEUE_MAX_COUNT)
        live.followers.add(queue)
        ended = asyncio.ensure_future(live.done.wait())
        try:
            while not (ended.done() and queue.empty()):
                getter = asyncio.ensure_future(queue.get())
                wait = {getter, ended} if not ended.done() else {getter}
                done, _ = await asyncio.wait(
                    wait, timeout=self._timeouts.heartbeat, return_when=asyncio.FIRST_COMPLETED
                )
                if getter in done:
                    yield getter.result()
                    continue
                getter.cancel()
                if not done:
                    yield Heartbeat()
            yield live.last or FailureLine(failure=BROKEN)
        finally:
            ended.cancel()
            live.followers.discard(queue)

    def cut(self, run: str, why: GatewayError = CANCELLED) -> None:
        """End every call of a Run now."""
        for (uid, _), live in list(self._live.items()):
            if uid == run and live.task is not None and not live.done.is_set():
                live.cut_by = why
                live.task.cancel()

    async def close(self, grace_seconds: float) -> None:
        """Let calls end for a while, then cut and settle them."""
        tasks = [live.task for live in self._live.values() if live.task is not None]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=grace_seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


def _reply(request: ModelRequest, reply: ProviderReply, count: TokenCount, cost: int | None) -> ModelReply:
    """The reply in the contract's bounds; what had to be cut is said by its stop reason."""
    calls = [
        call.model_copy(update={"arguments": call.arguments[: limits.TOOL_ARGUMENTS_MAX_BYTES]})
        for call in reply.tool_calls[: limits.TOOL_CALLS_PER_REPLY_MAX_COUNT]
    ]
    text = reply.text[: limits.BLOB_RESULT_MAX_BYTES]
    was_cut = text != reply.text or [call.arguments for call in calls] != [call.arguments for call in reply.tool_calls]
    return ModelReply(
        call_id=request.call_id,
        text=text,
        tool_calls=calls,
        stop_reason="max_tokens" if was_cut else reply.stop_reason,
        usage=CallUsage(tokens=count.prompt, cached_prompt_tokens=count.cached, output_tokens=count.output),
        cost_micro_usd=cost,
        model=request.model,
        scripted=request.model.startswith("scripted:"),
        totals=LedgerTotals(),
    )
