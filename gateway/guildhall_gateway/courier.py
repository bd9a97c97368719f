"""Carries Interventions to executors: takes them in from the watch, answers long polls, writes back."""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.model_api import MailboxItem, MailboxPage

from guildhall_gateway.approval_store import ApprovalStore
from guildhall_gateway.belonging import is_of
from guildhall_gateway.inbox import Inbox
from guildhall_gateway.mailbox import FULL, Cursor, Turned, cancel_item, judged, news, parse_cursor
from guildhall_gateway.outbox import Outbox
from guildhall_gateway.questions import NEVER_ASKED, Questions
from guildhall_gateway.runs import AnyView, Change, InterventionView, RunSource, RunView, StatusSink
from guildhall_gateway.waiting import Waiting
from guildhall_gateway.watch import utc_now

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 2.0
OPEN_STATES: Final = (None, "Delivered")
STATED: Final = {"delivered": "Delivered", "consumed": "Consumed", "expired": "Expired"}
GONE: Final = frozenset({404, 409})  # 409: another object has the name
UNREAD: Final = "the Run ended before its executor read this"


@dataclass(frozen=True, slots=True)
class Desk:
    """The three stores that an act of a person changes."""

    inbox: Inbox
    questions: Questions
    approvals: ApprovalStore


class Courier:
    """One worker takes in, one writes statuses, what must wait is with `waiting`; polls wait on their Run's bell."""

    def __init__(self, desk: Desk, source: RunSource, sink: StatusSink, changed: Callable[[str], None]) -> None:
        self._inbox, self._questions, self._approvals = desk.inbox, desk.questions, desk.approvals
        self._source = source
        self._changed = changed
        self._bells: dict[str, set[asyncio.Event]] = {}  # one for each poll under way, by Run
        self._todo: OrderedDict[str, RunView | InterventionView] = OrderedDict()
        self._work = asyncio.Event()
        self._statuses = Outbox[tuple[InterventionView, dict[str, Any]]](
            "status of an intervention", lambda letter: sink.write_intervention(*letter), GONE
        )
        self.waiting = Waiting(source, sink, desk.approvals.clock, self._take_up)
        self._items: dict[str, InterventionView] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False

    def start(self) -> None:
        self._source.subscribe(self.hear)
        for item in self._source.interventions():
            self.hear("set", item)
        for run in self._source.runs():
            self.hear("set", run)
        workers = (self._take_in(), self._statuses.run())
        self._tasks = [*(asyncio.create_task(worker) for worker in workers), *self.waiting.start()]

    async def stop(self) -> None:
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.waiting.stop()
        for run in list(self._bells):
            self._ring(run)

    def healthy(self) -> bool:
        return not any(task.done() for task in self._tasks)

    def hear(self, change: Change, view: AnyView) -> None:
        """A change in the cluster; only notes it down."""
        if change == "gone":
            for kept in (self._items, self._todo):
                kept.pop(view.uid, None)
            for box in (self._statuses, self.waiting):
                box.forget(view.uid)
            self._ring(view.uid)
            return
        if isinstance(view, InterventionView):
            self._items[view.uid] = view
        if isinstance(view, RunView | InterventionView):
            self._todo[view.uid] = view
            self._work.set()

    def _ring(self, run: str) -> None:
        for bell in self._bells.get(run, ()):
            bell.set()

    @contextlib.contextmanager
    def _bell(self, run: str) -> Iterator[asyncio.Event]:
        """Rung at every change of the Run while the block goes on; a bell of its own, which no other poll stills."""
        bells, bell = self._bells.setdefault(run, set()), asyncio.Event()
        bells.add(bell)
        try:
            yield bell
        finally:
            bells.discard(bell)
            if not bells:
                self._bells.pop(run, None)

    async def _take_in(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while self._todo:
                _, view = self._todo.popitem(last=False)
                try:
                    await (self._take_run(view) if isinstance(view, RunView) else self._take_item(view))
                except OSError as error:
                    log.warning("mailbox: %s", error)
                    self._todo.setdefault(view.uid, view)
                    await asyncio.sleep(RETRY_SECONDS)
                except Exception:
                    log.exception("mailbox: %s left out", view.uid)

    async def _take_run(self, run: RunView) -> None:
        if run.cancelled and not run.finished:
            await self._inbox.add(run.uid, cancel_item(run))
        for item in self._source.interventions(run.uid):
            await self._take_item(item)
        if run.finished:
            for uid in await self._inbox.unread(run.uid):
                await self._inbox.mark_one(uid, "expired")
                self._report(uid, "Expired", UNREAD)
        self._ring(run.uid)

    async def _take_item(self, item: InterventionView) -> None:
        run = self._source.run(item.run_uid or "")
        self.waiting.own(item, run)
        if item.state not in OPEN_STATES:
            self.waiting.done(item.uid)
            return
        if run is None or not is_of(item, run):
            self._tell(item.uid, self.waiting.not_found(item, run))
            return
        known = await self._inbox.state(item.uid)
        if known in STATED:  # an earlier gateway was stopped before it could say so
            self._report(item.uid, STATED[known], UNREAD if known == "expired" else "")
            return
        answer = judged(item, run)
        turned = answer if isinstance(answer, Turned) else await self._taken(run, item, answer, new=known is None)
        self._tell(item.uid, turned)

    async def _taken(self, run: RunView, view: InterventionView, item: MailboxItem, *, new: bool) -> Turned | None:
        """Put an item into its Run's box, or say why not; a decision or answer and its item are one write."""
        turned = await self._decided(run, item) if new else None
        if turned is NEVER_ASKED and self.waiting.may_wait(view.uid):
            return None
        self.waiting.done(view.uid)
        self._ring(run.uid)
        if new and (item.answer is not None or item.approval is not None):
            self._changed(run.uid)
        return turned

    async def _decided(self, run: RunView, item: MailboxItem) -> Turned | None:
        if item.answer is not None:
            return await self._questions.answer(run.uid, item, self._inbox, self._approvals.clock())
        if item.approval is not None:
            return await self._approvals.decide(
                run.uid,
                item.approval,
                lambda connection: self._inbox.put(connection, run.uid, item) != "full",
                lambda connection: self._inbox.has(connection, item.id),
            )
        return FULL if await self._inbox.add(run.uid, item) == "full" else None

    def _take_up(self, uid: str) -> bool:
        """Look at an Intervention again; False when it is gone."""
        if (item := self._items.get(uid)) is not None:
            self.hear("set", item)
        return item is not None

    def asked(self, run: str) -> None:
        """A question of `run` was recorded: look again at answers that came before it."""
        for uid in self.waiting.waits():
            if (item := self._items.get(uid)) is not None and item.run_uid == run:
                self.hear("set", item)

    def _tell(self, uid: str, turned: Turned | None) -> None:
        if turned is not None:
            self._report(uid, turned.state, turned.message)

    def _report(self, uid: str, state: str, message: str = "") -> None:
        self.waiting.done(uid)
        view = self._items.get(uid)
        if view is None or view.state == state:
            return
        said = {"message": message[: limits.STATUS_MESSAGE_MAX_CHARS]} if message else {}
        self._statuses.put(uid, (view, {"state": state, "time": utc_now(), **said}))

    async def poll(self, run_uid: str, cursor_text: str, wait_seconds: float) -> MailboxPage:
        """What is new since the cursor; an empty page after `wait_seconds`."""
        cursor = parse_cursor(cursor_text)
        for uid in await self._inbox.mark(run_uid, cursor.read, was="delivered", to="consumed"):
            self._report(uid, "Consumed")
        deadline = asyncio.get_running_loop().time() + wait_seconds
        with self._bell(run_uid) as bell:
            while True:
                bell.clear()
                run = self._source.run(run_uid)
                items, read = await self._inbox.page(run_uid, cursor.read)
                left = deadline - asyncio.get_running_loop().time()
                over = run is None or run.finished or news(cursor, run) or self._stopping
                if items or over or left <= 0:
                    return await self._page(run_uid, run, items, read)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(bell.wait(), left)

    async def _page(self, run_uid: str, run: RunView | None, items: list[MailboxItem], read: int) -> MailboxPage:
        if items:
            for uid in await self._inbox.mark(run_uid, read, was="new", to="delivered"):
                self._report(uid, "Delivered")
        stored, resend = (run.stored_seq, run.resend_from) if run else (0, None)
        cursor = Cursor(read, stored, resend or 0)
        return MailboxPage(items=items, cursor=cursor.text(), stored_seq=stored, resend_from=resend)
