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
from guildhall_gateway.belonging import is_of, named, no_such_run, owner_wait_seconds
from guildhall_gateway.inbox import Inbox
from guildhall_gateway.mailbox import FULL, Cursor, Turned, cancel_item, judged, news, parse_cursor
from guildhall_gateway.outbox import Outbox
from guildhall_gateway.questions import NEVER_ASKED, Questions
from guildhall_gateway.runs import AnyView, Change, InterventionView, RunSource, RunView, StatusSink
from guildhall_gateway.watch import utc_now

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 2.0
PENDING_MAX_COUNT: Final = 10_000
OPEN_STATES: Final = (None, "Delivered")
STATED: Final = {"delivered": "Delivered", "consumed": "Consumed", "expired": "Expired"}
GONE: Final = frozenset({404})  # a status has 409 for it too: another object has the name
UNREAD: Final = "the Run ended before its executor read this"


@dataclass(frozen=True, slots=True)
class Desk:
    """The three stores that an act of a person changes."""

    inbox: Inbox
    questions: Questions
    approvals: ApprovalStore


class Courier:
    """One worker takes in, two write statuses and owners; polls wait on their Run's bell."""

    def __init__(self, desk: Desk, source: RunSource, sink: StatusSink, changed: Callable[[str], None]) -> None:
        self._inbox, self._questions, self._approvals = desk.inbox, desk.questions, desk.approvals
        self._source = source
        self._changed = changed
        self._bells: dict[str, set[asyncio.Event]] = {}  # one for each poll under way, by Run
        self._todo: OrderedDict[str, RunView | InterventionView] = OrderedDict()
        self._work = asyncio.Event()
        self._statuses = Outbox[tuple[InterventionView, dict[str, Any]]](
            "status of an intervention", lambda letter: sink.write_intervention(*letter), GONE | {409}
        )
        self._owners = Outbox[tuple[InterventionView, dict[str, str]]](
            "owner of an intervention", lambda letter: sink.write_owner(*letter), GONE
        )
        self._items: dict[str, InterventionView] = {}
        self._early: dict[str, float] = {}  # until when acts wait whose Run or question is not yet there
        self._timers: dict[str, asyncio.TimerHandle] = {}  # acts that are looked at again
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False

    def start(self) -> None:
        self._source.subscribe(self.hear)
        for item in self._source.interventions():
            self.hear("set", item)
        for run in self._source.runs():
            self.hear("set", run)
        workers = (self._take_in(), self._statuses.run(), self._owners.run())
        self._tasks = [asyncio.create_task(worker) for worker in workers]

    async def stop(self) -> None:
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for timer in self._timers.values():
            timer.cancel()
        for run in list(self._bells):
            self._ring(run)

    def healthy(self) -> bool:
        return not any(task.done() for task in self._tasks)

    def hear(self, change: Change, view: AnyView) -> None:
        """A change in the cluster; only notes it down."""
        if change == "gone":
            for kept in (self._items, self._early, self._todo):
                kept.pop(view.uid, None)
            if view.uid in self._timers:
                self._timers.pop(view.uid).cancel()
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
        self._own(item, run)
        if item.state not in OPEN_STATES:
            return
        if run is None or not is_of(item, run):
            await self._not_found(item, run)
            return
        known = await self._inbox.state(item.uid)
        if known in STATED:  # an earlier gateway was stopped before it could say so
            self._report(item.uid, STATED[known], UNREAD if known == "expired" else "")
            return
        answer = judged(item, run)
        turned = answer if isinstance(answer, Turned) else await self._taken(run, item, answer, new=known is None)
        if turned is not None:
            self._report(item.uid, turned.state, turned.message)

    async def _taken(self, run: RunView, view: InterventionView, item: MailboxItem, *, new: bool) -> Turned | None:
        """Put an item into its Run's box, or say why not; a decision or answer and its item are one write."""
        turned = await self._decided(run, item) if new else None
        if turned is NEVER_ASKED and self._may_wait(view.uid):
            return None
        self._early.pop(view.uid, None)
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

    def _own(self, item: InterventionView, run: RunView | None) -> None:
        """Give an Intervention its Run as owner, now or when it is time."""
        wait, ref = owner_wait_seconds(item, run, self._approvals.clock()), named(item)
        if wait:
            self._look_again(item.uid, wait)
        elif wait is not None and ref is not None:
            self._owners.put(item.uid, (item, ref.owner()))

    async def _not_found(self, item: InterventionView, run: RunView | None) -> None:
        """An act on a Run that is not seen here: it may come; what the cluster does not know either is refused.

        One that has its owner is left to the cluster, which removes it if that Run is gone."""
        if item.owned or item.state is not None or (run is None and self._may_wait(item.uid)):
            return
        self._early.pop(item.uid, None)
        ref = named(item)
        found = await self._source.run_now(item.namespace, ref.name) if ref else None
        if is_of(item, found):
            self._may_wait(item.uid)
            return
        turned = no_such_run(item, found)
        self._report(item.uid, turned.state, turned.message)

    def _may_wait(self, uid: str) -> bool:
        """Keep an act that was faster than what it is about for a moment; False once that is over."""
        now = asyncio.get_running_loop().time()
        until = self._early.setdefault(uid, now + limits.UNKNOWN_WAIT_SECONDS)
        if now >= until or len(self._early) > PENDING_MAX_COUNT:
            return False
        self._look_again(uid, until - now)
        return True

    def _look_again(self, uid: str, seconds: float) -> None:
        """Take an act up again then, once: what was set before does not count."""
        if uid in self._timers:
            self._timers.pop(uid).cancel()
        self._timers[uid] = asyncio.get_running_loop().call_later(seconds, self._take_up, uid)

    def _take_up(self, uid: str) -> None:
        self._timers.pop(uid, None)
        if (item := self._items.get(uid)) is not None:
            self.hear("set", item)

    def asked(self, run: str) -> None:
        """A question of `run` was recorded: look again at answers that came before it."""
        for uid in list(self._early):
            if (item := self._items.get(uid)) is not None and item.run_uid == run:
                self.hear("set", item)

    def _report(self, uid: str, state: str, message: str = "") -> None:
        self._early.pop(uid, None)
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
