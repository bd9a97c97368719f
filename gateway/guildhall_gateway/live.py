"""A call being made, seen by those who wait for it: live text while it comes, one last line for certain."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.guild import Budget
from guildhall_contracts.model_api import AnyLine, FailureLine, GatewayError, Heartbeat, ModelRequest, ReplyLine

from guildhall_gateway.config import Budgets
from guildhall_gateway.ledger import Reserved
from guildhall_gateway.prices import Pricing
from guildhall_gateway.problems import gateway_error
from guildhall_gateway.providers.base import Billed, Provider, ProviderReply

FOLLOWER_QUEUE_MAX_COUNT: Final = 1_024
CANCELLED: Final = gateway_error("interrupted", "the Run was cancelled or is over; the call was cut")
STOPPING: Final = gateway_error(
    "llm_unavailable", "the gateway is restarting; the call was cut", retry_after_seconds=2.0
)
BROKEN: Final = gateway_error("internal", "the gateway failed while it made this call; its log says why")
UNUSABLE: Final = gateway_error("llm_unavailable", "the model's reply cannot be stored: it is not well-formed text")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: silence of a provider, a whole call, and between heartbeats to the caller."""

    idle: float = limits.MODEL_STREAM_IDLE_MAX_SECONDS
    call: float = limits.MODEL_CALL_MAX_SECONDS
    heartbeat: float = limits.MODEL_HEARTBEAT_SECONDS


@dataclass(frozen=True, slots=True)
class Rules:
    """What may be called, what all Runs together may spend, and how long a call may take."""

    allow: tuple[str, ...]
    shared: Budgets
    timeouts: Timeouts


@dataclass(frozen=True, slots=True)
class Made:
    """What came of asking a provider: a reply, or a failure and whether it may have been billed."""

    reply: ProviderReply | None = None
    failure: GatewayError | None = None
    billed: Billed = "unknown"


@dataclass(slots=True, eq=False)
class LiveCall:
    """A call being made. Followers get text while it comes and the last line for certain."""

    run: str
    request: ModelRequest
    digest: str
    provider: Provider
    pricing: Pricing
    reserved: Reserved
    budget: Budget
    followers: set[asyncio.Queue[AnyLine]] = field(default_factory=set)
    early: list[AnyLine] | None = field(default_factory=list)  # what came before the first follower; then None
    last: AnyLine | None = None
    asking: asyncio.Task[Made] | None = None
    task: asyncio.Task[None] | None = None
    cut_by: GatewayError | None = None

    def cut(self, why: GatewayError) -> None:
        """Stop asking, once: a second cancellation could come while the provider is being closed."""
        if self.asking is not None and not self.asking.done() and self.cut_by is None:
            self.cut_by = why
            self.asking.cancel()

    def tell(self, line: AnyLine) -> None:
        if self.early is not None and len(self.early) < FOLLOWER_QUEUE_MAX_COUNT:
            self.early.append(line)
        for queue in self.followers:
            if not queue.full():  # a slow reader loses live text, never the reply
                queue.put_nowait(line)

    def end(self, line: AnyLine) -> None:
        self.last = line
        for queue in self.followers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(line)


async def follow(live: LiveCall, heartbeat_seconds: float) -> AsyncIterator[AnyLine]:
    """The lines of a call from now on, with heartbeats, ending with its reply or failure."""
    if live.last is not None:
        yield live.last
        return
    queue: asyncio.Queue[AnyLine] = asyncio.Queue(FOLLOWER_QUEUE_MAX_COUNT)
    for line in live.early or ():
        queue.put_nowait(line)
    live.early = None
    live.followers.add(queue)
    try:
        while True:
            try:
                line = await asyncio.wait_for(queue.get(), heartbeat_seconds)
            except TimeoutError:
                yield Heartbeat()
                continue
            yield line
            if isinstance(line, ReplyLine | FailureLine):
                return
    finally:
        live.followers.discard(queue)
