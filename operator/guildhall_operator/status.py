"""The operator's part of a Run's status: built from what is there, compared before it is written."""

from datetime import UTC, datetime
from typing import Any, Final, Literal

from guildhall_contracts import limits
from guildhall_contracts.base import one_line
from guildhall_contracts.conditions import Condition, ConditionType, Reason, phase_of
from pydantic import ValidationError

from guildhall_operator.records import Json, items, text
from guildhall_operator.run_view import RunView

OWNED_FIELDS: Final = (
    "observedGeneration",
    "conditions",
    "phase",
    "reason",
    "guild",
    "guildDigest",
    "entryRole",
    "budget",
    "source",
    "delivery",
    "attempts",
    "startTime",
    "completionTime",
    "duration",
)
_ORDER: Final = (
    "Accepted",
    "Queued",
    "WorkspaceReady",
    "IsolationVerified",
    "Running",
    "AwaitingHuman",
    "Succeeded",
    "Delivered",
    "Sealed",
)
Truth = Literal["True", "False", "Unknown"]


def stamp(now: datetime) -> str:
    """RFC 3339 in whole seconds, as Kubernetes writes it."""
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_stamp(value: Any) -> datetime | None:
    """The time a Kubernetes timestamp names; None for anything else."""
    try:
        return datetime.fromisoformat(text(value, 40))
    except ValueError:
        return None


def seconds_since(value: Any, now: datetime) -> float | None:
    """Seconds from a timestamp to `now`, never negative; None where there is no timestamp."""
    then = parse_stamp(value)
    return max(0.0, (now - then).total_seconds()) if then is not None and then.tzinfo is not None else None


def duration_text(seconds: float) -> str:
    """`45s`, `3m12s`, `2h5m`, `1d4h`: two units at most, for the printer column."""
    whole = int(seconds)
    for size, unit, next_size, next_unit in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            rest = whole % size // next_size
            return f"{whole // size}{unit}" + (f"{rest}{next_unit}" if rest else "")
    return f"{whole}s"


def condition(old: Json, said: tuple[str, Truth, str, str], generation: int, now: str) -> dict[str, Any]:
    """A condition that follows `old`, which may be empty: its transition time moves only with its status.

    `said`: type, status, reason and message.
    """
    kind, status, reason, message = said
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": one_line(message, limits.STATUS_MESSAGE_MAX_CHARS),
        "observedGeneration": generation,
        "lastTransitionTime": old.get("lastTransitionTime", now) if old.get("status") == status else now,
    }


def _known(item: Json) -> dict[str, Any] | None:
    """A condition as we write them; one of another shape is dropped, not carried on."""
    try:
        return Condition.model_validate(item).to_wire()
    except ValidationError:
        return None


class Draft:
    """The status being written: starts from what the Run has, changes only what differs."""

    def __init__(self, run: RunView, now: datetime) -> None:
        self._run = run
        self._now = stamp(now)
        found = (_known(item) for item in items(run.status.get("conditions")))
        self._conditions = {item["type"]: item for item in found if item is not None}
        kept = {name: run.status[name] for name in OWNED_FIELDS if name in run.status}
        self.fields: dict[str, Any] = {**kept, "attempts": run.attempts}

    def set(self, kind: ConditionType, status: Truth, reason: Reason, message: str = "") -> None:
        """Sets a condition; its transition time moves only with its status, and an equal one is left alone."""
        bounded = one_line(message, limits.STATUS_MESSAGE_MAX_CHARS)
        old = self._conditions.get(kind, {})
        if (old.get("status"), old.get("reason"), old.get("message", "")) == (status, reason, bounded):
            return
        self._conditions[kind] = condition(old, (kind, status, reason, bounded), self._run.generation, self._now)

    def get(self, kind: ConditionType) -> dict[str, Any]:
        return self._conditions.get(kind, {})

    def is_true(self, kind: ConditionType) -> bool:
        return self.get(kind).get("status") == "True"

    @property
    def now(self) -> str:
        return self._now

    @property
    def finished(self) -> bool:
        return self.get("Succeeded").get("status") in {"True", "False"}

    @property
    def attempt(self) -> dict[str, Any]:
        """The current attempt's entry; an empty one where none was made."""
        listed = self.fields["attempts"]
        return listed[-1] if listed else {}

    def end(self, status: Truth, reason: Reason, message: str, at: str = "") -> None:
        """The Run is over. A second end is ignored: the first reason is the true one."""
        if self.finished:
            return
        when = at or self._now
        self.set("Succeeded", status, reason, message)
        if self.get("Running"):
            self.set("Running", "False", "Ended", "")
        if self.get("Queued"):
            self.set("Queued", "False", "Ended", "")
        if self.is_true("AwaitingHuman"):
            self.set("AwaitingHuman", "False", "NothingOpen", "")
        self.fields["completionTime"] = when
        if self.attempt and "endTime" not in self.attempt:
            self.attempt["endTime"], self.attempt["reason"] = when, reason
        since = parse_stamp(self.fields.get("startTime"))
        until = parse_stamp(when)
        if since and until:
            self.fields["duration"] = duration_text(max(0.0, (until - since).total_seconds()))

    def _headline(self) -> tuple[str, str]:
        """The one reason and message people see first."""
        if self.finished:
            about = self.get("Succeeded")
        elif self.is_true("Queued"):
            about = self.get("Queued")
        elif self.is_true("AwaitingHuman"):
            about = self.get("AwaitingHuman")
        elif self.get("Running"):
            about = self.get("Running")
        else:
            about = self.get("Accepted")
        reason = about.get("reason", "Pending")
        return ("Preparing" if reason == "NotStarted" else reason), about.get("message", "")

    @property
    def message(self) -> str:
        return self._headline()[1]

    def to_status(self) -> dict[str, Any]:
        """The whole of the operator's fields, in a fixed order."""
        conditions = [self._conditions[kind] for kind in _ORDER if kind in self._conditions]
        records = [Condition.model_validate(item) for item in conditions]
        fields = {
            **self.fields,
            "observedGeneration": self._run.generation,
            "conditions": conditions,
            "phase": phase_of(records),
            "reason": self._headline()[0],
        }
        return {name: fields[name] for name in OWNED_FIELDS if name in fields and fields[name] not in (None, [], "")}


def of_others(run: RunView) -> tuple[object, ...]:
    """What anybody but the operator may change in a Run."""
    rest = {name: value for name, value in run.status.items() if name not in OWNED_FIELDS}
    return (run.spec, run.deleting, run.queue_name, rest)


def owned(run: RunView) -> dict[str, Any]:
    """The operator's fields as the Run has them now."""
    return {name: run.status[name] for name in OWNED_FIELDS if name in run.status}
