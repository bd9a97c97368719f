"""What the status of a Connection says: its public face, and no more. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from guildhall_contracts import limits
from guildhall_contracts.base import one_line
from guildhall_contracts.connection import (
    ConnectionCondition,
    ConnectionReason,
    ConnectionSpec,
    ConnectionStatus,
)

from guildhall_gateway.adapters.listing import Offer, tool_face
from guildhall_gateway.runs import ConnectionView


@dataclass(frozen=True, slots=True)
class Spoken:
    """What the condition says, and when."""

    reason: ConnectionReason
    message: str
    now: str


def connection_status(
    view: ConnectionView, spec: ConnectionSpec | None, offers: Sequence[Offer], spoken: Spoken
) -> dict[str, Any]:
    """The whole status. The time of the condition's last change is kept while it says the same."""
    ready: Literal["True", "False"] = "True" if spoken.reason == "Connected" else "False"
    condition = ConnectionCondition(
        type="Ready",
        status=ready,
        reason=spoken.reason,
        message=one_line(spoken.message, limits.STATUS_MESSAGE_MAX_CHARS),
        observed_generation=view.generation,
        last_transition_time=view.since if view.ready == ready and view.since else spoken.now,
    )
    account = one_line((spec.display_name if spec else "") or view.name, limits.LABEL_TEXT_MAX_CHARS)
    return ConnectionStatus(
        observed_generation=view.generation,
        conditions=[condition],
        face=f"Connected as {account}" if ready == "True" else "Not connected",
        tools=[tool_face(view.name, offer) for offer in offers],
    ).to_wire()
