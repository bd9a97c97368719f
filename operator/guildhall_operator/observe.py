"""Gathers what one plan needs from the caches. No call goes out here, so that a decision sees one moment."""

from dataclasses import dataclass, field

from guildhall_contracts.gate import Target

from guildhall_operator.actions import Observed
from guildhall_operator.config import Config
from guildhall_operator.run_view import RunView
from guildhall_operator.store import Store


@dataclass(slots=True)
class Surroundings:
    """What is known outside the run namespaces; `canary.py` keeps it fresh. Times are monotonic seconds."""

    gateway_ip: str | None = None
    server_ips: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    canary_at: float | None = None
    canary_problem: str = ""


@dataclass(slots=True)
class Waits:
    """Since when each Run waits for what, in monotonic seconds; forgotten when its plan no longer asks."""

    since: dict[str, dict[str, float]] = field(default_factory=dict)

    def ages(self, uid: str, now: float) -> dict[str, float]:
        return {name: now - then for name, then in self.since.get(uid, {}).items()}

    def keep(self, uid: str, names: frozenset[str], now: float) -> None:
        old = self.since.get(uid, {})
        kept = {name: old.get(name, now) for name in names}
        if kept:
            self.since[uid] = kept
        else:
            self.since.pop(uid, None)


@dataclass(slots=True)
class World:
    """Everything a plan may depend on but the time."""

    store: Store
    config: Config
    around: Surroundings = field(default_factory=Surroundings)
    waits: Waits = field(default_factory=Waits)


def observe(world: World, run: RunView, monotonic: float) -> Observed:
    """The world around `run` now."""
    store, config, around = world.store, world.config, world.around
    pods, jobs = store.pods(run), store.jobs(run)
    if run.finished and not run.delivering:
        return Observed(
            config,
            pods=pods,
            jobs=jobs,
            claims=store.claims(run.namespace),
            waits=world.waits.ages(run.uid, monotonic),
            create_problem=store.create_problem(run.uid, monotonic),
        )
    about = [*(pod.uid for pod in pods), *(job.uid for job in jobs.values()), *store.unbound_claims(run)]
    return Observed(
        config=config,
        guild=store.guild_of(run),
        pods=pods,
        jobs=jobs,
        events=store.events(about),
        claims=store.claims(run.namespace),
        claims_in_use=frozenset() if run.holds and not run.between else store.claims_used_by_others(run),
        policies=store.policies(run.namespace),
        peers=() if run.holds and not run.between else store.peers(run),
        waits=world.waits.ages(run.uid, monotonic),
        gateway_ip=around.gateway_ip,
        targets=around.targets,
        canary_age_seconds=None if around.canary_at is None else monotonic - around.canary_at,
        canary_problem=around.canary_problem,
        frozen=store.frozen.get(run.uid),
        create_problem=store.create_problem(run.uid, monotonic),
    )
