"""Whether a failed model call is worth asking again, and when. Guards a provider against being hammered, and a
gateway that comes back against every executor asking in the same moment.

A gateway that is away (restarting, moved) has failed no call, nor has one that says that another is making it, or that
the money it needs is held by calls under way: these are waited for by time, not by tries.
"""

from dataclasses import dataclass, replace
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.model_api import GATEWAY_STOPPING, MADE_ELSEWHERE, STALLED, GatewayError

TRIES_MAX_COUNT: Final = 6
STALLS_MAX_COUNT: Final = 2
BACKOFF_MAX_SECONDS: Final = 30.0
WAIT_DETAIL: Final = "retryAfterSeconds"
DETAILS_MAX_COUNT: Final = 8  # of an ErrorInfo
JITTER_SHARE: Final = 0.25  # on top of a time that was asked for; on top of our own, up to as much again


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed try. `stalled` marks a stream that went silent, `away` a gateway that did not answer at all, or ends,
    `elsewhere` a call that another gateway is making, `held` one whose money is held by calls under way."""

    error: ErrorInfo
    retry_after_seconds: float | None = None
    stalled: bool = False
    away: bool = False
    elsewhere: bool = False
    held: bool = False

    @property
    def is_no_try(self) -> bool:
        """Whether the call was not even begun, and may be by and by."""
        return self.elsewhere or self.held


@dataclass(frozen=True, slots=True)
class Tally:
    """The failed tries of one call: with an answer, gone silent, and away, the last since `away_since` (seconds).

    It is waited for without a try since `waiting_since`."""

    tries: int = 0
    stalls: int = 0
    absences: int = 0
    away_since: float = 0.0
    waiting_since: float | None = None

    def after(self, failure: Failure, now: float) -> "Tally":
        """With one more failure at `now`, on a clock that only goes forward."""
        if failure.away:
            since = self.away_since if self.absences else now
            return replace(self, absences=self.absences + 1, away_since=since)
        if failure.is_no_try:
            begun = now if self.waiting_since is None else self.waiting_since
            return Tally(self.tries, self.stalls, waiting_since=begun)
        return Tally(self.tries + 1, self.stalls + failure.stalled)


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class Pace:
    """How patient to be: the first pause, the longest on request, with a gateway that is away, with a call that is made
    elsewhere or whose money is held; and chance (0..1)."""

    base_seconds: float
    longest_seconds: float
    away_seconds: float
    jitter: float
    elsewhere_seconds: float = limits.MODEL_CALL_MAX_SECONDS
    held_seconds: float = limits.MODEL_CALLS_AT_ONCE_MAX_COUNT * limits.MODEL_CALL_MAX_SECONDS  # one after another


def decide(failure: Failure, tally: Tally, pace: Pace, now: float) -> Wait | GiveUp:
    """After a failure that `tally` counts already. A time that was asked for is a floor, never cut, and never a reason
    to come back sooner than by our own pace."""
    error, longest_seconds = failure.error, pace.longest_seconds
    if not error.retryable:
        return GiveUp(error)
    if tally.tries >= TRIES_MAX_COUNT or tally.stalls >= STALLS_MAX_COUNT:
        return GiveUp(_final(error, f"{error.message} (given up after {tally.tries} tries)"))
    waited, patience = _waited(failure, tally, pace, now)
    if waited > patience:
        return GiveUp(_final(error, f"{error.message} (given up after {patience:.0f} seconds)"))
    asked = failure.retry_after_seconds or 0.0
    if asked > longest_seconds:
        message = f"{error.message}; it asks to wait {asked:.0f} seconds, at most {longest_seconds:.0f} are waited"
        return GiveUp(_final(error, message))
    floor = asked + pace.jitter * JITTER_SHARE * max(asked, pace.base_seconds)
    return Wait(max(floor, _backoff(failure, tally, pace)))


def _backoff(failure: Failure, tally: Tally, pace: Pace) -> float:
    """Our own pace: longer with each failure, and even where none was."""
    failures = tally.absences if failure.away else tally.tries
    before = 0 if failure.is_no_try else min(max(failures - 1, 0), 16)
    return min(pace.base_seconds * 2.0**before, BACKOFF_MAX_SECONDS) * (1 + pace.jitter)


def _waited(failure: Failure, tally: Tally, pace: Pace, now: float) -> tuple[float, float]:
    """How long what failed no call was waited for, and how long it may be, in seconds."""
    if failure.away:
        return now - tally.away_since, pace.away_seconds
    if failure.is_no_try and tally.waiting_since is not None:
        return now - tally.waiting_since, pace.held_seconds if failure.held else pace.elsewhere_seconds
    return 0.0, pace.away_seconds


def _final(error: ErrorInfo, message: str) -> ErrorInfo:
    return error_info(error.kind, message, retryable=False, detail=error.detail)


def told(failure: Failure) -> ErrorInfo:
    """The error of a failure, with the time it asks to wait, for callers that go at a pace of their own."""
    if failure.retry_after_seconds is None or len(failure.error.detail) >= DETAILS_MAX_COUNT:
        return failure.error
    detail = failure.error.detail | {WAIT_DETAIL: f"{failure.retry_after_seconds:.3f}"}
    return failure.error.model_copy(update={"detail": detail})


def pause_after(error: ErrorInfo, pause_seconds: float, longest_seconds: float) -> float:
    """One's own pause, or the longer one that was asked for, as far as one waits at all."""
    try:
        asked = float(error.detail.get(WAIT_DETAIL, "0"))
    except ValueError:
        return pause_seconds
    return max(pause_seconds, min(asked, longest_seconds)) if asked > 0 else pause_seconds


def from_gateway(failure: GatewayError) -> Failure:
    error, cause = failure.error, failure.error.detail.get("cause")
    return Failure(
        error,
        failure.retry_after_seconds,
        stalled=cause == STALLED,
        away=cause == GATEWAY_STOPPING,
        elsewhere=cause == MADE_ELSEWHERE,
        held=error.kind == "budget_exhausted" and error.retryable,
    )


def unavailable(message: str, wait_seconds: float | None = None, *, stalled: bool = False) -> Failure:
    return Failure(error_info("llm_unavailable", message), wait_seconds, stalled=stalled)


def away(message: str) -> Failure:
    return Failure(error_info("llm_unavailable", message), away=True)
