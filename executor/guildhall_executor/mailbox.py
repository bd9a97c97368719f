"""What the gateway passes on from people and the api: interventions, cancel, stored seq, wishes to see lines again."""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.model_api import MailboxItem, MailboxPage

from guildhall_executor.inputs import Answered, AnyInput, Decided, Interrupted
from guildhall_executor.retry import pause_after

RETRY_FIRST_SECONDS: Final = 0.5


class Pages(Protocol):
    async def mailbox(self, cursor: str, wait_seconds: int) -> MailboxPage | ErrorInfo: ...


def acts(page: MailboxPage) -> list[AnyInput]:
    """What people did, in the order they did it."""
    return [found for item in page.items if (found := _act(item)) is not None]


def _act(item: MailboxItem) -> AnyInput | None:
    if item.cancel:
        return Interrupted(item=item.id, intent="cancel", author=item.author)
    if item.answer is not None:
        answer = item.answer
        return Answered(item=item.id, question_id=answer.question_id, text=answer.text, author=item.author)
    if item.approval is not None:
        decision = item.approval
        return Decided(
            item=item.id,
            approval_id=decision.approval_id,
            arguments_hash=decision.arguments_hash,
            decision=decision.decision,
            author=decision.author or item.author,
        )
    if item.interrupt is None:
        return None
    return Interrupted(item=item.id, intent=item.interrupt.intent, message=item.interrupt.message, author=item.author)


async def follow(
    gateway: Pages, on_page: Callable[[MailboxPage], None], wait_seconds: Callable[[], int], retry_max_seconds: float
) -> None:
    """Asks for pages until it is cancelled. A mailbox that fails is asked again, more and more slowly."""
    cursor = ""
    pause = RETRY_FIRST_SECONDS
    while True:
        waited = wait_seconds()
        page = await gateway.mailbox(cursor, waited)
        if isinstance(page, ErrorInfo):
            await asyncio.sleep(pause_after(page, pause, retry_max_seconds))
            pause = min(pause * 2, retry_max_seconds)
            continue
        same = page.cursor == cursor and not page.items
        cursor, pause = page.cursor, RETRY_FIRST_SECONDS
        on_page(page)
        if same and waited == 0:
            await asyncio.sleep(RETRY_FIRST_SECONDS)
