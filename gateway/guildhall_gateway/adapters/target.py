"""Where a tool server is, how long it may take, what it said, and why it could not be used. Records only."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from guildhall_contracts import limits
from guildhall_contracts.connection import ConnectionReason

from guildhall_gateway.adapters.guard import Network


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and what it is told about us. The token is in no text made of this record."""

    url: str
    forbidden: Collection[Network]
    token: str = field(default="", repr=False)
    ca_bundle: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds: to open a session, for one call, between two listings, until an unused session is closed."""

    connect: float = limits.EXTERNAL_CONNECT_MAX_SECONDS
    call: float = limits.EXTERNAL_CALL_MAX_SECONDS
    relist: float = limits.EXTERNAL_RELIST_SECONDS
    idle: float = limits.EXTERNAL_SESSION_IDLE_MAX_SECONDS


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool answered, plain. `is_error`: the server says that the tool failed."""

    content: list[Any]
    structured: Any
    is_error: bool


class Problem(Exception):  # noqa: N818  reads as what it says
    """Why a server could not be used. `taken`: a call may have reached it."""

    def __init__(self, reason: ConnectionReason, message: str, *, taken: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.taken = taken
