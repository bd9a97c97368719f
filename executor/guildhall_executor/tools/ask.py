"""How a tool reaches the workshop: one request, one reply that fits it, or a refusal. Nothing else passes."""

import base64
from collections.abc import Callable
from typing import Protocol, TypeVar

from guildhall_contracts.frames import AnyRequest, AnyResult, ErrorReply

R = TypeVar("R", bound=AnyResult)


class Ask(Protocol):
    """The workshop as tools see it. `ask` raises WorkshopLost when no answer can come any more."""

    async def ask(
        self,
        make: Callable[[int], AnyRequest],
        result: type[R],
        *,
        patience_seconds: float = 60.0,
        on_output: Callable[[bytes, int], None] | None = None,
        on_chunk: Callable[[int, bytes], None] | None = None,
    ) -> R | ErrorReply: ...


class WorkshopLost(Exception):  # noqa: N818  reads as what it says
    """The workshop went away, or spoke nonsense and was cut off. Trying again after a while can help.

    `away_seconds`: set when it could not be reached at all: for how long nobody has answered for it now.
    """

    def __init__(self, message: str, retry_after_seconds: int = 5, away_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
        self.away_seconds = away_seconds


def sent_bytes(data: str) -> bytes:
    """Base64 as the workshop sent it. Raises WorkshopLost for what is none."""
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        raise WorkshopLost("the workshop spoke nonsense: data that is no base64") from error
