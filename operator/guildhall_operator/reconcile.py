"""One key after another: observe, plan, apply. The only place where deciding and doing meet."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from guildhall_operator import schedule_apply
from guildhall_operator.actions import CREATE_AGAIN_SECONDS
from guildhall_operator.apply import (
    POD_SECONDS,
    CreateRefused,
    Hands,
    SnapshotDiffers,
    apply,
    write_status,
)
from guildhall_operator.client import Kube, KubeError
from guildhall_operator.echo import Echo
from guildhall_operator.guilds import guild_status
from guildhall_operator.metrics import Metrics
from guildhall_operator.observe import World, observe
from guildhall_operator.plan import plan
from guildhall_operator.queue import WorkQueue
from guildhall_operator.records import Json
from guildhall_operator.run_view import RunView
from guildhall_operator.runs import name_of
from guildhall_operator.schedule import SchedulePlan, ScheduleView, refused, schedule_plan
from guildhall_operator.status import of_others
from guildhall_operator.template import doubt

Key = tuple[str, str, str]  # kind, namespace, name
logger = logging.getLogger(__name__)


def wall_clock() -> datetime:
    return datetime.now(UTC)


def _moved(before: RunView, after: RunView) -> bool:
    return before.stage != after.stage or of_others(before) != of_others(after)


@dataclass(slots=True)
class Reconciler:
    """Everything a worker needs; time comes in by its two clocks."""

    kube: Kube
    world: World
    queue: WorkQueue[Key]
    metrics: Metrics
    echo: Echo = field(default_factory=Echo)
    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], datetime] = wall_clock
    pod_seconds: float = POD_SECONDS

    def look_at(self, keys: set[tuple[str, str]]) -> None:
        """Queues Runs, and the schedules that made them."""
        for key in keys:
            self.queue.add(("Run", *key))
            schedule = self.world.store.schedule_of(key)
            if schedule is not None:
                self.queue.add(("RunSchedule", *schedule))

    def look_at_guild(self, key: tuple[str, str], runs: set[tuple[str, str]]) -> None:
        """Queues what a change of a Guild concerns: the Runs that wait for it, and the schedules that name it."""
        self.look_at(runs)
        self.look_at_schedules(self.world.store.schedules_with_guild(key))

    def look_at_schedules(self, keys: set[tuple[str, str]]) -> None:
        """Queues RunSchedules."""
        for namespace, name in keys:
            self.queue.add(("RunSchedule", namespace, name))

    async def work(self) -> None:
        """One worker; never returns. A failure costs its own key a pause and nobody else anything."""
        while True:
            key = await self.queue.get()
            began = self.monotonic()
            try:
                await self.reconcile(key)
                self.queue.succeeded(key)
                self.metrics.reconciled.labels(key[0], "done").inc()
            except Exception as error:
                pause = self.queue.failed(key)
                self.metrics.reconciled.labels(key[0], "failed").inc()
                known = isinstance(error, (KubeError, SnapshotDiffers))
                logger.warning("%s %s/%s: %r; again in %.1f s", *key, error, pause, exc_info=None if known else error)
            finally:
                self.queue.done(key)
                self.metrics.seconds.observe(self.monotonic() - began)

    async def reconcile(self, key: Key) -> None:
        """Looks at one object. Raises KubeError and SnapshotDiffers, after which it is to be looked at again."""
        kind, namespace, name = key
        if kind == "Guild":
            await self._guild(namespace, name)
            return
        if kind == "RunSchedule":
            schedule = self.world.store.schedules.get((namespace, name))
            if schedule is not None:
                await self._schedule(schedule, key)
            return
        run = self.world.store.runs.get((namespace, name))
        if run is not None:
            await self._run(run, key)

    async def _guild(self, namespace: str, name: str) -> None:
        raw = self.world.store.guilds.get((namespace, name))
        status = guild_status(raw, self.wall()) if raw is not None else None
        if status is None:
            return
        try:
            meta = {"name": name, "namespace": namespace}
            self.world.store.put_guild(await write_status(self.kube, "Guild", meta, status))
        except KubeError as error:
            if error.code != 404:
                raise

    async def _schedule(self, view: ScheduleView, key: Key) -> None:
        now = self.wall()
        runs = self.world.store.runs_of(view)
        unsure = doubt(view, self.world.store.schedule_guild(view), self.world.config)
        plan = schedule_plan(view, runs, now, unsure)
        try:
            await self._carry_out(view, runs, plan, now)
        except KubeError as error:
            if error.code != 404:
                raise
            return  # it is gone; the watch will say so
        self.queue.add_after(key, plan.requeue_seconds)

    async def _carry_out(self, view: ScheduleView, runs: list[RunView], plan: SchedulePlan, now: datetime) -> None:
        status, note = plan.status, plan.note
        if plan.create is not None:
            try:
                made = await schedule_apply.create_run(self.kube, view, plan.create)
                self.look_at(self.world.store.put_run(made))
            except schedule_apply.RunRefused as error:
                status, note = refused(view, runs, plan, str(error), now), ("RunRefused", str(error))
                plan = replace(plan, cancel=())  # nothing takes the place of what is at work
        if status is not None:
            meta = {"name": view.name, "namespace": view.namespace, "uid": view.uid}
            self.world.store.put_schedule(await write_status(self.kube, "RunSchedule", meta, status))
        await schedule_apply.tidy(self.kube, view, plan)
        if note is not None:
            await schedule_apply.post_note(self.kube, view, note, now)

    async def _run(self, run: RunView, key: Key) -> None:
        now, monotonic = self.wall(), self.monotonic()
        decided = plan(run, observe(self.world, run, monotonic), now)
        takes = decided.status is not None and replace(run, status=decided.status).holds
        self.look_at(self.world.store.reserve(run, making=bool(decided.create) or takes))
        try:
            await apply(Hands(self.kube, self.world.store, self._wrote, self.pod_seconds), run, decided, now)
        except SnapshotDiffers as found:
            self.world.store.frozen[run.uid] = found.frozen
            raise
        except CreateRefused as refused:
            self._refused(run, key, str(refused))
            return
        except KubeError as error:
            if error.code == 404:
                self.look_at(self.world.store.drop_run(run.key))
                return
            raise
        self.world.waits.keep(run.uid, decided.waiting, monotonic)
        if decided.requeue_seconds is not None:
            self.queue.add_after(key, decided.requeue_seconds)

    def _wrote(self, raw: Json) -> None:
        """Remembers what a status write left, before the watch shows it, and wakes those whose turn it made.

        The Run itself comes again only where the write took it to another stage (within one, a plan is a fixed point of
        our own fields), or where the answer shows what somebody else wrote meanwhile: the watch tells that as known.
        """
        key, runs = name_of(raw), self.world.store.runs
        before = runs.get(key)
        self.echo.expect(raw)
        changed = self.world.store.put_run(raw)
        moved = before is None or key not in runs or _moved(before, runs[key])
        self.look_at(changed | {key} if moved else changed - {key})

    def _refused(self, run: RunView, key: Key, problem: str) -> None:
        """Says why at once, and tries again after a pause."""
        self.world.store.create_refused(run.uid, problem, self.monotonic())
        if run.started:
            self.queue.add_after(key, CREATE_AGAIN_SECONDS)  # its plan says nothing of a refusal
        else:
            self.queue.add(key)
        self.look_at(self.world.store.waiting_in(run.namespace))
