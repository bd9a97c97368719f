"""The Run an Intervention belongs to, decided: the one it names, and when it gets that owner, with which it goes. Pure.

Guards against words that outlive the Run they are about, and against a mistake that is gone before its author read why.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from guildhall_contracts import limits

from guildhall_gateway.mailbox import Turned
from guildhall_gateway.runs import InterventionView, RunView

_TO_DO: Final = (
    "Take name and uid from `kubectl get run NAME -o jsonpath='{.metadata.uid}'` and create another Intervention;"
    f" this one is removed after {limits.REFUSED_KEPT_SECONDS // 60} minutes"
)


@dataclass(frozen=True, slots=True)
class Named:
    """The Run an Intervention names."""

    name: str
    uid: str

    def owner(self) -> dict[str, str]:
        """The reference by which the cluster removes an Intervention with its Run, or for want of it."""
        return {"apiVersion": "guildhall.dev/v1alpha1", "kind": "Run", "name": self.name, "uid": self.uid}


def named(item: InterventionView) -> Named | None:
    """The Run that is named; None where that cannot be read, which admission lets nobody write."""
    ref = item.spec.get("runRef")
    found = (ref.get("name"), ref.get("uid")) if isinstance(ref, dict) else (None, None)
    name, uid = (text if isinstance(text, str) and text else None for text in found)
    return None if name is None or uid is None else Named(name, uid)


def is_of(item: InterventionView, run: RunView | None) -> bool:
    """Whether `run` is the one that is named, in the Intervention's own namespace."""
    return run is not None and named(item) == Named(run.name, run.uid) and item.namespace == run.namespace


def owner_wait_seconds(item: InterventionView, run: RunView | None, now: float) -> float | None:
    """How long until an Intervention gets its owner: 0 at once, None not as it stands. `now` in Unix seconds.

    One whose Run is not there would be removed in that moment, so what was refused can be read first."""
    if item.owned or named(item) is None:
        return None
    if is_of(item, run):
        return 0.0
    if item.state == "Refused":
        return max(0.0, min(_unix(item.stated), now) + limits.REFUSED_KEPT_SECONDS - now)
    return None if item.state is None else 0.0


def no_such_run(item: InterventionView, namesake: RunView | None) -> Turned:
    """What an Intervention is told that names no Run there is; `namesake`: the Run that has the name."""
    wanted = named(item) or Named("", "")
    what = f"Run {wanted.name} with uid {wanted.uid} in namespace {item.namespace}"
    why = (
        f"the Run of that name has another uid, so runRef.uid is of an earlier Run {wanted.name} or mistyped"
        if namesake is not None
        else "there is no Run of that name: it was deleted, or runRef.name is mistyped"
    )
    return Turned("Refused", f"there is no {what}; {why}. {_TO_DO}")


def _unix(text: str) -> float:
    """A time of a status in Unix seconds; one that cannot be read was long ago."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        return 0.0
