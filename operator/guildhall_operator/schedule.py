"""What one RunSchedule needs at one moment: a Run for the time that is due, and none twice. Pure and level-triggered.

Guards against a flood after a downtime (at most the last time is made up for) and against doubles: a Run's name follows
from its schedule's uid and its time, so that making it again finds it there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, get_args

from guildhall_contracts.base import first_problem
from guildhall_contracts.limits import (
    SCHEDULE_ACTIVE_SHOWN_MAX_COUNT,
    SCHEDULE_CHECK_MAX_SECONDS,
    STATUS_MESSAGE_MAX_CHARS,
)
from guildhall_contracts.schedule import RunScheduleSpec, ScheduleReason
from pydantic import ValidationError

from guildhall_operator import cron, names
from guildhall_operator.actions import Deletion
from guildhall_operator.manifests.owner import API_VERSION
from guildhall_operator.records import Json, items, mapping, number, text
from guildhall_operator.run_view import RunView
from guildhall_operator.status import Truth, condition, parse_stamp, stamp

SCHEDULE_LABEL: Final = "guildhall.dev/schedule"
TIME_ANNOTATION: Final = "guildhall.dev/scheduled-at"
_KEPT: Final = ("countedFrom", "lastScheduleTime", "lastSuccessfulTime", "lastRun")
_FALSE: Final = frozenset({"SpecInvalid", "GuildNotFound", "GuildInvalid", "RunRefused"})
_STICKY: Final = frozenset({"Missed", "Skipped", "RunRefused"})  # shown until a Run is made or the spec changes


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """One RunSchedule; `spec` and `status` are raw JSON and never believed."""

    name: str
    namespace: str
    uid: str
    generation: int
    created: str
    deleting: bool
    spec: Json
    status: Json

    @property
    def key(self) -> tuple[str, str]:
        return (self.namespace, self.name)

    @property
    def guild(self) -> str:
        """The name of the Guild that the template refers to; empty where it holds one, or is of another shape."""
        template = mapping(mapping(self.spec.get("runTemplate")).get("spec"))
        return text(mapping(template.get("guildRef")).get("name"), 253)


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """What to do now, in this order: create, status, cancel, delete. `note` is an Event: reason and message."""

    create: dict[str, Any] | None = None
    status: dict[str, Any] | None = None
    cancel: tuple[str, ...] = ()
    deletions: tuple[Deletion, ...] = ()
    note: tuple[str, str] | None = None
    requeue_seconds: float = SCHEDULE_CHECK_MAX_SECONDS


def schedule_view(raw: Json) -> ScheduleView:
    """The view of a raw RunSchedule."""
    meta = mapping(raw.get("metadata"))
    return ScheduleView(
        name=text(meta.get("name"), 253),
        namespace=text(meta.get("namespace"), 63),
        uid=text(meta.get("uid"), 64),
        generation=number(meta.get("generation")),
        created=text(meta.get("creationTimestamp"), 32),
        deleting=bool(meta.get("deletionTimestamp")),
        spec=mapping(raw.get("spec")),
        status=mapping(raw.get("status")),
    )


def run_name(view: ScheduleView, due: datetime) -> str:
    """One name for one time of one schedule, however often it is asked for."""
    return f"{names.slug(view.name)}-{view.uid[:8]}-{int(due.timestamp()) // 60}"


def run_manifest(view: ScheduleView, spec: RunScheduleSpec, due: datetime) -> dict[str, Any]:
    """The Run for one time: the template as it stands, in scheduled mode, owned by its schedule."""
    owner = {
        "apiVersion": API_VERSION,
        "kind": "RunSchedule",
        "name": view.name,
        "uid": view.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "Run",
        "metadata": {
            "name": run_name(view, due),
            "namespace": view.namespace,
            "labels": {**spec.run_template.labels, SCHEDULE_LABEL: view.uid},
            "annotations": {TIME_ANNOTATION: stamp(due)},
            "ownerReferences": [owner],
        },
        "spec": {**mapping(mapping(view.spec.get("runTemplate")).get("spec")), "mode": "scheduled"},
    }


def _parsed(view: ScheduleView, now: datetime) -> RunScheduleSpec | str:
    try:
        spec = RunScheduleSpec.model_validate(view.spec)
    except ValidationError as error:
        return "spec.{}: {}".format(*first_problem(error))
    return cron.problem(spec.schedule, spec.time_zone, now) or spec


def _changed(view: ScheduleView) -> bool:
    """Whether the spec is another than the one the status speaks about. A schedule nobody looked at is not changed."""
    return number(view.status.get("observedGeneration")) not in {0, view.generation}


def counted_from(view: ScheduleView, now: datetime) -> datetime:
    """Times up to this one are done with."""
    if _changed(view):
        return now
    return parse_stamp(view.status.get("countedFrom")) or parse_stamp(view.created) or now


def _condition(view: ScheduleView, reason: ScheduleReason, message: str, now: datetime) -> dict[str, Any]:
    old = next((c for c in items(view.status.get("conditions")) if c.get("type") == "Accepted"), {})
    status: Truth = "False" if reason in _FALSE else "True"
    return condition(old, ("Accepted", status, reason, message), view.generation, stamp(now))


def _as_before(view: ScheduleView) -> tuple[ScheduleReason, str]:
    """What the condition goes on to say where nothing happened."""
    old = next((c for c in items(view.status.get("conditions")) if c.get("type") == "Accepted"), {})
    reason = old.get("reason")
    if reason in _STICKY and reason in get_args(ScheduleReason) and not _changed(view):
        return reason, text(old.get("message"), STATUS_MESSAGE_MAX_CHARS)
    return "Accepted", ""


def _status(
    view: ScheduleView, runs: Sequence[RunView], said: tuple[ScheduleReason, str], now: datetime, **fields: str | None
) -> dict[str, Any]:
    """The whole status; `fields` are times and names that moved."""
    kept = {name: view.status.get(name) for name in _KEPT}
    active = sorted(run.name for run in runs if not run.finished)
    good = [text(run.status.get("completionTime"), 32) for run in runs if run.succeeded]
    kept["lastSuccessfulTime"] = max([*good, text(kept["lastSuccessfulTime"], 32)], default="")
    found: dict[str, Any] = {
        **kept,
        **fields,
        "observedGeneration": view.generation,
        "conditions": [_condition(view, *said, now)],
        "active": active[:SCHEDULE_ACTIVE_SHOWN_MAX_COUNT],
        "activeCount": len(active),
    }
    return {name: value for name, value in found.items() if value not in (None, "", [])}


def _too_many(spec: RunScheduleSpec, view: ScheduleView, runs: Sequence[RunView]) -> tuple[Deletion, ...]:
    """Sealed Runs beyond what is kept, the oldest first."""
    over = sorted((run for run in runs if run.finished and run.was_sealed), key=lambda run: (run.created, run.name))
    good, bad = [run for run in over if run.succeeded], [run for run in over if not run.succeeded]
    limits = ((good, spec.successful_runs_history_limit), (bad, spec.failed_runs_history_limit))
    gone = [run for found, limit in limits for run in found[: max(0, len(found) - limit)]]
    return tuple(Deletion("Run", view.namespace, run.name, run.uid) for run in gone if not run.deleting)


def refused(
    view: ScheduleView, runs: Sequence[RunView], plan: SchedulePlan, problem: str, now: datetime
) -> dict[str, Any]:
    """The status after the cluster refused the Run of `plan`: its time is done with, the next is tried again."""
    due = mapping(mapping(mapping(plan.create).get("metadata")).get("annotations")).get(TIME_ANNOTATION)
    following = text(mapping(plan.status).get("nextScheduleTime"), 32)
    counted = text(due, 32) or stamp(now)
    return _status(view, runs, ("RunRefused", problem), now, countedFrom=counted, nextScheduleTime=following)


def _decide(
    view: ScheduleView, spec: RunScheduleSpec, runs: Sequence[RunView], due: datetime, now: datetime
) -> tuple[bool, tuple[ScheduleReason, str]]:
    """Whether a Run is made for `due`, and what is said."""
    late = (now - due).total_seconds()
    if spec.starting_deadline_seconds is not None and late > spec.starting_deadline_seconds:
        return False, ("Missed", f"{stamp(due)} was found {late:.0f} s late (startingDeadlineSeconds)")
    active = next((run.name for run in runs if not run.finished), "")
    if active and spec.concurrency_policy == "Forbid":
        return False, ("Skipped", f"{stamp(due)}: Run '{active}' was not over (concurrencyPolicy Forbid)")
    return True, ("Accepted", "")


def due_time(view: ScheduleView, spec: RunScheduleSpec, now: datetime) -> datetime | None:
    """The last time that is not done with; None where none is due."""
    if spec.suspend:
        return None
    return cron.latest(spec.schedule, spec.time_zone, counted_from(view, now), now)


def schedule_plan(
    view: ScheduleView, runs: Sequence[RunView], now: datetime, doubt: tuple[ScheduleReason, str] | None = None
) -> SchedulePlan:
    """What to do now for a schedule and the Runs that are its. `doubt` is why they would be refused as things stand:
    people are told before the time, and the Run that is made then all the same says so itself."""
    if view.deleting:
        return SchedulePlan()
    spec = _parsed(view, now)
    if isinstance(spec, str):
        status = _status(view, runs, ("SpecInvalid", spec), now)
        return SchedulePlan(status=status if status != view.status else None)
    return _planned(view, spec, runs, now, doubt)


def _planned(
    view: ScheduleView,
    spec: RunScheduleSpec,
    runs: Sequence[RunView],
    now: datetime,
    doubt: tuple[ScheduleReason, str] | None,
) -> SchedulePlan:
    due = due_time(view, spec, now)
    upcoming = None if spec.suspend else cron.following(spec.schedule, spec.time_zone, now)
    moved: dict[str, str | None] = {"nextScheduleTime": stamp(upcoming) if upcoming else None}
    said: tuple[ScheduleReason, str] = ("Suspended", "") if spec.suspend else doubt or _as_before(view)
    counted = counted_from(view, now)
    make, note, create = False, None, None
    if due is not None:
        make, said = _decide(view, spec, runs, due, now)
        counted = due
        if make:
            create = run_manifest(view, spec, due)
            moved |= {"lastScheduleTime": stamp(due), "lastRun": create["metadata"]["name"]}
        note = ("Scheduled", f"Run '{run_name(view, due)}' for {stamp(due)}") if make else said
        said = doubt or said
    status = _status(view, runs, said, now, countedFrom=stamp(counted), **moved)
    replaced = tuple(run.name for run in runs if not run.finished and not run.cancelled and run.name != _name(create))
    wait = (upcoming - now).total_seconds() + 0.05 if upcoming else SCHEDULE_CHECK_MAX_SECONDS
    return SchedulePlan(
        create=create,
        status=status if status != view.status else None,
        cancel=replaced if make and spec.concurrency_policy == "Replace" else (),
        deletions=_too_many(spec, view, runs),
        note=note,
        requeue_seconds=min(max(wait, 0.1), SCHEDULE_CHECK_MAX_SECONDS),
    )


def _name(create: dict[str, Any] | None) -> str:
    return str(create["metadata"]["name"]) if create else ""
