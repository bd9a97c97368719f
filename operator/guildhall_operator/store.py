"""Everything the operator remembers, indexed by what a plan asks. Changes return the keys of Runs to look at again.

Guards against acting on an older state than was already seen: objects are compared by resourceVersion.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from guildhall_contracts.snapshot import RunSnapshot

from guildhall_operator.actions import CREATE_AGAIN_SECONDS, Peer
from guildhall_operator.client import version_of
from guildhall_operator.records import (
    ClaimRecord,
    EventRecord,
    JobRecord,
    Json,
    PodRecord,
    claim_record,
    claims_in_use,
    event_record,
    job_record,
    mapping,
    pod_record,
    text,
)
from guildhall_operator.run_view import RunView, rank_of, run_view, slimmed
from guildhall_operator.schedule import ScheduleView, schedule_view

EVENTS_MAX_COUNT: Final = 5_000
RunKey = tuple[str, str]


def name_of(raw: Json) -> RunKey:
    meta = mapping(raw.get("metadata"))
    return text(meta.get("namespace"), 63), text(meta.get("name"), 253)


def uid_of(raw: Json) -> str:
    return text(mapping(raw.get("metadata")).get("uid"), 64)


@dataclass(frozen=True, slots=True)
class ClaimUse:
    run: str  # uid, or empty for a pod of somebody else
    claims: frozenset[str]


class Store:
    """The caches. `reserved` holds Runs whose Job is being made, so that two workers never give away one place."""

    def __init__(self, priorities: Sequence[str] = ()) -> None:
        self._priorities = tuple(priorities)
        self.runs: dict[RunKey, RunView] = {}
        self._versions: dict[RunKey, int] = {}
        self._key_by_uid: dict[str, RunKey] = {}
        self._unfinished: dict[str, dict[str, RunKey]] = defaultdict(dict)  # namespace -> name -> key
        self.guilds: dict[RunKey, Json] = {}
        self.schedules: dict[RunKey, ScheduleView] = {}
        self._made_by: dict[str, set[RunKey]] = defaultdict(set)  # uid of a RunSchedule -> its Runs
        self._pods: dict[str, dict[str, PodRecord]] = defaultdict(dict)
        self._jobs: dict[str, dict[str, JobRecord]] = defaultdict(dict)
        self._events: dict[str, dict[str, EventRecord]] = {}
        self._owner: dict[str, str] = {}  # uid of a pod or Job -> uid of its Run
        self._claims: dict[str, dict[str, ClaimRecord]] = defaultdict(dict)
        self._claim_uses: dict[str, dict[str, ClaimUse]] = defaultdict(dict)
        self._policies: dict[str, dict[str, Json]] = defaultdict(dict)
        self.frozen: dict[str, RunSnapshot] = {}  # by uid of a Run that has not finished
        self._create_problems: dict[str, tuple[str, float]] = {}
        self.reserved: set[str] = set()

    # Runs

    def put_run(self, raw: Json) -> set[RunKey]:
        """Remembers a Run unless a newer state of it is known."""
        key, version = name_of(raw), version_of(raw)
        old = self.runs.get(key)
        same = old is not None and old.uid == uid_of(raw)
        if same and version and version < self._versions.get(key, 0):
            return set()
        if old is not None and not same:
            self._forget_run(key)
        whole = run_view(raw)
        run = slimmed(whole)
        self.runs[key] = run
        self._versions[key] = version
        self._key_by_uid[run.uid] = key
        if run.schedule[1]:
            self._made_by[run.schedule[1]].add(key)
        if run.holds or run.finished:
            self.reserved.discard(run.uid)
        if run.finished:
            self.frozen.pop(run.uid, None)
        if not run.finished and not run.deleting:
            self._unfinished[key[0]][key[1]] = key
            gave_back = old is not None and same and old.holds and not run.holds
            return {key} | (self.waiting_in(key[0]) if gave_back else set())
        self._unfinished[key[0]].pop(key[1], None)
        freed = old is not None and same and not (old.finished or old.deleting)
        return {key} | (self.waiting_in(key[0]) if freed else set())

    def drop_run(self, key: RunKey) -> set[RunKey]:
        """Forgets a Run; those that waited for its place come back."""
        if key not in self.runs:
            return set()
        held = not self.runs[key].finished
        self._forget_run(key)
        return self.waiting_in(key[0]) if held else set()

    def _forget_run(self, key: RunKey) -> None:
        run = self.runs.pop(key)
        self._versions.pop(key, None)
        self._key_by_uid.pop(run.uid, None)
        self._unfinished[key[0]].pop(key[1], None)
        self._made_by[run.schedule[1]].discard(key)
        self.frozen.pop(run.uid, None)
        self._create_problems.pop(run.uid, None)
        self.reserved.discard(run.uid)

    def replace_runs(self, namespace: str, raws: Iterable[Json]) -> set[RunKey]:
        """A fresh list of one namespace: puts all, forgets those that are gone."""
        listed = list(raws)
        keep = {name_of(raw) for raw in listed}
        changed: set[RunKey] = set()
        for key in [key for key in self.runs if key[0] == namespace and key not in keep]:
            changed |= self.drop_run(key)
        for raw in listed:
            changed |= self.put_run(raw)
        return changed

    def version(self, key: RunKey) -> int:
        return self._versions.get(key, 0)

    def waiting_in(self, namespace: str) -> set[RunKey]:
        """Runs that a freed place may concern: the first in line, and those waiting for a workspace or group."""
        waiting = [self.runs[key] for key in self._unfinished[namespace].values()]
        waiting = [run for run in waiting if not run.holds and run.conditions.get("Queued")]
        in_line = sorted((run for run in waiting if in_line_for_place(run)), key=self._turn)
        others = [run for run in waiting if run.conditions["Queued"].get("reason") == "WorkspaceBusy"]
        return {run.key for run in [*in_line[:4], *others]}

    def _turn(self, run: RunView) -> tuple[int, str, str]:
        return (rank_of(run.priority, self._priorities), run.created, run.name)

    def peers(self, run: RunView) -> tuple[Peer, ...]:
        """The other unfinished Runs of its namespace."""
        found = (self.runs[key] for key in self._unfinished[run.namespace].values())
        return tuple(self._peer(other) for other in found if other.uid != run.uid)

    def _peer(self, run: RunView) -> Peer:
        holds = run.holds or run.uid in self.reserved
        rank = rank_of(run.priority, self._priorities)
        return Peer(run.uid, run.name, run.created, holds, in_line_for_place(run), run.claim, run.group, rank)

    def key_of(self, uid: str) -> RunKey | None:
        return self._key_by_uid.get(uid)

    def _keys(self, uid: str) -> set[RunKey]:
        key = self._key_by_uid.get(uid)
        return {key} if key else set()

    def create_refused(self, uid: str, problem: str, monotonic: float) -> None:
        """Remembers for a few seconds why an object of a Run could not be made."""
        self.reserved.discard(uid)
        self._create_problems[uid] = (problem, monotonic)

    def create_problem(self, uid: str, monotonic: float) -> str:
        problem, at = self._create_problems.get(uid, ("", 0.0))
        return problem if monotonic - at < CREATE_AGAIN_SECONDS else ""

    # Guilds

    def put_guild(self, raw: Json) -> set[RunKey]:
        """Remembers a Guild; returns Runs that have not started and name it."""
        key = name_of(raw)
        meta = mapping(raw.get("metadata"))
        slim = {"generation": meta.get("generation"), "namespace": key[0], "name": key[1], "uid": uid_of(raw)}
        self.guilds[key] = {"metadata": slim, "spec": raw.get("spec"), "status": raw.get("status")}
        return self._runs_of_guild(key)

    def drop_guild(self, key: RunKey) -> set[RunKey]:
        self.guilds.pop(key, None)
        return self._runs_of_guild(key)

    def _runs_of_guild(self, guild: RunKey) -> set[RunKey]:
        runs = (self.runs[key] for key in self._unfinished[guild[0]].values())
        return {run.key for run in runs if not run.started and guild_name(run) == guild[1]}

    def guild_of(self, run: RunView) -> Json | None:
        """The spec of the Guild the Run names, or None."""
        found = self.guilds.get((run.namespace, guild_name(run)))
        return mapping(found.get("spec")) if found is not None else None

    # Schedules

    def put_schedule(self, raw: Json) -> set[RunKey]:
        """Remembers a RunSchedule; its key if it changed."""
        view = schedule_view(raw)
        if self.schedules.get(view.key) == view:
            return set()
        self.schedules[view.key] = view
        return {view.key}

    def drop_schedule(self, raw: Json) -> set[RunKey]:
        view = self.schedules.pop(name_of(raw), None)
        if view is not None:
            self._made_by.pop(view.uid, None)
        return set()

    def runs_of(self, schedule: ScheduleView) -> list[RunView]:
        """The Runs it made that are still there."""
        return [self.runs[key] for key in self._made_by.get(schedule.uid, ())]

    def schedule_of(self, key: RunKey) -> RunKey | None:
        """The RunSchedule that made a Run."""
        run = self.runs.get(key)
        return (key[0], run.schedule[0]) if run is not None and run.schedule[0] else None

    # Pods

    def put_pod(self, raw: Json) -> set[RunKey]:
        namespace, uid = name_of(raw)[0], uid_of(raw)
        changed: set[RunKey] = set()
        claims = claims_in_use(raw)
        before = self._claim_uses[namespace].pop(uid, None)
        record = pod_record(raw)
        if claims:
            self._claim_uses[namespace][uid] = ClaimUse(record.run if record else "", claims)
        elif before is not None:
            changed |= self.waiting_in(namespace)
        if record is None or self._pods[record.run].get(uid) == record:
            return changed
        self._pods[record.run][uid] = record
        self._owner[uid] = record.run
        return changed | self._keys(record.run)

    def drop_pod(self, raw: Json) -> set[RunKey]:
        namespace, uid = name_of(raw)[0], uid_of(raw)
        changed = self.waiting_in(namespace) if self._claim_uses[namespace].pop(uid, None) else set()
        run = self._owner.pop(uid, None)
        self._events.pop(uid, None)
        if run is None:
            return changed
        _drop(self._pods, run, uid)
        return changed | self._keys(run)

    def pods(self, run: RunView) -> tuple[PodRecord, ...]:
        return tuple(self._pods[run.uid].values()) if run.uid in self._pods else ()

    def claims_used_by_others(self, run: RunView) -> frozenset[str]:
        uses = self._claim_uses[run.namespace].values()
        return frozenset(name for use in uses if use.run != run.uid for name in use.claims)

    # Jobs

    def put_job(self, raw: Json) -> set[RunKey]:
        record = job_record(raw)
        if record is None or self._jobs[record.run].get(record.name) == record:
            return set()
        self._jobs[record.run][record.name] = record
        self._owner[record.uid] = record.run
        return self._keys(record.run)

    def drop_job(self, raw: Json) -> set[RunKey]:
        record = job_record(raw)
        if record is None:
            return set()
        self._owner.pop(record.uid, None)
        self._events.pop(record.uid, None)
        _drop(self._jobs, record.run, record.name)
        return self._keys(record.run)

    def job_deleting(self, run: RunView, name: str) -> None:
        record = self._jobs[run.uid].get(name)
        if record is not None:
            self._jobs[run.uid][name] = replace(record, deleting=True)

    def jobs(self, run: RunView) -> Mapping[str, JobRecord]:
        return dict(self._jobs[run.uid]) if run.uid in self._jobs else {}

    # Events

    def put_event(self, raw: Json) -> set[RunKey]:
        record = event_record(raw)
        if record is None or self._events.get(record.about, {}).get(record.reason) == record:
            return set()
        while len(self._events) >= EVENTS_MAX_COUNT:
            self._events.pop(next(iter(self._events)))
        self._events.setdefault(record.about, {})[record.reason] = record
        return self._keys(self._owner.get(record.about, ""))

    def events(self, uids: Iterable[str]) -> dict[str, tuple[EventRecord, ...]]:
        return {uid: tuple(self._events[uid].values()) for uid in uids if uid in self._events}

    # Claims and policies

    def put_claim(self, raw: Json) -> set[RunKey]:
        record = claim_record(raw)
        if self._claims[record.namespace].get(record.name) == record:
            return set()
        self._claims[record.namespace][record.name] = record
        return self._keys(record.run)

    def drop_claim(self, raw: Json) -> set[RunKey]:
        namespace, name = name_of(raw)
        record = self._claims[namespace].pop(name, None)
        return self._keys(record.run) if record else set()

    def claim_deleting(self, namespace: str, name: str) -> None:
        record = self._claims[namespace].get(name)
        if record is not None:
            self._claims[namespace][name] = replace(record, deleting=True)

    def claims(self, namespace: str) -> Mapping[str, ClaimRecord]:
        return self._claims[namespace]

    def put_policy(self, raw: Json) -> set[RunKey]:
        namespace, name = name_of(raw)
        slim = {"metadata": {"name": name}, "spec": raw.get("spec")}
        if self._policies[namespace].get(name) == slim:
            return set()
        self._policies[namespace][name] = slim
        return set(self._unfinished[namespace].values())

    def drop_policy(self, raw: Json) -> set[RunKey]:
        namespace, name = name_of(raw)
        found = self._policies[namespace].pop(name, None)
        return set(self._unfinished[namespace].values()) if found else set()

    def policies(self, namespace: str) -> tuple[Json, ...]:
        return tuple(self._policies[namespace].values())

    # Fresh lists

    def stale_pods(self, namespace: str, keep: set[str]) -> list[dict[str, Any]]:
        """What stands for pods that a fresh list no longer has."""
        known = {uid for pods in self._pods.values() for uid, pod in pods.items() if pod.namespace == namespace}
        gone = (known | set(self._claim_uses[namespace])) - keep
        return [{"metadata": {"namespace": namespace, "uid": uid}} for uid in gone]

    def stale_jobs(self, namespace: str, keep: set[str]) -> list[dict[str, Any]]:
        jobs = [job for found in self._jobs.values() for job in found.values() if job.namespace == namespace]
        return [
            {
                "metadata": {
                    "namespace": namespace,
                    "name": job.name,
                    "uid": job.uid,
                    "labels": {"guildhall.dev/run": job.run},
                }
            }
            for job in jobs
            if job.uid not in keep
        ]

    def stale_named(self, what: str, namespace: str, keep: set[str]) -> list[dict[str, Any]]:
        """The same for claims, policies and schedules, which are known by name."""
        known: Iterable[str] = self._claims[namespace] if what == "claims" else self._policies[namespace]
        if what == "schedules":
            known = [name for place, name in self.schedules if place == namespace]
        return [{"metadata": {"namespace": namespace, "name": name}} for name in known if name not in keep]


def _drop(index: dict[str, dict[str, Any]], run: str, key: str) -> None:
    index[run].pop(key, None)
    if not index[run]:
        del index[run]


def guild_name(run: RunView) -> str:
    return text(mapping(run.spec.get("guildRef")).get("name"), 253)


def in_line_for_place(run: RunView) -> bool:
    queued = run.conditions.get("Queued", {})
    return queued.get("status") == "True" and queued.get("reason") == "ConcurrencyLimit"
