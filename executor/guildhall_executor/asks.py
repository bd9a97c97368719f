"""Putting questions and approvals to people, and using a yes up. Guards against a yes that counts twice, or never."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from guildhall_contracts.approvals import ApprovalRequest
from guildhall_contracts.errors import ErrorInfo

from guildhall_executor.mailbox import RETRY_FIRST_SECONDS
from guildhall_executor.retry import pause_after
from guildhall_executor.tools.result import ToolResult, failed

CONSUME_WAIT_MAX_SECONDS: Final = 60.0  # a gateway that is restarted takes away no person's yes
LET_GO_SECONDS: Final = 2.0
CONSUME_PAUSE_MAX_SECONDS: Final = 4.0


class Consumes(Protocol):
    async def consume(self, request: ApprovalRequest) -> ErrorInfo | None: ...


async def until_taken(ask: Callable[[], Awaitable[ErrorInfo | None]], retry_max_seconds: float) -> ErrorInfo | None:
    """Asks again, more and more slowly, while the gateway cannot be reached; the error when it will not take it."""
    pause = RETRY_FIRST_SECONDS
    while (failure := await ask()) is not None and failure.retryable:
        await asyncio.sleep(pause_after(failure, pause, retry_max_seconds))
        pause = min(pause * 2, retry_max_seconds)
    return failure


async def let_go(asking: "asyncio.Task[None] | None") -> None:
    """Ends a task that asks, once what it has under way has arrived or failed, and in bounded time."""
    if asking is not None and not asking.done():
        await asyncio.wait([asking], timeout=LET_GO_SECONDS)
        asking.cancel()


async def use_up(gateway: Consumes, request: ApprovalRequest) -> ToolResult | None:
    """Right before a tool runs: None when the yes is this call's, else why the call does not run.

    An answer that was lost on the way counts as a no: the yes may be gone, and is asked for anew.
    """
    loop = asyncio.get_running_loop()
    end, pause = loop.time() + CONSUME_WAIT_MAX_SECONDS, RETRY_FIRST_SECONDS
    while (failure := await gateway.consume(request)) is not None:
        wait = pause_after(failure, pause, CONSUME_WAIT_MAX_SECONDS)
        if not failure.retryable or loop.time() + wait > end:
            break
        await asyncio.sleep(wait)
        pause = min(pause * 2, CONSUME_PAUSE_MAX_SECONDS)
    if failure is None:
        return None
    return failed(
        "tool_denied", f"the approval of this call could not be used ({failure.message[:500]}); it was not made."
    )
