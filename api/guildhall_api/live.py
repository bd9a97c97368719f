"""One Run that is being followed: what memory knows of it, and which pod's log to read. No I/O but the history's."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from guildhall_contracts.events import Unreadable, decode_event
from guildhall_contracts.snapshot import ATTEMPT_LABEL, RESEND_LABEL

from guildhall_api.fold import fold
from guildhall_api.history import History, intake_of
from guildhall_api.hub import Channel, Cursor, Item, row_line
from guildhall_api.intake import Taken
from guildhall_api.model import Model
from guildhall_api.records import StoredRun
from guildhall_api.resources import EXECUTOR_CONTAINER, Resource
from guildhall_api.summaries import TERMINAL_PHASES, part, phase_name

_ENDED_PHASES: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True)
class Target:
    """A pod whose executor's log is to be read. `started`: there is a log; `ended`: it will not grow."""

    pod: str
    uid: str
    attempt: int
    started: bool
    ended: bool


def target_of(resource: Resource, pods: Sequence[Resource]) -> Target | None:
    """The pod the operator recorded for the current attempt; only it is believed."""
    attempts = part(resource, "status", "attempts")
    current = attempts[-1] if isinstance(attempts, list) and attempts else None
    uid = part(current, "podUid")
    number = part(current, "number")
    if not isinstance(uid, str) or not isinstance(number, int):
        return None
    for pod in pods:
        if part(pod, "metadata", "uid") == uid:
            return _target(pod, number)
    return None


def resend_targets(pods: Sequence[Resource]) -> list[Target]:
    """The pods that print the journal again after the executor is gone, round by round."""
    found = [pod for pod in pods if RESEND_LABEL in (part(pod, "metadata", "labels") or {})]
    found.sort(key=lambda pod: str(pod["metadata"]["labels"][RESEND_LABEL]))
    return [_target(pod, _attempt_of(pod)) for pod in found]


def _attempt_of(pod: Resource) -> int:
    label = part(pod, "metadata", "labels", ATTEMPT_LABEL)
    return int(label) if isinstance(label, str) and label.isdecimal() else 1


def _target(pod: Resource, attempt: int) -> Target:
    statuses = part(pod, "status", "containerStatuses") or []
    state = next((part(each, "state") for each in statuses if part(each, "name") == EXECUTOR_CONTAINER), None) or {}
    ended = "terminated" in state or part(pod, "status", "phase") in _ENDED_PHASES or bool(part(pod, "deleted"))
    started = "running" in state or "terminated" in state
    metadata = pod["metadata"]
    return Target(str(metadata.get("name")), str(metadata.get("uid")), attempt, started, ended)


class LiveRun:
    """A Run that exists in the cluster. `changed` wakes its follower; `model` is folded as far as is stored."""

    def __init__(self, resource: Resource, stored: StoredRun) -> None:
        self.resource = resource
        self.pods: dict[str, Resource] = {}
        self.key = stored.key
        self.sealed = stored.sealed
        self.summary: dict[str, Any] = stored.summary
        self.intake = intake_of(stored)
        self.model = Model()
        self.channel = Channel(time.monotonic)
        self.changed = asyncio.Event()
        self.deleted = False
        self.booked: dict[str, Any] | None = None
        self.tail: Literal["unknown", "wanted", "lost"] = "unknown"
        self.run_wire: dict[str, Any] = {}
        self.written: dict[bool, tuple[Model, Cursor, bytes]] = {}

    @property
    def uid(self) -> str:
        return self.intake.run

    @property
    def namespace(self) -> str:
        return str(self.resource["metadata"]["namespace"])

    @property
    def name(self) -> str:
        return str(self.resource["metadata"]["name"])

    @property
    def shown(self) -> dict[str, Any]:
        """The row as people see it now: with what the gateway has booked, if Run status does not say so yet."""
        known = self.summary.get("usage") or {}
        if self.booked is None or known.get("calls", 0) >= self.booked.get("calls", 0):
            return self.summary
        return self.summary | {"usage": self.booked}

    @property
    def over(self) -> bool:
        """Whether the cluster says this Run has ended."""
        return self.deleted or phase_name(self.resource) in TERMINAL_PHASES

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.intake.last_seq, self.intake.unreadable)

    def targets(self) -> list[Target]:
        """The logs to read, in order: the attempt's, then the journal printed again where something is missing."""
        pods = list(self.pods.values())
        own = target_of(self.resource, pods)
        found = [*([own] if own else []), *(resend_targets(pods) if self.missing_from else [])]
        return [target for target in found if target.started]

    @property
    def missing_from(self) -> int | None:
        """The first event to ask for again: where a hole begins, else where a log broke off that will not go on."""
        if self.intake.holes:
            return self.intake.holes[0][0]
        return self.intake.last_seq + 1 if self.tail == "wanted" and self.end_is_missing() else None

    def resend_pods(self) -> set[str]:
        """Uids of the pods that print or printed the journal again."""
        return {target.uid for target in resend_targets(list(self.pods.values()))}

    def end_is_missing(self) -> bool:
        """Whether the log was read to its end and the Run's end was not in it: a pod killed, evicted or gone."""
        began = bool(part(self.resource, "status", "startTime"))
        return began and not self.deleted and not self.model.ended and self.tail != "lost"

    @property
    def resending(self) -> bool:
        """Whether a pod that prints the journal again is at work, or about to be."""
        return any(not target.ended for target in resend_targets(list(self.pods.values())))

    async def reload(self, history: History) -> None:
        """Forget what memory says; fold what is stored."""
        stored = await history.find(uid=self.uid)
        if stored is None:
            raise LookupError(f"Run {self.uid} is no longer in the history")
        self.key, self.intake = stored.key, intake_of(stored)
        await self.refold(history)

    async def refold(self, history: History) -> None:
        self.model = await fold_stored(history, self.key, self.intake.unreadable)
        self.run_wire = self.model.run_to_wire()

    def forget(self) -> None:
        """Sealed: history has the model now, memory needs it no longer."""
        self.model, self.written = Model(), {}

    def take_in(self, taken: Sequence[Taken]) -> None:
        """Fold what was just stored."""
        for each in taken:
            fold(self.model, each.event)
        self.model.head["unreadable"] = self.intake.unreadable
        self.run_wire = self.model.run_to_wire()


async def fold_stored(history: History, key: int, unreadable: int) -> Model:
    """The model of everything stored; it lets others work between pages."""
    model = Model()
    async for page in history.all_lines(key):
        for _, line in page:
            fold(model, decode_event(line, model.last_seq))
        await asyncio.sleep(0)
    model.head["unreadable"] = unreadable
    return model


def item_of(at: Cursor, thing: Taken | Unreadable) -> Item:
    return Item(at, row_line(thing) if isinstance(thing, Unreadable) else thing.line)


def model_json(model: Model, *, slim: bool = False) -> bytes:
    """The model's JSON; `slim` leaves the operations' prose empty."""
    wire = model.to_wire()
    if slim:
        for operation in wire["operations"]:
            operation["details"] = operation["result"] = ""
    return json.dumps(wire, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")


async def seal(history: History, key: int, model: Model) -> None:
    """Keep the fold of a log that has ended."""
    full, slim = await asyncio.to_thread(lambda: (model_json(model), model_json(model, slim=True)))
    await history.seal(key, model.run_to_wire(), len(model.operations), full, slim)
