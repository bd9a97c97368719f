"""Everything the operator remembers, indexed by what a plan asks: Runs, what was made for them, what is around them.

Changes return the keys of Runs to look at again.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from guildhall_contracts.limits import WARNINGS_KEPT_MAX_COUNT
from guildhall_contracts.snapshot import RUN_LABEL

from guildhall_operator.missing import SUMMARY
from guildhall_operator.names import claim_names
from guildhall_operator.records import (
    ClaimRecord,
    EventRecord,
    JobRecord,
    Json,
    PodRecord,
    claim_record,
    claims_in_use,
    event_record,
    first_pod,
    job_record,
    pod_record,
)
from guildhall_operator.run_view import RunView
from guildhall_operator.runs import RunKey, Runs, name_of, uid_of


@dataclass(frozen=True, slots=True)
class ClaimUse:
    run: str  # uid, or empty for a pod of somebody else
    claims: frozenset[str]


class Store(Runs):
    """The caches."""

    def __init__(self, priorities: Sequence[str] = ()) -> None:
        super().__init__(priorities)
        self._pods: dict[str, dict[str, PodRecord]] = defaultdict(dict)
        self._jobs: dict[str, dict[str, JobRecord]] = defaultdict(dict)
        self._events: dict[str, dict[str, EventRecord]] = {}
        self._owner: dict[str, str] = {}  # uid of a pod or Job -> uid of its Run
        self._claims: dict[str, dict[str, ClaimRecord]] = defaultdict(dict)
        self._claim_uses: dict[str, dict[str, ClaimUse]] = defaultdict(dict)
        self._policies: dict[str, dict[str, Json]] = defaultdict(dict)
        self._expected: dict[str, asyncio.Event] = {}  # by uid of a Run whose Job was just made

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
        if record.run in self._expected:
            self._expected[record.run].set()
        return changed | self._keys(record.run)

    async def pod_made(self, run: RunView, attempt: int, seconds: float) -> PodRecord | None:
        """The run pod of an attempt as soon as the watch shows it; None where it does not within `seconds`."""
        seen = self._expected.setdefault(run.uid, asyncio.Event())
        try:
            async with asyncio.timeout(seconds):
                while (pod := first_pod(self.pods(run), attempt)) is None:
                    seen.clear()
                    await seen.wait()
        except TimeoutError:
            return None
        finally:
            self._expected.pop(run.uid, None)
        return pod

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
        known = self._events.get(record.about, {}).get(record.reason) if record is not None else None
        if record is None or known == record or (known is not None and record.message.startswith(SUMMARY)):
            return set()  # a summary tells less than what it sums up
        while len(self._events) >= WARNINGS_KEPT_MAX_COUNT:
            self._events.pop(next(iter(self._events)))
        self._events.setdefault(record.about, {})[record.reason] = record
        return self._keys(self._owner.get(record.about, ""))

    def events(self, uids: Iterable[str]) -> dict[str, tuple[EventRecord, ...]]:
        return {uid: tuple(self._events[uid].values()) for uid in uids if uid in self._events}

    # Claims and policies

    def put_claim(self, raw: Json) -> set[RunKey]:
        record = claim_record(raw)
        known = self._claims[record.namespace].get(record.name)
        self._claims[record.namespace][record.name] = record
        if record.run and record.uid:
            self._owner[record.uid] = record.run
        same = known is not None and (known.uid, known.deleting) == (record.uid, record.deleting)
        return set() if same else self._keys(record.run)  # of its volume, the pod that waits for it tells

    def drop_claim(self, raw: Json) -> set[RunKey]:
        namespace, name = name_of(raw)
        record = self._claims[namespace].pop(name, None)
        if record is None:
            return set()
        self._owner.pop(record.uid, None)
        self._events.pop(record.uid, None)
        return self._keys(record.run)

    def unbound_claims(self, run: RunView) -> list[str]:
        """The uids of claims made for a Run that have no volume yet."""
        found = (self._claims[run.namespace].get(name) for name in claim_names(run.name, run.uid))
        return [claim.uid for claim in found if claim is not None and claim.run == run.uid and not claim.bound]

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
        return self.unfinished(namespace)

    def drop_policy(self, raw: Json) -> set[RunKey]:
        namespace, name = name_of(raw)
        found = self._policies[namespace].pop(name, None)
        return self.unfinished(namespace) if found else set()

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
                    "labels": {RUN_LABEL: job.run},
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
