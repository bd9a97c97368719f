"""Refusals: an HTTP status and the GatewayError that goes with it. Pure."""

from dataclasses import dataclass
from typing import Final

from guildhall_contracts.errors import ErrorKind, error_info
from guildhall_contracts.model_api import GATEWAY_STOPPING, GatewayError

ELSEWHERE_LOOK_SECONDS: Final = 0.3  # how often a call that another gateway makes is looked for
DRAINING_RETRY_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served."""

    status: int
    error: GatewayError


class Refused(Exception):  # noqa: N818  reads as what it says
    """Carries a Refusal from a doer to the one place that answers."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.error.error.message)
        self.refusal = refusal


def gateway_error(
    kind: ErrorKind,
    message: str,
    *,
    retryable: bool | None = None,
    retry_after_seconds: float | None = None,
    detail: dict[str, str] | None = None,
) -> GatewayError:
    """A GatewayError with the taxonomy's defaults."""
    return GatewayError(
        error=error_info(kind, message, retryable=retryable, detail=detail), retry_after_seconds=retry_after_seconds
    )


def refusal(status: int, kind: ErrorKind, message: str, **more: object) -> Refusal:
    """A Refusal; `more` goes to `gateway_error`."""
    return Refusal(status, gateway_error(kind, message, **more))  # type: ignore[arg-type]


UNAUTHENTICATED = refusal(
    401,
    "internal",
    "the gateway does not accept this token; only the pod recorded for a Run's current attempt may call",
    retryable=False,
)
"""One text for every reason, so that a stranger learns nothing from the difference."""

DRAINING: Final = refusal(
    503,
    "llm_unavailable",
    "the gateway is stopping; ask again",
    retry_after_seconds=DRAINING_RETRY_SECONDS,
    retryable=True,
    detail={"cause": GATEWAY_STOPPING},
)
"""To whoever would begin a call that this gateway would not be there to end; nothing of it is recorded."""


def lagging(what: str) -> Refusal:
    """The token is good but the gateway's view of the cluster is not there yet."""
    text = f"the gateway does not see {what} yet; try again"
    return refusal(503, "llm_unavailable", text, retry_after_seconds=1.0, retryable=True)


def bad_request(message: str) -> Refusal:
    return refusal(422, "internal", message, retryable=False)


def too_large(limit_bytes: int) -> Refusal:
    return refusal(413, "internal", f"the body is larger than {limit_bytes} bytes", retryable=False)
