"""Putting questions and approvals to people, and using a yes up. Guards against a yes that counts twice, or never."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from guildhall_contracts.approvals import ApprovalRequest
from guildhall_contracts.errors import ErrorInfo

from guildhall_executor.mailbox import RETRY_FIRST_SECONDS
from guildhall_executor.tools.result import ToolResult, failed

CONSUME_TRIES_MAX_COUNT: Final = 3


class Consumes(Protocol):
    async def consume(self, request: ApprovalRequest) -> ErrorInfo | None: ...


async def until_taken(ask: Callable[[], Awaitable[ErrorInfo | None]], retry_max_seconds: float) -> ErrorInfo | None:
    """Asks again, more and more slowly, while the gateway cannot be reached; the error when it will not take it."""
    pause = RETRY_FIRST_SECONDS
    while (failure := await ask()) is not None and failure.retryable:
        await asyncio.sleep(pause)
        pause = min(pause * 2, retry_max_seconds)
    return failure


async def use_up(gateway: Consumes, request: ApprovalRequest) -> ToolResult | None:
    """Right before a tool runs: None when the yes is this call's, else why the call does not run.

    An answer that was lost on the way counts as a no: the yes may be gone, and is asked for anew.
    """
    for number in range(CONSUME_TRIES_MAX_COUNT):
        failure = await gateway.consume(request)
        if failure is None:
            return None
        if not failure.retryable:
            break
        await asyncio.sleep(RETRY_FIRST_SECONDS * 2**number)
    said = failure.message[:500] if failure is not None else ""
    return failed("tool_denied", f"the approval of this call could not be used ({said}); it was not made.")
