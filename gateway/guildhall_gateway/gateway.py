"""One gateway put together from its parts; started and stopped in order."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from guildhall_contracts.guild import DEFAULT_BUDGET
from guildhall_contracts.model_api import LedgerTotals, ModelReply, ModelRequest
from guildhall_contracts.run import Awaiting

from guildhall_gateway.adapters.connections import Connections, Reach, reach
from guildhall_gateway.approval_store import ApprovalStore
from guildhall_gateway.awaiting import AwaitingBoard
from guildhall_gateway.blobs import Blobs
from guildhall_gateway.budget import Grant, totals_view
from guildhall_gateway.calls import ModelCalls
from guildhall_gateway.config import Config
from guildhall_gateway.courier import Courier, Desk
from guildhall_gateway.identity import Authenticator, IdentitySource
from guildhall_gateway.inbox import Inbox
from guildhall_gateway.ledger import Ledger
from guildhall_gateway.live import CANCELLED, LiveCall, Rules, Timeouts
from guildhall_gateway.offered import OfferedTools
from guildhall_gateway.problems import Refused, lagging
from guildhall_gateway.providers.route import Providers
from guildhall_gateway.questions import Questions
from guildhall_gateway.retention import Retention
from guildhall_gateway.runs import AnyView, Change, NoSecrets, RunSource, RunView, SecretSource, StatusSink
from guildhall_gateway.store import Store
from guildhall_gateway.tool_store import ToolStore
from guildhall_gateway.tools import Tools
from guildhall_gateway.usage import UsageWriter

log = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 5.0
READY_CHECK_SECONDS: Final = 0.2
STOP_GRACE_SECONDS: Final = 20.0
CLEAN_AGAIN_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Doors:
    """The small protocols behind which the cluster is; local mode has others behind them."""

    source: RunSource
    identity: IdentitySource
    sink: StatusSink
    secrets: SecretSource = field(default_factory=NoSecrets)


class Gateway:
    """The parts, wired."""

    no_budget: Final = DEFAULT_BUDGET

    def __init__(
        self,
        config: Config,
        doors: Doors,
        timeouts: Timeouts | None = None,
        clock: Callable[[], float] = time.time,
        where: Reach | None = None,
    ) -> None:
        source, sink = doors.source, doors.sink
        self.config = config
        self.source = source
        self.clock = clock
        self.store = Store(config.database_url)
        self.ledger = Ledger(self.store)
        self.inbox = Inbox(self.store)
        self.questions = Questions(self.store)
        self.approvals = ApprovalStore(self.store, clock)
        self.awaiting = AwaitingBoard(self.store, source)
        self.blobs = Blobs(self.store, Path(config.blobs_dir))
        self.retention = Retention(self.store, config.retain_seconds)
        self.authenticator = Authenticator(doors.identity, source, config.api_account, config.run_namespaces)
        self.usage = UsageWriter(source, sink, self._figures)
        self.courier = Courier(Desk(self.inbox, self.questions, self.approvals), source, sink, self._person_waits)
        tool_store = ToolStore(self.store)
        outward = where or reach(config.connections.allow, len(config.run_namespaces))
        self.connections = Connections(source, sink, doors.secrets, tool_store, outward)
        self.offered = OfferedTools(tool_store, source, self.connections)
        self.tools = Tools(tool_store, self.approvals, self.offered, self.connections, self._person_waits)
        rules = Rules(tuple(config.models.allow), config.budgets, timeouts or Timeouts())
        self.providers = Providers(config)
        self._warming: asyncio.Task[None] | None = None
        self.calls = ModelCalls(self.ledger, self.providers.find, rules, self._settled, clock)
        self._grants: dict[str, Grant] = {}  # of Runs that made calls while this gateway ran, until they are over
        self._over: asyncio.Queue[str] = asyncio.Queue()
        self._over_seen: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._reaper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the store, settle what an earlier gateway left, begin to listen to the cluster. Raises OSError."""
        await self.store.open()
        self.blobs.open()
        await self.ledger.beat()
        self.source.subscribe(self._hear)
        self.courier.start()
        self.usage.start()
        self.connections.start()
        for run in self.source.runs():
            self._hear("set", run)
        for uid in await self.ledger.settle_orphans(self.clock()):
            self.usage.changed(uid)
        self._tasks = [asyncio.create_task(self._sweep()), asyncio.create_task(self._clean())]
        self._reaper = asyncio.create_task(self._reap())
        self._warming = asyncio.create_task(asyncio.to_thread(self.providers.warm))

    async def stop(self, grace_seconds: float = STOP_GRACE_SECONDS) -> None:
        """Begin no call any more, let those under way end, settle them, write last statuses."""
        await asyncio.gather(self.calls.close(grace_seconds), self.tools.close(grace_seconds))
        if self._warming is not None:
            await asyncio.gather(self._warming, return_exceptions=True)
        await self.providers.close()
        await self.connections.stop()
        await self.courier.stop()
        tasks = [*self._tasks, self._reaper] if self._reaper else self._tasks
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.usage.stop()
        await self.ledger.retire()
        await self.store.close()

    def healthy(self) -> bool:
        """Whether every watch and worker lives."""
        workers = not any(task.done() for task in self._tasks)
        return (
            workers
            and self.source.healthy()
            and self.courier.healthy()
            and self.usage.healthy()
            and self.connections.healthy()
        )

    async def start_call(self, run: RunView, request: ModelRequest) -> LiveCall | ModelReply:
        """A model call of a Run. Raises Refused."""
        with self.calls.admitted(run.uid, request.call_id):
            if run.private:
                await self.retention.note_private(run.uid)
            call = await self._granted_call(run, request)
        now = self.source.run(run.uid)
        if now is None or now.cancelled or now.finished:
            self.calls.cut(run.uid)  # it was cancelled while we reserved
        return call

    async def _granted_call(self, run: RunView, request: ModelRequest) -> LiveCall | ModelReply:
        """A call under the grant that is known; where it is too small, under the one a person may have raised."""
        shown = self.offered.shown(run, request)
        known = self._grants.get(run.uid) or await self.grant(run)
        try:
            return await self.calls.start(run, known, request, shown)
        except Refused as refused:
            if refused.refusal.status != 402 or (raised := await self.grant(run)).raises == known.raises:
                raise
        return await self.calls.start(run, raised, request, shown)

    async def grant(self, run: RunView) -> Grant:
        """What the Run may spend: the budget its snapshot has, recorded at its first call, and a person's raises.

        Raises Refused while the operator's record of it is not seen.
        """
        kept = await self.ledger.grant(run.uid)
        if kept is None:
            if run.budget is None:
                raise Refused(lagging("the budget in this Run's status"))
            kept = await self.ledger.freeze_budget(run.uid, run.namespace, run.name, run.budget, self.clock())
        granted = replace(kept, attended=run.attended)
        now = self.source.run(run.uid)
        if now is not None and not now.finished:
            self._grants[run.uid] = granted
        return granted

    async def _figures(self, run: RunView) -> tuple[LedgerTotals, Awaiting]:
        grant = await self.ledger.grant(run.uid)
        over = run.finished
        questions = 0 if over else await self.questions.open_count(run.uid, self.clock())
        approvals = 0 if over else await self.approvals.open_count(run.uid)
        totals = totals_view(await self.ledger.totals(run.uid), grant.budget if grant else self.no_budget)
        return totals, Awaiting(questions=questions, approvals=approvals)

    def _person_waits(self, run: str) -> None:
        self.usage.changed(run, now=True)

    def _settled(self, run: str) -> None:
        self.usage.changed(run)
        view = self.source.run(run)
        if view is None or view.finished:
            self._over.put_nowait(run)  # what this call left came after the clean-up

    def _hear(self, change: Change, view: AnyView) -> None:
        if not isinstance(view, RunView):
            return
        if change == "gone" or view.cancelled or view.finished:
            self.calls.cut(view.uid, CANCELLED)
            self.tools.cut(view.uid)
        if change == "gone":
            self.usage.forget(view.uid)
            self._grants.pop(view.uid, None)
            self._over_seen.discard(view.uid)
            self._over.put_nowait(view.uid)
        elif view.finished and view.uid not in self._over_seen:
            self._over_seen.add(view.uid)
            if view.uid in self._grants or view.awaits:
                self.usage.changed(view.uid, now=True)
            self._grants.pop(view.uid, None)
            self._over.put_nowait(view.uid)

    async def _clean(self) -> None:
        """Delete replies of Runs that are over, and everything but the money of those that are gone."""
        while True:
            run = await self._over.get()
            try:
                await self._forget(run)
            except Exception:
                log.exception("cleaning up after run %s; trying again", run)
                asyncio.get_running_loop().call_later(CLEAN_AGAIN_SECONDS, self._over.put_nowait, run)

    async def _forget(self, run: str) -> None:
        if await self.ledger.forget_replies(run):
            self.usage.changed(run, now=True)  # its last figures may be those an earlier gateway did not write
        await self.tools.forget(run)
        await self.questions.close(run)  # what an executor did not live to withdraw stands in nobody's list
        await self.approvals.close(run)
        if self.source.run(run) is None:
            await self.inbox.forget(run)
            await self.approvals.forget(run)
            await self.blobs.drop(run)
            await self.retention.gone(run, self.clock())

    async def _reap(self) -> None:
        """Once the cluster is seen: forget the Runs that were deleted while no gateway ran."""
        while not self.source.ready():  # noqa: ASYNC110  a source tells changes, not readiness
            await asyncio.sleep(READY_CHECK_SECONDS)
        while True:
            try:
                found = {*await self.store.runs_with_content(), *await self.retention.unnoted()}
                await self.connections.reap()
                break
            except OSError as error:
                log.warning("looking for what deleted Runs left: %s", error)
                await asyncio.sleep(CLEAN_AGAIN_SECONDS)
        for run in found:
            if self.source.run(run) is None:
                self._over.put_nowait(run)

    async def _sweep(self) -> None:
        """Every few seconds: show that we live, close what has expired, settle what dead gateways left."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                now = self.clock()
                await self.ledger.beat()
                await self.approvals.expire()
                await self.retention.prune(now)
                for uid in await self.questions.expire(now):
                    self.usage.changed(uid, now=True)
                for uid in await self.ledger.settle_orphans(now, self.calls.busy):
                    self.usage.changed(uid)
            except Exception:
                log.exception("sweep")
