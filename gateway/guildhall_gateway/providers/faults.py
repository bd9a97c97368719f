"""What a provider's error means in the closed taxonomy. Pure.

Guards the keys: a provider's words are looked at here to tell one error from another, and never passed on.
"""

import re
from email.utils import parsedate_to_datetime
from typing import Final

from guildhall_contracts import limits
from pydantic_ai import exceptions

from guildhall_gateway.problems import gateway_error
from guildhall_gateway.providers.base import Billed, ProviderFailure, failure_of_status, garbage_answer, stalled

_BODY_READ_MAX_CHARS: Final = 8_000
_OVERFLOW: Final = re.compile(
    r"context[_ ]length[_ ]exceeded|maximum context length|exceed_context_size|available context size"
    r"|prompt is too long|exceed(?:s|ed)? (?:the )?(?:model.s )?context (?:limit|window|length)|context window"
    r"|input token count.{0,40}exceeds|request_too_large",
    re.IGNORECASE,
)
_NOT_SENT: Final = ("pool", "connect")
_QUOTA: Final = re.compile(r"insufficient_quota|credit balance is too low|billing_hard_limit", re.IGNORECASE)


def failure_of(  # noqa: PLR0911  one for each kind
    who: str, error: exceptions.AgentRunError
) -> ProviderFailure:
    """The closed taxonomy's word for a pydantic-ai error; `who` names the model."""
    match error:
        case exceptions.ModelContextWindowExceededError():
            return failure_of_status(who, 400, overflow=True)
        case exceptions.ModelQuotaExceededError():
            return _no_quota(who)
        case exceptions.ModelHTTPError():
            return _of_http(who, error)
        case exceptions.ModelTimeoutError() if error.phase not in _NOT_SENT:
            return stalled(who, float(limits.MODEL_STREAM_IDLE_MAX_SECONDS))
        case exceptions.ModelConnectionError():
            text = f"the connection to {who} failed; this usually passes"
            billed: Billed = "nothing" if error.phase in _NOT_SENT else "unknown"
            return ProviderFailure(gateway_error("llm_unavailable", text), billed)
        case exceptions.ContentFilterError():
            return ProviderFailure(gateway_error("llm_refused", f"{who}'s content filter stopped the reply"), "unknown")
    return garbage_answer(who)


def _of_http(who: str, error: exceptions.ModelHTTPError) -> ProviderFailure:
    said = f"{error.provider_error_code} {error.provider_error_type} {error.body}"[:_BODY_READ_MAX_CHARS]
    if 300 <= error.status_code < 400:
        return garbage_answer(who)
    if error.status_code in (400, 413, 422, 500) and _OVERFLOW.search(said):
        return _billed(failure_of_status(who, 400, overflow=True), error)
    if _QUOTA.search(said):
        return _no_quota(who)
    wait = retry_after_seconds(error.headers, error.retry_after)
    return _billed(failure_of_status(who, error.status_code, wait), error)


def _no_quota(who: str) -> ProviderFailure:
    text = f"the account of {who} has no quota or credit left; the platform team must top it up"
    return ProviderFailure(gateway_error("llm_refused", text))


def _billed(failure: ProviderFailure, error: exceptions.ModelHTTPError) -> ProviderFailure:
    return ProviderFailure(failure.error, "unknown") if error.in_stream else failure


def retry_after_seconds(headers: dict[str, str] | None, otherwise: float | None) -> float | None:
    """Seconds to wait. A date is counted from the answer's own `Date`, so that no clock here matters."""
    given = headers or {}
    try:
        until, now = parsedate_to_datetime(given.get("retry-after", "")), parsedate_to_datetime(given.get("date", ""))
        return max((until - now).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None if otherwise is None or not otherwise >= 0 else otherwise
