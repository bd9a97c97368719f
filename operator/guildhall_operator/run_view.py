"""A Run as the operator reads it: a thin view of the raw object, and the bounded form that is kept in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from guildhall_contracts.base import one_line
from guildhall_contracts.limits import PUBLISH_TITLE_MAX_CHARS

from guildhall_operator.records import Json, items, labels_of, mapping, number, text

KUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
_LARGE_FIELDS: Final = frozenset({"task", "guild"})
_FINISHED_FIELDS: Final = frozenset(
    {"cancel", "suspend", "ttlSecondsAfterFinished", "private", "retainSeconds", "workspace", "concurrencyGroup"}
)
_DELIVERING_FIELDS: Final = _FINISHED_FIELDS | {"deliver", "publish", "priority", "task"}
_FINISHED_STATUS: Final = frozenset({"result", "summary", "changes", "usage", "cost"})


@dataclass(frozen=True, slots=True)
class RunView:
    """One Run; `spec` and `status` are raw JSON and never believed."""

    name: str
    namespace: str
    uid: str
    generation: int
    created: str
    deleting: bool
    resource_version: str
    queue_name: str
    spec: Json
    status: Json
    schedule: tuple[str, str] = ("", "")  # name and uid of the RunSchedule that made it
    conditions: Mapping[str, Json] = field(init=False, compare=False, repr=False)  # by type; asked for all the time

    def __post_init__(self) -> None:
        found = {text(item.get("type"), 63): item for item in items(self.status.get("conditions"))}
        object.__setattr__(self, "conditions", found)

    @property
    def key(self) -> tuple[str, str]:
        return (self.namespace, self.name)

    @property
    def finished(self) -> bool:
        done = self.conditions.get("Succeeded", {})
        return done.get("status") in {"True", "False"}

    @property
    def succeeded(self) -> bool:
        return self.conditions.get("Succeeded", {}).get("status") == "True"

    @property
    def delivering(self) -> bool:
        """Whether it is over and its branch is not settled yet: until then everything of it is kept."""
        settled = self.conditions.get("Delivered", {}).get("status") in {"True", "False"}
        return self.finished and self.spec.get("deliver") == "branch" and not settled

    @property
    def was_sealed(self) -> bool:
        """Whether its record is complete, or was given up: nothing waits for it any more."""
        return "Sealed" in self.conditions

    @property
    def attempts(self) -> list[dict[str, Any]]:
        found = self.status.get("attempts")
        return [dict(item) for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []

    @property
    def started(self) -> bool:
        """Whether a Job was made for it."""
        return bool(self.attempts)

    @property
    def fetching(self) -> bool:
        """Whether its repository is being fetched: before its first attempt, and already in a place of its own."""
        ready = self.conditions.get("WorkspaceReady", {})
        return not self.finished and not self.started and ready.get("reason") == "Fetching"

    @property
    def between(self) -> bool:
        """Whether its last attempt is over and another may follow."""
        return not self.finished and bool(self.attempts) and bool(self.attempts[-1].get("endTime"))

    @property
    def stage(self) -> tuple[bool | int, ...]:
        """Changes when another part of a plan, or its schedule, has something to do with it from now on."""
        delivery = "Delivered" in self.conditions
        return (self.finished, self.was_sealed, self.fetching, self.between, delivery, len(self.attempts))

    @property
    def holds(self) -> bool:
        """Whether it has a place among the Runs of its namespace: a suspended one gave its place back."""
        return self.fetching or (self.started and not (self.between and self.attempts[-1].get("reason") == "Suspended"))

    @property
    def claim(self) -> str:
        """The user's claim it works on in place, or empty."""
        return text(mapping(mapping(self.spec.get("workspace")).get("claim")).get("name"), 253)

    @property
    def group(self) -> str:
        return text(self.spec.get("concurrencyGroup"), 63)

    @property
    def priority(self) -> str:
        return text(self.spec.get("priority"), 253)

    @property
    def cancelled(self) -> bool:
        return self.spec.get("cancel") is True

    @property
    def suspended(self) -> bool:
        return self.spec.get("suspend") is True


def run_view(raw: Json) -> RunView:
    """The view of a raw Run object, whole."""
    meta = mapping(raw.get("metadata"))
    return RunView(
        name=text(meta.get("name"), 253),
        namespace=text(meta.get("namespace"), 63),
        uid=text(meta.get("uid"), 64),
        generation=number(meta.get("generation")),
        created=text(meta.get("creationTimestamp"), 32),
        deleting=bool(meta.get("deletionTimestamp")),
        resource_version=text(meta.get("resourceVersion"), 64),
        queue_name=labels_of(raw).get(KUEUE_LABEL, ""),
        spec=mapping(raw.get("spec")),
        status=mapping(raw.get("status")),
        schedule=_schedule(meta),
    )


def _schedule(meta: Json) -> tuple[str, str]:
    owner = next((item for item in items(meta.get("ownerReferences")) if item.get("kind") == "RunSchedule"), {})
    return text(owner.get("name"), 253), text(owner.get("uid"), 64)


def _without(value: Json, names: frozenset[str]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in names}


def title_of(task: Any) -> str:
    """The first line of a task that says something: the title of the commit that may come of it."""
    lines = [line for line in text(task, 10_000).splitlines() if line.strip()]
    return one_line(lines[0].lstrip("# ") if lines else "", PUBLISH_TITLE_MAX_CHARS) or "-"


def slimmed(run: RunView) -> RunView:
    """The view without what no later decision needs: task and Guild once a Job exists, most fields once finished."""
    if not run.started and not run.finished:
        return run
    spec = _without(run.spec, _LARGE_FIELDS)
    status = run.status
    if run.spec.get("deliver") == "branch":
        spec["task"] = title_of(run.spec.get("task"))
    if run.finished:
        kept = _DELIVERING_FIELDS if run.delivering else _FINISHED_FIELDS
        spec = {key: item for key, item in spec.items() if key in kept}
        status = _without(status, _FINISHED_STATUS)
    return replace(run, spec=spec, status=status)


def rank_of(priority: str, priorities: Sequence[str]) -> int:
    """Whose turn comes first: 0 for the first class of the chart's list; a Run that names none comes after them all."""
    return priorities.index(priority) if priority in priorities else len(priorities)
