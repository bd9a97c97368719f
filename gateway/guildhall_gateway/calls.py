"""Model calls in flight: reserve, ask the provider, settle, whatever happens to the caller's connection meanwhile.

Guards against calls that outlive their Run (cancel cuts them), hang (idle limit) or are paid for twice (one task each).
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.base import first_problem
from guildhall_contracts.canonical import sha256_hex
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import (
    AnyLine,
    CallUsage,
    FailureLine,
    GatewayError,
    LedgerTotals,
    ModelReply,
    ModelRequest,
    ReplyLine,
    TextDelta,
)
from pydantic import ValidationError

from guildhall_gateway import metrics
from guildhall_gateway.budget import Grant, Totals, scopes, totals_view, worst_case
from guildhall_gateway.drain import Drain
from guildhall_gateway.ledger import ELSEWHERE, Claim, Held, Ledger, Replay, Reserved
from guildhall_gateway.ledger_rows import Outcome, day_of
from guildhall_gateway.live import BROKEN, CANCELLED, STOPPING, UNUSABLE, LiveCall, Made, Rules, follow
from guildhall_gateway.prices import TokenCount
from guildhall_gateway.problems import ELSEWHERE_LOOK_SECONDS, Refusal, Refused, refusal
from guildhall_gateway.providers.base import Provider, ProviderFailure, ProviderReply, empty_answer, stalled
from guildhall_gateway.runs import RunView

log = logging.getLogger(__name__)

DELTA_MAX_CHARS: Final = limits.EVENT_TEXT_MAX_BYTES // 4
ELSEWHERE_WAIT_SECONDS: Final = 20.0  # less than an executor waits for the head of an answer
SETTLE_PAUSES_SECONDS: Final = (0.2, 1.0, 3.0)


class ModelCalls:
    """Makes calls for Runs; one task for each, found again by call id."""

    def __init__(
        self,
        ledger: Ledger,
        providers: Callable[[str], Provider | None],
        rules: Rules,
        settled: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._ledger = ledger
        self._providers = providers
        self._rules = rules
        self._timeouts = rules.timeouts
        self._settled = settled
        self._clock = clock
        self._live: dict[tuple[str, str], LiveCall] = {}
        self._starting: set[tuple[str, str]] = set()
        self._drain = Drain()

    def admitted(self, run: str, call_id: str) -> AbstractContextManager[None]:
        """Around `start` and what comes before it. Raises Refused where the gateway stops and the call is a new one."""
        return self._drain.admitted(joins=(run, call_id) in self._live)

    async def start(
        self, run: RunView, grant: Grant, request: ModelRequest, shown: ModelRequest | None = None
    ) -> LiveCall | ModelReply:
        """The call, being made, or its stored reply; to be asked for within `admitted`. Raises Refused.

        `shown`: what the model is to see instead; the call stays the one that was asked for.
        """
        digest = sha256_hex(request.model_dump_json().encode("utf-8", "surrogatepass"))
        key = (run.uid, request.call_id)
        live = self._live.get(key)
        if live is not None and live.digest == digest:
            return live
        if live is not None or key in self._starting:
            text = f"call '{request.call_id}' is being made; ask again for its reply"
            # One that only begins may be waiting for another gateway, which takes as long as a call may.
            detail = dict(ELSEWHERE) if live is None else {}
            raise Refused(refusal(409, "llm_unavailable", text, retry_after_seconds=1.0, detail=detail))
        self._starting.add(key)
        try:
            return await self._begin(run, grant, shown or request, digest)
        finally:
            self._starting.discard(key)

    async def _begin(self, run: RunView, grant: Grant, request: ModelRequest, digest: str) -> LiveCall | ModelReply:
        provider = self._provider(request)
        pricing = provider.pricing(request)  # the one that is promised by; a list that changes meanwhile is not asked
        worst = worst_case(request, pricing)
        payers = scopes(run.uid, run.namespace, day_of(self._clock()), grant.budget, self._rules.shared)
        answer = await self._reserved(run.uid, Claim(request, digest, payers, worst, grant))
        if isinstance(answer, Replay):
            return await self._replayed(run, grant.budget, answer.reply)
        if not isinstance(answer, Reserved):
            self._settled(run.uid)
            raise Refused(answer)
        live = LiveCall(run.uid, request, digest, provider, pricing, answer, grant.budget)
        self._live[run.uid, request.call_id] = live
        live.asking = asyncio.create_task(self._made(live))
        live.task = asyncio.create_task(self._perform(live, live.asking))
        self._drain.follow(live.task)
        return live

    async def _reserved(self, run: str, claim: Claim) -> Reserved | Replay | Refusal:
        """The ledger's word; a call that another gateway makes, and money that calls under way hold, are waited for a
        while. Raises Refused."""
        end, ticket = time.monotonic() + ELSEWHERE_WAIT_SECONDS, self._ledger.room.ticket()
        while True:
            answer = await self._ledger.reserve(run, claim, self._clock())
            elsewhere = isinstance(answer, Refusal) and answer.error.error.detail == ELSEWHERE
            if not (elsewhere or isinstance(answer, Held)) or time.monotonic() >= end:
                return answer
            if isinstance(answer, Held):
                await self._ledger.room.wait(answer.scope, ticket)
            else:
                await asyncio.sleep(ELSEWHERE_LOOK_SECONDS)
            self._drain.check()

    def _provider(self, request: ModelRequest) -> Provider:
        allow = self._rules.allow
        allowed = any(fnmatchcase(request.model, pattern) for pattern in allow)
        provider = self._providers(request.model) if allowed else None
        if provider is None:
            text = f"model '{request.model}' is not allowed here; allowed are: {', '.join(allow) or 'none'}"
            if allowed:
                text = f"model '{request.model}' has no provider here; the platform team must add its key or base URL"
            raise Refused(refusal(403, "llm_refused", text, retryable=False))
        return provider

    async def _replayed(self, run: RunView, budget: Budget, reply: ModelReply) -> ModelReply:
        totals = totals_view(await self._ledger.totals(run.uid), budget)
        return reply.model_copy(update={"replayed": True, "totals": totals})

    async def _perform(self, live: LiveCall, asking: asyncio.Task[Made]) -> None:
        """Ask, settle, tell. A cut call settles too: what may have been billed is charged. Only `asking` is ever
        cancelled, so that no cut can come between a reply and its settlement."""
        started = time.monotonic()
        made = Made(failure=STOPPING)
        try:
            await asyncio.wait([asking])
            made = Made(failure=live.cut_by or STOPPING) if asking.cancelled() else asking.result()
            live.end(await self._close(live, made))
        except Exception:  # what stays reserved is settled at worst case by the next sweep
            log.exception("call %s of run %s stays reserved", live.request.call_id, live.run)
            live.end(FailureLine(failure=made.failure or BROKEN))
        finally:
            if live.last is None:  # the process ends: nobody may be left with heartbeats only
                asking.cancel()
                live.end(FailureLine(failure=STOPPING))
            self._live.pop((live.run, live.request.call_id), None)
            self._settled(live.run)
            metrics.SECONDS.observe(time.monotonic() - started)

    async def _made(self, live: LiveCall) -> Made:
        try:
            async with asyncio.timeout(self._timeouts.call):
                return Made(reply=await self._ask(live))
        except ProviderFailure as problem:
            return Made(failure=problem.error, billed=problem.billed)
        except TimeoutError:
            return Made(failure=stalled(live.request.model, self._timeouts.call).error)
        except asyncio.CancelledError:
            return Made(failure=live.cut_by or STOPPING)
        except Exception:  # a provider's fault must not leave money reserved
            log.exception("call %s of run %s failed", live.request.call_id, live.run)
            return Made(failure=BROKEN)

    async def _ask(self, live: LiveCall) -> ProviderReply:
        async with contextlib.aclosing(live.provider.stream(live.request, live.reserved.attempt)) as stream:
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

    async def _close(self, live: LiveCall, made: Made) -> AnyLine:
        count, cost = self._used(live, made)
        made, kept = _checked(live.request, made, count, cost)
        _count(live.request.model, made, count, cost)
        if kept is None:
            failure = made.failure or BROKEN
            counts = made.billed != "nothing"
            await self._settle(live, Outcome("failed", count, cost, failure.error.kind, counts_as_call=counts))
            return FailureLine(failure=failure)
        totals = await self._settle(live, Outcome("settled", count, cost, reply=kept))
        return ReplyLine(reply=kept.model_copy(update={"totals": totals_view(totals, live.budget)}))

    def _used(self, live: LiveCall, made: Made) -> tuple[TokenCount, int | None]:
        """Tokens and cost to settle: as the provider said, nothing, or the worst case where nobody knows."""
        said = made.billed if made.reply is None else made.reply.count
        if isinstance(said, TokenCount):
            return said, live.pricing(said)
        if made.reply is None and made.billed == "nothing":
            return TokenCount(), 0
        worst = live.reserved.worst
        return TokenCount(prompt=worst.tokens), worst.micro_usd

    async def _settle(self, live: LiveCall, outcome: Outcome) -> Totals:
        """Settle; a database that is away for seconds is waited for. Raises OSError when it stays away."""
        call_id, attempt = live.request.call_id, live.reserved.attempt
        for pause in SETTLE_PAUSES_SECONDS:
            try:
                return await self._ledger.settle(live.run, call_id, attempt, outcome, self._clock())
            except OSError as error:
                log.warning("call %s of run %s is not settled yet: %s", call_id, live.run, error)
                await asyncio.sleep(pause)
        return await self._ledger.settle(live.run, call_id, attempt, outcome, self._clock())

    def busy(self) -> set[tuple[str, str]]:
        """The calls this gateway is making, as (run, call id)."""
        return set(self._live) | self._starting

    def follow(self, live: LiveCall) -> AsyncIterator[AnyLine]:
        """The lines of a call from now on, with heartbeats, ending with its reply or failure."""
        return follow(live, self._timeouts.heartbeat)

    def cut(self, run: str, why: GatewayError = CANCELLED) -> None:
        """End every call of a Run now."""
        for (uid, _), live in list(self._live.items()):
            if uid == run:
                live.cut(why)

    async def close(self, grace_seconds: float) -> None:
        """Begin none any more; let calls end for a while, then cut and settle them."""
        await self._drain.close(grace_seconds, self._cut_all)

    def _cut_all(self) -> None:
        for live in list(self._live.values()):
            live.cut(STOPPING)


def _count(model: str, made: Made, count: TokenCount, cost: int | None) -> None:
    provider = model.partition(":")[0]
    outcome = "settled" if made.failure is None else made.failure.error.kind
    metrics.CALLS.labels(provider, outcome).inc()
    for kind, tokens in (("prompt", count.prompt), ("cached", count.cached), ("output", count.output)):
        metrics.TOKENS.labels(provider, kind).inc(tokens)
    metrics.COST.labels(provider).inc(cost or 0)


def _checked(request: ModelRequest, made: Made, count: TokenCount, cost: int | None) -> tuple[Made, ModelReply | None]:
    """The reply to keep; one that no contract can hold (half a character, say) is a failure that was paid for."""
    if made.reply is None:
        return made, None
    try:
        return made, _reply(request, made.reply, count, cost)
    except ValidationError as error:
        words = first_problem(error)[1]
        log.warning("call %s: the reply of %s cannot be kept: %s", request.call_id, request.model, words)
        return Made(failure=UNUSABLE), None


def _cut(text: str, limit_bytes: int) -> str:
    """`text` in at most so many bytes of UTF-8, whole characters only."""
    data = text.encode("utf-8", "surrogatepass")
    return text if len(data) <= limit_bytes else data[:limit_bytes].decode("utf-8", "ignore")


def _reply(request: ModelRequest, reply: ProviderReply, count: TokenCount, cost: int | None) -> ModelReply:
    """The reply in the contract's bounds; what had to be cut is said by its stop reason."""
    calls = [
        call.model_copy(update={"arguments": _cut(call.arguments, limits.TOOL_ARGUMENTS_MAX_BYTES)})
        for call in reply.tool_calls[: limits.TOOL_CALLS_PER_REPLY_MAX_COUNT]
    ]
    text = _cut(reply.text, limits.BLOB_RESULT_MAX_BYTES)
    was_cut = text != reply.text or [call.arguments for call in calls] != [call.arguments for call in reply.tool_calls]
    return ModelReply(
        call_id=request.call_id,
        text=text,
        tool_calls=calls,
        stop_reason="max_tokens" if was_cut else reply.stop_reason,
        carry=reply.carry,
        usage=CallUsage(tokens=count.prompt, cached_prompt_tokens=count.cached, output_tokens=count.output),
        cost_micro_usd=cost,
        model=request.model,
        scripted=request.model.startswith("scripted:"),
        totals=LedgerTotals(),
    )
