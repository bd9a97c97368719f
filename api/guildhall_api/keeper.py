"""Keeps the Runs that exist: takes the watches' changes, updates history's rows, starts and ends followers."""

import asyncio
import logging
from dataclasses import replace
from typing import Final

from guildhall_contracts.snapshot import RUN_LABEL
from pydantic import ValidationError
from sqlalchemy.exc import SQLAlchemyError

from guildhall_api.booked import Booked
from guildhall_api.config import Config
from guildhall_api.follower import Follower
from guildhall_api.gateway import GatewayClient
from guildhall_api.history import History
from guildhall_api.hub import message
from guildhall_api.live import LiveRun
from guildhall_api.records import RunFacts, StoredRun
from guildhall_api.resources import Resource
from guildhall_api.retention import Retention
from guildhall_api.source import Change, RunSource
from guildhall_api.summaries import as_deleted, facts_of, part
from guildhall_api.times import now_stamp

log = logging.getLogger(__name__)

_RETRY_SECONDS: Final = 5.0


class Keeper:
    """Every Run of the cluster, by uid, and every Guild."""

    def __init__(self, config: Config, source: RunSource, history: History, gateway: GatewayClient) -> None:
        self._config = config
        self._source = source
        self._history = history
        self._gateway = gateway
        self._retention = Retention(config, history)
        self._followers: dict[str, asyncio.Task[None]] = {}
        self._early_pods: dict[tuple[str, str], dict[str, Resource]] = {}  # by namespace and uid of the Run
        self._awaited: dict[str, asyncio.Event] = {}  # by uid, while someone waits until the Run is known
        self.runs: dict[str, LiveRun] = {}
        self.guilds: dict[tuple[str, str], Resource] = {}
        self.synced: set[tuple[str, str]] = set()
        self.ended = False

    @property
    def ready(self) -> bool:
        """Whether every kind and namespace was listed once."""
        return len(self.synced) == 3 * len(self._config.run_namespaces)

    def by_name(self, namespace: str, name: str) -> LiveRun | None:
        """The Run of that name that exists now."""
        return next((run for run in self.runs.values() if run.name == name and run.namespace == namespace), None)

    async def known(self, uid: str, seconds: float) -> bool:
        """Wait until the watch has brought the Run and its row is stored, at most `seconds`; whether it has."""
        if uid in self.runs:
            return True
        event = self._awaited.setdefault(uid, asyncio.Event())
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            log.warning("Run %s is created, but the watch has not brought it after %.1f s", uid, seconds)
            return False
        finally:
            self._awaited.pop(uid, None)
        return True

    async def run(self) -> None:
        """For ever: take changes as they come; expire what is over; tell what is booked."""
        beside = [
            asyncio.create_task(self._retention.run()),
            asyncio.create_task(Booked(self._gateway, self.runs).run()),
        ]
        try:
            async for change in self._source.changes():
                await self._take(change)
        finally:
            self.ended = True
            tasks = [*beside, *self._followers.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _take(self, change: Change) -> None:
        """One change; a database that fails is tried again, for a lost change is never sent twice."""
        while True:
            try:
                await self._dispatch(change)
                break
            except SQLAlchemyError:
                log.exception("a change of %s in %s could not be stored; trying again", change.kind, change.namespace)
                await asyncio.sleep(_RETRY_SECONDS)
        if change.verb == "synced":
            self.synced.add((change.kind, change.namespace))
            for run in self.runs.values():
                self._start(run)

    async def _dispatch(self, change: Change) -> None:
        if change.kind == "guilds":
            self._take_guilds(change)
        elif change.kind == "pods":
            self._take_pods(change)
        else:
            await self._take_runs(change)

    def _take_guilds(self, change: Change) -> None:
        if change.verb == "synced":
            self.guilds = {key: guild for key, guild in self.guilds.items() if key[0] != change.namespace}
        for guild in change.items:
            key = (change.namespace, str(part(guild, "metadata", "name")))
            if change.verb == "deleted":
                self.guilds.pop(key, None)
            else:
                self.guilds[key] = guild

    def _take_pods(self, change: Change) -> None:
        if change.verb == "synced":
            self._forget_pods(change.namespace)
        for pod in change.items:
            uid, run_uid = part(pod, "metadata", "uid"), part(pod, "metadata", "labels", RUN_LABEL)
            if not isinstance(uid, str) or not isinstance(run_uid, str):
                continue
            run = self.runs.get(run_uid)
            if run is not None and run.namespace != change.namespace:
                continue
            pods = run.pods if run is not None else self._early_pods.setdefault((change.namespace, run_uid), {})
            pods[uid] = pod | {"deleted": True} if change.verb == "deleted" else pod
            if run is not None:
                run.changed.set()
            elif change.verb == "deleted":
                del pods[uid]
                if not pods:
                    del self._early_pods[change.namespace, run_uid]

    def _forget_pods(self, namespace: str) -> None:
        """The pods of one namespace are about to be listed whole."""
        for key in [key for key in self._early_pods if key[0] == namespace]:
            del self._early_pods[key]
        for run in self.runs.values():
            if run.namespace == namespace:
                run.pods.clear()
                run.changed.set()

    async def _take_runs(self, change: Change) -> None:
        if change.verb == "deleted":
            for resource in change.items:
                await self._gone(str(part(resource, "metadata", "uid")))
            return
        known: dict[str, StoredRun] = {}
        if change.verb == "synced":
            known = {stored.uid: stored for stored in await self._history.open_runs(change.namespace)}
            there = {str(part(resource, "metadata", "uid")) for resource in change.items}
            here = {uid for uid, run in self.runs.items() if run.namespace == change.namespace}
            for uid in (set(known) | here) - there:
                await self._gone(uid)
        for resource in change.items:
            await self._put(resource, known)

    async def _put(self, resource: Resource, known: dict[str, StoredRun]) -> None:
        if part(resource, "metadata", "managedFields"):
            resource["metadata"].pop("managedFields")
        uid = str(part(resource, "metadata", "uid"))
        if self._is_over(uid, resource):
            await self._gone(uid)
            return
        try:
            run = self.runs.get(uid) or await self._add(resource, known.get(uid))
            facts = facts_of(resource, run.run_wire)
        except ValidationError as error:
            log.warning("Run %s breaks the contract and is left out: %s", uid, error)
            return
        except (TypeError, KeyError, AttributeError, ValueError):
            log.exception("Run %s cannot be read and is left out", uid)
            return
        run.resource = resource
        run.changed.set()
        await self._show(run, facts)

    def _is_over(self, uid: str, resource: Resource) -> bool:
        """Whether it is to be forgotten; one that is read now is read to its end."""
        run = self.runs.get(uid)
        return (run is None or run.sealed) and self._retention.is_over(resource)

    async def _show(self, run: LiveRun, facts: RunFacts) -> None:
        if facts.summary != run.summary:
            await self._history.put_run(facts)
            run.summary = facts.summary
            run.channel.tell(message("status", run.shown))

    async def _add(self, resource: Resource, stored: StoredRun | None) -> LiveRun:
        facts = facts_of(resource)
        stored = stored or await self._history.find(uid=facts.uid)
        if stored is None:
            await self._history.put_run(facts)
            stored = await self._history.find(uid=facts.uid)
        assert stored is not None  # noqa: S101
        run = self.runs[facts.uid] = LiveRun(resource, stored)
        run.pods = self._early_pods.pop((facts.namespace, facts.uid), {})
        if facts.uid in self._awaited:
            self._awaited[facts.uid].set()
        if run.sealed:
            kept = await self._history.snapshot_run(stored.key) or {}
            run.run_wire = {"summary": kept.get("summary", "")}
            if stored.private and stored.expires_at is None:  # it was sealed, then this process died
                await self._history.put_run(replace(facts, expires_at=self._retention.expiry(resource)))
        else:
            self._start(run)
        return run

    def _start(self, run: LiveRun) -> None:
        """Follow it, once its namespace's pods are known: an ended Run without a pod looks like one read to its end."""
        known = ("pods", run.namespace) in self.synced
        if known and not run.sealed and run.uid not in self._followers:
            self._followers[run.uid] = asyncio.create_task(self._follow(run))

    async def _follow(self, run: LiveRun) -> None:
        """One Run's follower, started again if it breaks: one broken Run harms no other."""
        while not run.sealed:
            try:
                await Follower(run, self._source, self._history, self._gateway).run()
            except Exception:
                log.exception("following Run %s broke; again in %.0f s", run.uid, _RETRY_SECONDS)
                await asyncio.sleep(_RETRY_SECONDS)
        await self._sealed(run)

    async def _sealed(self, run: LiveRun) -> None:
        self._followers.pop(run.uid, None)
        expires_at = self._retention.expiry(run.resource)
        facts = replace(facts_of(run.resource, run.run_wire), expires_at=expires_at)
        run.summary = facts.summary
        await self._history.put_run(facts)
        run.channel.tell(message("status", run.shown))
        if run.deleted:
            await self._gone(run.uid)

    async def _gone(self, uid: str) -> None:
        """The resource is deleted. The follower goes on until the log has ended, then this is called again."""
        run = self.runs.get(uid)
        if run is not None and not run.sealed:
            run.deleted = True
            run.resource = as_deleted(run.resource, now_stamp())
            run.changed.set()
            await self._show(run, facts_of(run.resource, run.run_wire))
            return
        self.runs.pop(uid, None)
        await self._retention.gone(uid)
