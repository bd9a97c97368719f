"""What every provider gives: text as it comes, one reply or one failure of the closed taxonomy."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from guildhall_contracts.model_api import STALLED, GatewayError, ModelRequest, StopReason, ToolCall

from guildhall_gateway.prices import Pricing, TokenCount
from guildhall_gateway.problems import gateway_error

RETRY_AFTER_MAX_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class ProviderReply:
    """A whole reply. `count` None: the provider did not say what it used. `carry`: what it wants back with it."""

    text: str = ""
    tool_calls: list[ToolCall] = field(default_factory=list)
    stop_reason: StopReason = "end"
    count: TokenCount | None = None
    carry: str = ""


Billed = Literal["nothing", "unknown"] | TokenCount


class ProviderFailure(Exception):  # noqa: N818  reads as what it says
    """A call that gave no reply. `billed` is "nothing" only where the provider said so or was never reached; a count
    where it said what it used."""

    def __init__(self, error: GatewayError, billed: Billed = "nothing") -> None:
        super().__init__(error.error.message)
        self.error = error
        self.billed = billed


class Provider(Protocol):
    """One family of models. `attempt` counts the tries of one call id, from 1."""

    async def close(self) -> None: ...

    def pricing(self, request: ModelRequest) -> Pricing: ...

    def stream(self, request: ModelRequest, attempt: int) -> AsyncGenerator[str | ProviderReply, None]:
        """Pieces of text (empty ones as signs of life), then one ProviderReply. Raises ProviderFailure.

        Whoever asks closes it, which gives up the connection where the answer is not over.
        """
        ...


def failure_of_status(
    who: str, status: int, retry_after_seconds: float | None = None, *, overflow: bool = False
) -> ProviderFailure:
    """The failure that an HTTP error status of provider `who` means. The body is never quoted: it may hold keys."""
    if overflow:
        return overflowed(who)
    if status in (401, 403):
        text = f"{who} refused the gateway's key (HTTP {status}); the platform team must check the provider's key file"
        return ProviderFailure(gateway_error("llm_refused", text))
    if status == 429:
        return _throttled(who, retry_after_seconds)
    if status in (408, 409, 425) or status >= 500:
        text = f"{who} answered HTTP {status}; this usually passes"
        return ProviderFailure(gateway_error("llm_unavailable", text, retry_after_seconds=retry_after_seconds))
    text = f"{who} does not accept the request (HTTP {status}); check that the model exists and takes tools"
    return ProviderFailure(gateway_error("llm_refused", text))


def _throttled(who: str, retry_after_seconds: float | None) -> ProviderFailure:
    if retry_after_seconds is None:
        text = f"{who} is rate-limited and does not say for how long; this usually passes"
        return ProviderFailure(gateway_error("llm_unavailable", text))
    wait = max(retry_after_seconds, 0.0)
    if wait > RETRY_AFTER_MAX_SECONDS:
        text = f"{who} is rate-limited for {wait:.0f} s, longer than a Run waits; try later or raise its quota"
        return ProviderFailure(gateway_error("llm_unavailable", text, retryable=False, retry_after_seconds=wait))
    text = f"{who} is rate-limited; it asks to wait {wait:.0f} s"
    return ProviderFailure(gateway_error("llm_unavailable", text, retry_after_seconds=wait))


def overflowed(who: str, billed: Billed = "nothing") -> ProviderFailure:
    """The context did not fit; `billed` where that showed only once the answer had begun."""
    text = f"the prompt is larger than the context window of {who}"
    if billed != "nothing":
        text = f"prompt and answer together are larger than the context window of {who}"
    return ProviderFailure(gateway_error("context_overflow", text), billed)


def broke_off(who: str) -> ProviderFailure:
    """An answer that ended properly by HTTP, but not by its provider's own protocol: it may be half of one."""
    text = (
        f"the answer of {who} ended before the model said that it was done; this usually passes. A server that never "
        "says so has to be listed in gateway.wholeReplies"
    )
    return ProviderFailure(gateway_error("llm_unavailable", text), "unknown")


def gave_up(who: str) -> ProviderFailure:
    """The provider ended its answer by saying that it failed."""
    text = f"{who} gave up in the middle of its answer; this usually passes"
    return ProviderFailure(gateway_error("llm_unavailable", text), "unknown")


def empty_answer(who: str) -> ProviderFailure:
    return ProviderFailure(gateway_error("llm_unavailable", f"{who} answered with nothing at all"), "unknown")


def garbage_answer(who: str) -> ProviderFailure:
    text = f"{who} answered with something that is not its protocol; check the provider's URL"
    return ProviderFailure(gateway_error("llm_unavailable", text), "unknown")


def stalled(who: str, idle_seconds: float) -> ProviderFailure:
    text = f"model stream stalled: {who} went silent, nothing came for {idle_seconds:.0f} s"
    return ProviderFailure(gateway_error("llm_unavailable", text, detail={"cause": STALLED}), "unknown")
