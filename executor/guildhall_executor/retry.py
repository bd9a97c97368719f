"""Whether a failed model call is worth asking again, and when. Guards a provider against being hammered."""

from dataclasses import dataclass
from typing import Final

from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.model_api import GatewayError

TRIES_MAX_COUNT: Final = 6
STALLS_MAX_COUNT: Final = 2
BACKOFF_MAX_SECONDS: Final = 30.0
JITTER_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed try. `stalled` marks a stream that went silent."""

    error: ErrorInfo
    retry_after_seconds: float | None = None
    stalled: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    error: ErrorInfo


def decide(  # noqa: PLR0913
    failure: Failure, *, tries: int, stalls: int, base_seconds: float, longest_seconds: float, jitter: float
) -> Wait | GiveUp:
    """After `tries` tries of which `stalls` went silent; `jitter` is 0..1. The given time is a floor, never cut."""
    error = failure.error
    if not error.retryable:
        return GiveUp(error)
    if tries >= TRIES_MAX_COUNT or stalls >= STALLS_MAX_COUNT:
        return GiveUp(_final(error, f"{error.message} (given up after {tries} tries)"))
    asked = failure.retry_after_seconds
    if asked is not None and asked > longest_seconds:
        message = f"{error.message}; it asks to wait {asked:.0f} seconds, at most {longest_seconds:.0f} are waited"
        return GiveUp(_final(error, message))
    floor = asked if asked is not None else min(base_seconds * 2 ** (tries - 1), BACKOFF_MAX_SECONDS)
    return Wait(floor + jitter * JITTER_SHARE * max(floor, base_seconds))


def _final(error: ErrorInfo, message: str) -> ErrorInfo:
    return error_info(error.kind, message, retryable=False, detail=error.detail)


def from_gateway(failure: GatewayError) -> Failure:
    return Failure(failure.error, failure.retry_after_seconds)


def unavailable(message: str, *, stalled: bool = False) -> Failure:
    return Failure(error_info("llm_unavailable", message), stalled=stalled)
