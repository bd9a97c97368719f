"""The Connections of the run namespaces: each is listed, watched over, told about in its status, and called.

Guards against a tool outliving its Connection: what is offered is looked up at each model request and each call, and a
deleted Connection is out of that list before its sessions are closed.
"""

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

from guildhall_contracts import limits

from guildhall_gateway.adapters.guard import FORBIDDEN, Network, api_server, origin_of
from guildhall_gateway.adapters.kept import Kept
from guildhall_gateway.adapters.listing import Found, Offer, listed, pinned, unnamed
from guildhall_gateway.adapters.pool import AnySession, Pool
from guildhall_gateway.adapters.room import Room, room_for
from guildhall_gateway.adapters.secret import target_of
from guildhall_gateway.adapters.target import Problem, Said, Target, Times
from guildhall_gateway.adapters.waiting import Waiting
from guildhall_gateway.runs import AnyView, Change, ConnectionView, RunSource, RunView, SecretSource, StatusSink
from guildhall_gateway.tool_store import ToolStore

log = logging.getLogger(__name__)

RETRY_FIRST_SECONDS: Final = 2.0
SWEEP_SECONDS: Final = 15.0
_TAKEN_AWAY: Final = frozenset({"SecretUnusable", "SecretForOtherHost", "HostNotAllowed"})
"""We may not speak there, or no longer with this token: open sessions, which hold it, are closed as well."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Which origins the platform team allows, which addresses nobody may reach, how long things may take, and how many
    Connections there may be."""

    allowed: frozenset[str] = frozenset()
    forbidden: Collection[Network] = FORBIDDEN
    times: Times = field(default_factory=Times)
    room: Room = field(default_factory=lambda: room_for(1))


def reach(allow: Collection[str], namespaces_count: int = 1) -> Reach:
    """What a gateway of this configuration may reach."""
    allowed = frozenset(filter(None, map(origin_of, allow)))
    return Reach(allowed, (*FORBIDDEN, *api_server()), room=room_for(namespaces_count))


class Connections:
    """Keeps every Connection; the only one that opens sessions."""

    def __init__(
        self, source: RunSource, sink: StatusSink, secrets: SecretSource, store: ToolStore, where: Reach
    ) -> None:
        self._source = source
        self._sink = sink
        self._secrets = secrets
        self._store = store
        self._reach = where
        self._kept: dict[str, Kept] = {}
        self._waiting: Waiting[Kept] = Waiting()  # those there is no room for
        self._turning_away = asyncio.Semaphore(limits.CONNECTIONS_TURNED_AWAY_AT_ONCE_MAX_COUNT)
        self._pool = Pool(self._make, _now)
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._source.subscribe(self.hear)
        for view in self._source.connections():
            self.hear("set", view)
        self._sweeper = asyncio.create_task(self._sweep())

    async def stop(self) -> None:
        tasks = [*self._tasks, *(kept.task for kept in self._kept.values() if kept.task), self._sweeper]
        for task in filter(None, tasks):
            task.cancel()
        await asyncio.gather(*filter(None, tasks), return_exceptions=True)
        await self._pool.close()

    def healthy(self) -> bool:
        return self._sweeper is not None and not self._sweeper.done()

    def hear(self, change: Change, view: AnyView) -> None:
        """A change in the cluster."""
        if isinstance(view, RunView) and (change == "gone" or view.finished):
            self._later(self._pool.close(run=view.uid))
        if not isinstance(view, ConnectionView):
            return
        kept = self._kept.get(view.uid)
        if change == "gone":
            self._kept.pop(view.uid, None)
            self._later(self._forget(view.uid, kept or self._waiting.pop(view.namespace, view.uid)))
            self._seat(view.namespace)
        elif kept is not None:
            changed = kept.view.generation != view.generation
            kept.take(view)
            if changed:
                self._later(self._pool.close(connection=view.uid))
                kept.wake.set()
        else:
            self._line_up(view)

    def _line_up(self, view: ConnectionView) -> None:
        """One that is not kept: it gets the room there is, or waits, and it alone is told that there is none."""
        waiting = self._waiting.get(view.namespace, view.uid)
        if waiting is None:
            waiting = Kept(view, reason="TooMany", message=self._reach.room.refusal)
            if not self._waiting.add(view.namespace, view.uid, waiting):
                return
        waiting.view = view
        self._seat(view.namespace)
        self._turn_away(waiting)

    def _seat(self, namespace: str) -> None:
        """Keeps those of a namespace there is room for, the longest waiting first."""
        while (waiting := self._waiting.first(namespace)) is not None:
            if not self._reach.room.left((kept.view.namespace for kept in self._kept.values()), namespace):
                return
            self._waiting.pop(namespace, waiting.view.uid)
            turning_away, self._kept[waiting.view.uid] = waiting.task, waiting
            waiting.take(waiting.view)
            waiting.task = asyncio.create_task(self._keep(waiting, turning_away))

    def _turn_away(self, waiting: Kept) -> None:
        """Has one that waits told so, unless it is being told, or was."""
        if not self._waits(waiting) or (waiting.task is not None and not waiting.task.done()):
            return
        if waiting.status() != waiting.told:
            waiting.task = self._later(self._turned_away(waiting))

    def _waits(self, kept: Kept) -> bool:
        return self._waiting.get(kept.view.namespace, kept.view.uid) is kept

    async def _turned_away(self, waiting: Kept) -> None:
        async with self._turning_away:
            if not self._waits(waiting):
                return
            try:
                await self._tell(waiting)
            except OSError as error:
                log.warning("connection %s/%s: %s", waiting.view.namespace, waiting.view.name, error)

    def _later(self, work: Any) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _forget(self, uid: str, kept: Kept | None) -> None:
        if kept is not None and kept.task is not None:
            kept.task.cancel()
            await asyncio.gather(kept.task, return_exceptions=True)
        await self._pool.close(connection=uid)
        try:
            await self._store.forget_connection(uid)
        except OSError as error:
            log.warning("what was kept of connection %s: %s", uid, error)

    async def reap(self) -> None:
        """Forget the Connections that were deleted while no gateway ran. Raises OSError."""
        there = {view.uid for view in self._source.connections()}
        for uid in await self._store.connections():
            if uid not in there:
                await self._store.forget_connection(uid)

    def unseen(self, namespace: str) -> set[str]:
        """Names of Connections whose server was not asked yet: what they offer is not known, which is not nothing."""
        return {k.view.name for k in self._kept.values() if k.view.namespace == namespace and not k.looked}

    def offers(self, namespace: str) -> dict[str, tuple[Kept, Offer]]:
        """What may be offered in a namespace now, by the name a Guild writes."""
        return {
            f"{kept.view.name}__{offer.part}": (kept, offer)
            for kept in self._kept.values()
            if kept.view.namespace == namespace
            for offer in kept.offers.values()
            if offer.state == "offered"
        }

    async def call(self, kept: Kept, offer: Offer, run: str, call_id: str, arguments: dict[str, Any]) -> Said:
        """What the tool answered. Raises Problem."""

        async def target() -> Target:
            self._there(kept)
            return await self._target(kept)

        self._there(kept)
        return await self._pool.call((kept.view.uid, run), target, call_id, offer.remote, arguments)

    def _there(self, kept: Kept) -> None:
        if self._kept.get(kept.view.uid) is not kept:
            raise Problem("Unreachable", "the connection was deleted")

    async def _target(self, kept: Kept) -> Target:
        if kept.spec is None:
            raise Problem("SpecInvalid", kept.message)
        where = self._reach
        try:
            return await target_of(kept.spec, kept.view.namespace, where.allowed, where.forbidden, self._secrets)
        except OSError as error:
            raise Problem("Unreachable", "the cluster does not answer for the Secret; trying again") from error

    def _make(self, target: Target) -> AnySession:
        # Imported here: a gateway without Connections need not carry the 24 MiB of it.
        from guildhall_gateway.adapters.session import Session  # noqa: PLC0415

        return Session(target, self._reach.times)

    async def _keep(self, kept: Kept, turning_away: "asyncio.Task[None] | None" = None) -> None:
        if turning_away is not None:  # what it writes is not to come after what is written from here
            await asyncio.wait([turning_away])
        pause = RETRY_FIRST_SECONDS
        while True:
            kept.wake.clear()
            try:
                await self._look(kept)
                kept.looked = True
                await self._tell(kept)
            except OSError as error:
                log.warning("connection %s/%s: %s", kept.view.namespace, kept.view.name, error)
            except Exception:
                log.exception("connection %s/%s", kept.view.namespace, kept.view.name)
            ready = kept.reason == "Connected"
            pause = RETRY_FIRST_SECONDS if ready else min(2 * pause, self._reach.times.relist)
            try:
                await asyncio.wait_for(kept.wake.wait(), self._reach.times.relist if ready else pause)
            except TimeoutError:
                continue

    async def _look(self, kept: Kept) -> None:
        """List the server's tools, accept them the first time, and judge them. Raises OSError."""
        if kept.spec is None:
            return
        try:
            kept.found = await self._listed(kept)
        except Problem as problem:
            kept.reason, kept.message = problem.reason, str(problem)
            if problem.reason not in ("Unreachable", "ProtocolError"):
                kept.found, kept.offers = [], {}  # a server that is away may come back; one we may not speak to is out
            if problem.reason in _TAKEN_AWAY:
                await self._pool.close(connection=kept.view.uid)
            return
        pins = await self._store.pins(kept.view.uid)
        if pins is None:
            await self._store.pin(kept.view.uid, pinned(listed(kept.found, kept.spec, None)))
            pins = await self._store.pins(kept.view.uid)
        kept.pins = pins
        kept.judge()
        left_out = unnamed(kept.found)
        kept.reason = "Connected"
        kept.message = f"{left_out} tools are left out: their names cannot be written in a Guild" if left_out else ""

    async def _listed(self, kept: Kept) -> list[Found]:
        session: Any = self._make(await self._target(kept))
        await session.open()
        try:
            found: list[Found] = await session.tools()
        finally:
            await session.close()
        return found

    async def _tell(self, kept: Kept) -> None:
        """Write the status where it differs from what was written last. Raises OSError."""
        status = kept.status()
        if status == kept.told:
            return
        await self._sink.write_connection(kept.view, status)
        kept.told = status

    def _look_again(self) -> None:
        """Seats who waits, tells those who could not be told, and lines up those the line had no place for."""
        for namespace in self._waiting.namespaces():
            self._seat(namespace)
        for waiting in self._waiting:
            self._turn_away(waiting)
        for view in self._source.connections():
            if view.uid not in self._kept and self._waiting.get(view.namespace, view.uid) is None:
                self._line_up(view)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(SWEEP_SECONDS, self._reach.times.idle))
            self._look_again()
            await self._pool.close(unused_since=_now() - self._reach.times.idle)


def _now() -> float:
    return asyncio.get_running_loop().time()
