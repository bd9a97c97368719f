"""The Runs the operator knows, and what is asked of them together: whose turn it is, whom a Guild or schedule concerns.

Changes return the keys of Runs to look at again. Guards against acting on an older state than was already seen: objects
are compared by resourceVersion.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from guildhall_contracts.snapshot import RunSnapshot

from guildhall_operator.actions import CREATE_AGAIN_SECONDS, Peer
from guildhall_operator.client import version_of
from guildhall_operator.records import Json, mapping, text
from guildhall_operator.run_view import RunView, rank_of, run_view, slimmed
from guildhall_operator.schedule import ScheduleView, schedule_view

RunKey = tuple[str, str]


def name_of(raw: Json) -> RunKey:
    meta = mapping(raw.get("metadata"))
    return text(meta.get("namespace"), 63), text(meta.get("name"), 253)


def uid_of(raw: Json) -> str:
    return text(mapping(raw.get("metadata")).get("uid"), 64)


class Runs:
    """Runs, Guilds and RunSchedules. `reserved` holds Runs whose Job is being made: no place is given away twice."""

    def __init__(self, priorities: Sequence[str] = ()) -> None:
        self._priorities = tuple(priorities)
        self.runs: dict[RunKey, RunView] = {}
        self._versions: dict[RunKey, int] = {}
        self._key_by_uid: dict[str, RunKey] = {}
        self._unfinished: dict[str, dict[str, Peer]] = defaultdict(dict)  # namespace -> name, made once a change
        self.guilds: dict[RunKey, Json] = {}
        self.schedules: dict[RunKey, ScheduleView] = {}
        self._made_by: dict[str, set[RunKey]] = defaultdict(set)  # uid of a RunSchedule -> its Runs
        self.frozen: dict[str, RunSnapshot] = {}  # by uid of a Run that has not finished
        self._create_problems: dict[str, tuple[str, float]] = {}
        self.reserved: set[str] = set()

    # Runs

    def put_run(self, raw: Json) -> set[RunKey]:
        """Remembers a Run unless this state of it is known, or a newer one."""
        key, version = name_of(raw), version_of(raw)
        old = self.runs.get(key)
        same = old is not None and old.uid == uid_of(raw)
        if same and version and version <= self._versions.get(key, 0):
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
            self._unfinished[key[0]][key[1]] = self._peer(run)
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
        made = self._made_by.get(run.schedule[1], set())
        made.discard(key)
        if not made:
            self._made_by.pop(run.schedule[1], None)
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
        waiting = [peer for peer in self._unfinished[namespace].values() if not peer.holds]
        in_line = sorted(
            (peer for peer in waiting if peer.in_line), key=lambda peer: (peer.rank, peer.created, peer.name)
        )
        others = [peer for peer in waiting if peer.busy]
        return {(namespace, peer.name) for peer in [*in_line[:4], *others]}

    def unfinished(self, namespace: str) -> set[RunKey]:
        return {(namespace, name) for name in self._unfinished[namespace]}

    def peers(self, run: RunView) -> tuple[Peer, ...]:
        """The other unfinished Runs of its namespace."""
        found = (peer for peer in self._unfinished[run.namespace].values() if peer.uid != run.uid)
        return tuple(replace(peer, holds=True) if peer.uid in self.reserved else peer for peer in found)

    def _peer(self, run: RunView) -> Peer:
        reason = queued_for(run)
        return Peer(
            uid=run.uid,
            name=run.name,
            created=run.created,
            holds=run.holds,
            in_line=reason == "ConcurrencyLimit",
            busy=reason == "WorkspaceBusy",
            claim=run.claim,
            group=run.group,
            rank=rank_of(run.priority, self._priorities),
        )

    def _keys(self, uid: str) -> set[RunKey]:
        key = self._key_by_uid.get(uid)
        return {key} if key else set()

    def reserve(self, run: RunView, *, making: bool) -> set[RunKey]:
        """Keeps a place for a Run that has none while its Job is being made; who may take one that it gives back."""
        if making and not run.holds:
            self.reserved.add(run.uid)
        elif run.uid in self.reserved:
            self.reserved.discard(run.uid)
            return self.waiting_in(run.namespace)
        return set()

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

    def schedules_with_guild(self, guild: RunKey) -> set[RunKey]:
        """The RunSchedules whose template names a Guild."""
        return {key for key, view in self.schedules.items() if (key[0], view.guild) == guild}

    def schedule_guild(self, view: ScheduleView) -> Json | None:
        """The spec of the Guild that a schedule's template names, or None."""
        found = self.guilds.get((view.namespace, view.guild))
        return mapping(found.get("spec")) if found is not None else None

    def _runs_of_guild(self, guild: RunKey) -> set[RunKey]:
        runs = (self.runs[key] for key in self.unfinished(guild[0]))
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


def guild_name(run: RunView) -> str:
    return text(mapping(run.spec.get("guildRef")).get("name"), 253)


def queued_for(run: RunView) -> str:
    """The reason a Run waits for; empty where it does not."""
    queued = run.conditions.get("Queued", {})
    return text(queued.get("reason"), 80) if queued.get("status") == "True" else ""
