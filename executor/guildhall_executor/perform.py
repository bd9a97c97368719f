"""Carries out what the loop decides: takes inputs one at a time, journals each, and performs the effects."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.events import ErrorRaised, Event, KnownEvent
from guildhall_contracts.gate import PatchWord
from guildhall_contracts.model_api import MailboxPage
from guildhall_contracts.policy import is_external
from guildhall_contracts.snapshot import DELIVERY_FOLDER

from guildhall_executor import asks, emit, isolation, mailbox
from guildhall_executor import clock as clocks
from guildhall_executor.alarm import Alarm
from guildhall_executor.code.session import CodeSession
from guildhall_executor.delivery import Delivery
from guildhall_executor.effects import (
    AnswerCode,
    AskApproval,
    AskPerson,
    CallModel,
    Effect,
    Emit,
    RunTool,
    Seal,
    StopWork,
    TakeChanges,
    Withdraw,
)
from guildhall_executor.gateway import Gateway
from guildhall_executor.inputs import AnyInput, AskFailed, At, Broken, ChangesTaken, Tick, ToolEnded
from guildhall_executor.journal import Journal
from guildhall_executor.loop import step
from guildhall_executor.places import Patience
from guildhall_executor.state import State
from guildhall_executor.work import Work
from guildhall_executor.workshop import Workshop

RESEND_EVERY_SECONDS = 20.0
Job = Callable[[], Coroutine[Any, Any, None]]  # begun by its task, so that one cancelled at once leaves nothing behind


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall time for stamps, and the Run's age in milliseconds, which goes on across attempts."""

    stamp: Callable[[], str]
    age_milliseconds: Callable[[], int]


class Performer:
    """One attempt of a Run. `run` ends when the Run is sealed; `linger` when the api has everything."""

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        state: State,
        attempt: int,
        journal: Journal,
        gateway: Gateway,
        workshop: Workshop,
        patience: Patience,
        clock: Clock,
    ) -> None:
        self.state = state
        self._attempt = attempt
        self._journal = journal
        self._gateway = gateway
        self._patience = patience
        self._clock = clock
        self._inbox: asyncio.Queue[AnyInput] = asyncio.Queue()
        self._code = CodeSession(self.put)
        kept = journal.folder / DELIVERY_FOLDER if state.roster.snapshot.deliver == "branch" else None
        self._work = Work(gateway, workshop, patience, self.tell, self._code, Delivery(kept))
        self._running: dict[str, asyncio.Task[None]] = {}  # by operation
        self._model_calls = asyncio.Semaphore(limits.MODEL_CALLS_AT_ONCE_MAX_COUNT)
        self._tools = asyncio.Semaphore(limits.TOOLS_AT_ONCE_MAX_COUNT)
        self._look: asyncio.Task[None] | None = None
        self._others: set[asyncio.Task[None]] = set()
        self._alarm = Alarm(clock.age_milliseconds, lambda: self.put(Tick()))
        self._mailbox: asyncio.Task[None] | None = None
        self._resent: tuple[int, float] = (0, float("-inf"))
        self._page_came = asyncio.Event()
        self.sealed: Seal | None = None

    @property
    def word(self) -> PatchWord | None:
        """What the last look at the changes came to, where a branch is to be made of them."""
        return self._work.delivery.word

    def put(self, input_: AnyInput) -> None:
        self._inbox.put_nowait(input_)

    def tell(self, kind: type[Event], **fields: Any) -> None:
        """An event outside the steps, numbered after the last one."""
        run = self.state.roster.snapshot.run
        head = emit.head(run, self._attempt, self._journal.last_seq + 1, self._clock.stamp())
        event: Any = kind(**head, **fields)
        self._journal.write_events([event])

    async def run(self, first: AnyInput) -> Seal:
        """Raises OSError when the journal cannot be written; everything else ends in a Seal."""
        self.start_mailbox()
        self._aside(self._watch_isolation)
        self.put(first)
        try:
            while self.sealed is None:
                self._take(await self._inbox.get())
        finally:
            await _stop(*self._others, *self._running.values(), self._look)
            self._alarm.stop()
            await self._code.close()
        return self.sealed

    def _take(self, input_: AnyInput) -> None:
        at = At(
            seq=self._journal.last_seq,
            attempt=self._attempt,
            ts=self._clock.stamp(),
            elapsed_milliseconds=self._clock.age_milliseconds(),
            input=input_,
        )
        self._journal.write_input(at)
        self.state, effects = step(self.state, at)
        events: list[KnownEvent] = [effect.event for effect in effects if isinstance(effect, Emit)]
        if events:
            self._journal.write_events(events)
        for effect in effects:
            self._perform(effect)
        self._alarm.set(clocks.due_milliseconds(self.state))

    def _perform(self, effect: Effect) -> None:
        match effect:
            case CallModel():
                self._begin(effect.op, partial(self._call_model, effect))
            case RunTool():
                self._begin(effect.op, partial(self._run_tool, effect))
            case AnswerCode():
                self._code.answer(effect)
            case AskPerson():
                self._begin(effect.op, partial(self._put, effect.op, partial(self._gateway.ask_person, effect.item)))
            case AskApproval():
                ask = partial(self._gateway.ask_approval, effect.request)
                self._begin(effect.op, partial(self._put, effect.op, ask))
            case Withdraw():
                self._aside(partial(self._withdraw, effect, self._running.get(effect.op)))
            case StopWork(op=op):
                for running in [op] if op is not None else list(self._running):
                    self._cancel(running)
            case TakeChanges():
                self._aside(self._take_last_look)
            case Seal():
                self.sealed = effect
            case Emit():
                pass

    def _begin(self, op: str, work: Job) -> None:
        """Work of one operation, which StopWork can name; it is forgotten when it is over."""
        task = self._start(work)
        self._running[op] = task
        task.add_done_callback(lambda ended: self._forget(op, ended))

    def _aside(self, work: Job) -> None:
        """Work that nothing waits for; it is forgotten when it is over."""
        task = self._start(work)
        self._others.add(task)
        task.add_done_callback(self._others.discard)

    def _forget(self, op: str, ended: asyncio.Task[None]) -> None:
        if self._running.get(op) is ended:
            del self._running[op]

    def _cancel(self, op: str) -> None:
        if op in self._running:
            self._running[op].cancel()

    def _start(self, work: Job) -> asyncio.Task[None]:
        return asyncio.create_task(self._guarded(work))

    async def _guarded(self, work: Job) -> None:
        """A fault of our own ends the Run with its name instead of leaving it hanging."""
        try:
            await work()
        except Exception as error:  # noqa: BLE001
            self.put(Broken(error=error_info("internal", fault(error))))

    async def _answer(self, work: Coroutine[Any, Any, AnyInput]) -> AnyInput:
        try:
            await self._until(lambda: self._journal.has_room)  # nothing is begun while the api is too far behind
        except asyncio.CancelledError:
            work.close()
            raise
        answer = await work
        self.put(answer)
        return answer

    async def _call_model(self, effect: CallModel) -> None:
        async with self._model_calls:
            await self._answer(self._work.call_model(effect))

    async def _run_tool(self, effect: RunTool) -> None:
        room = contextlib.nullcontext() if effect.tool == "run_code" else self._tools  # code waits for other tools
        async with room:
            if effect.approval is not None and not is_external(effect.tool):
                refusal = await asks.use_up(self._gateway, effect.approval)
                if refusal is not None:
                    self.put(ToolEnded(op=effect.op, result=refusal))
                    return
            ended = await self._answer(self._work.run_tool(effect))
        lost = isinstance(ended, ToolEnded) and ended.result.error_code == "workshop_lost"
        idle = self._look is None or self._look.done()
        if effect.writes and idle and not lost and self._work.look_is_due:
            self._look = self._start(partial(self._work.look_at_changes, self._patience.changes_last_seconds))

    async def _put(self, op: str, ask: Callable[[], Awaitable[ErrorInfo | None]]) -> None:
        failure = await asks.until_taken(ask, self._patience.mailbox_retry_max_seconds)
        if failure is not None:
            self.put(AskFailed(op=op, error=failure))

    async def _withdraw(self, over: Withdraw, asking: asyncio.Task[None] | None) -> None:
        """Until the gateway has taken it; after what is being asked there, so that this is the last word."""
        await asks.let_go(asking)
        withdraw = partial(self._gateway.withdraw, over.what, over.id)
        await asks.until_taken(withdraw, self._patience.mailbox_retry_max_seconds)

    async def _take_last_look(self) -> None:
        """The final change set; whatever comes of it, the Run goes on to its end."""
        cancelled = self.state.ending is not None and self.state.ending.outcome == "cancelled"
        try:
            await self.last_look(hurry=cancelled)
        finally:
            self.put(ChangesTaken())

    async def last_look(self, *, hurry: bool = True) -> None:
        """One more look at the changes, within the time there is; a workshop that keeps silent is told of."""
        await _stop(self._look)
        seconds = self._patience.changes_cancelled_seconds if hurry else self._patience.changes_last_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._work.look_at_changes(seconds, last=True)
        except TimeoutError:
            what = f"the change set could not be read within {seconds:g} seconds; the last one told may be out of date"
            self.tell(ErrorRaised, error=error_info("workshop_lost", what))

    async def _watch_isolation(self) -> None:
        gateway = self.state.roster.snapshot.gateway
        if not self.state.roster.snapshot.isolation_required:
            return
        target = await isolation.first_answer(gateway.canary, gateway.recheck_seconds)
        message = (
            f"network isolation is gone: '{target.name}' ({target.host}:{target.port}) answered from the run pod. "
            "The Run was stopped at once; the platform team has to look at the NetworkPolicies of this namespace."
        )
        self.put(Broken(error=error_info("internal", message), reason="IsolationNotEnforced"))

    def start_mailbox(self) -> None:
        slowest = self._patience.mailbox_retry_max_seconds
        follow = partial(mailbox.follow, self._gateway, self._on_page, self._mailbox_wait, slowest)
        self._mailbox = self._start(follow)

    def _mailbox_wait(self) -> int:
        """Acknowledgements are wanted soon when the log is nearly full or all that is left to wait for."""
        hurry = self.sealed is not None or not self._journal.has_room
        return min(1, self._patience.mailbox_wait_seconds) if hurry else self._patience.mailbox_wait_seconds

    def _on_page(self, page: MailboxPage) -> None:
        self._journal.acknowledge(page.stored_seq)
        self._page_came.set()
        for item in mailbox.acts(page):
            self.put(item)
        now = asyncio.get_running_loop().time()
        wanted = page.resend_from
        if wanted is not None and wanted <= self._journal.last_seq:
            before, when = self._resent
            if wanted != before or now - when >= RESEND_EVERY_SECONDS:
                self._resent = (wanted, now)
                self._journal.print_again(wanted)

    async def _until(self, ready: Callable[[], bool]) -> None:
        """Looks again whenever the mailbox brought something."""
        while not ready():
            self._page_came.clear()
            await self._page_came.wait()

    async def linger(self) -> bool:
        """Waits, within bounds, until the api has stored the last event; whether it has."""
        if self._mailbox is not None:
            await _stop(self._mailbox)  # its long poll may have begun long before there was anything to hurry for
        self.start_mailbox()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._patience.linger_seconds):
                await self._until(lambda: self._journal.is_stored)
        await self.leave()
        return self._journal.is_stored

    async def leave(self) -> None:
        """Asks for no more pages; whoever ends an attempt in the middle must say so."""
        await _stop(self._mailbox)


def fault(error: BaseException) -> str:
    """Names a fault of our own by its kind and place; never its text, which may quote the workspace."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f"{place.tb_frame.f_code.co_name}:{place.tb_lineno}" if place is not None else "?"
    return f"the executor failed ({type(error).__name__} in {where}); this is a fault of the product, please report it"


async def _stop(*tasks: asyncio.Task[None] | None) -> None:
    alive = [task for task in tasks if task is not None and not task.done()]
    for task in alive:
        task.cancel()
    await asyncio.gather(*alive, return_exceptions=True)
