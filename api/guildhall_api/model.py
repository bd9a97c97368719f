"""What the fold accumulates: plain slotted objects that become the InteractionModel's wire form on demand."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from guildhall_contracts.base import cut
from guildhall_contracts.limits import MODEL_GAPS_MAX_COUNT, MODEL_TEXT_MAX_CHARS

Wire = dict[str, Any]

TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled"})


def prose(text: str) -> str:
    """Prose as operations carry it, cut by code points."""
    return cut(text, MODEL_TEXT_MAX_CHARS)


@lru_cache(maxsize=4096)
def _second_ms(second: str) -> int | None:
    try:
        return int(datetime.fromisoformat(second).replace(tzinfo=UTC).timestamp()) * 1000
    except ValueError:
        return None


def elapsed_seconds(start: str, end: str) -> float:
    """Seconds between two stamps, never below 0; 0 if one has the form of a date but is none."""
    begun = _second_ms(start[:19])
    done = begun if end[:19] == start[:19] else _second_ms(end[:19])
    if begun is None or done is None:
        return 0
    return max(0, done + int(end[20:23]) - begun - int(start[20:23])) / 1000


class Metrics:
    """Sums of one participant, operation or Run, who inherit it. `cost` is None for good once a price was unknown."""

    __slots__ = ("cached", "cost", "elapsed", "output", "tokens")

    def __init__(self) -> None:
        self.tokens = 0
        self.cached = 0
        self.output = 0
        self.cost: int | None = 0
        self.elapsed: float = 0

    def add(self, tokens: int, cached: int, output: int, cost: int | None) -> None:
        """Add one model call; a `cost` of None makes the sum unknown."""
        self.tokens += tokens
        self.cached += cached
        self.output += output
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    def metrics_to_wire(self) -> Wire:
        return {
            "tokens": self.tokens,
            "cachedPromptTokens": self.cached,
            "outputTokens": self.output,
            "costMicroUSD": self.cost,
            "elapsedSeconds": self.elapsed,
        }


class Participant(Metrics):
    """One who acts."""

    __slots__ = ("active", "id", "invocations", "kind", "role")

    def __init__(self, participant: str) -> None:
        super().__init__()
        prefix, _, name = participant.partition(":")
        self.id = participant
        self.kind = prefix
        self.role = name if prefix == "role" else None
        self.invocations = 0
        self.active = 0

    def to_wire(self) -> Wire:
        wire: Wire = {"id": self.id, "kind": self.kind}
        if self.role is not None:
            wire["role"] = self.role
        return wire | {"invocations": self.invocations, "active": self.active, "metrics": self.metrics_to_wire()}


class Operation(Metrics):
    """One declared operation; `parent_op` is the operation its `parent` names, if that is known."""

    __slots__ = (
        "destination", "details", "ended_at", "first_seq", "id", "kind", "last_seq", "outcome", "parent", "parent_op",
        "result", "role", "source", "stack", "started_at", "title",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        op: str,
        kind: str,
        parent: str | None,
        parent_op: "Operation | None",
        stack: tuple[str, ...],
        source: str,
        destination: str,
        role: str | None,
        title: str,
        started_at: str,
        seq: int,
    ) -> None:
        self.tokens = self.cached = self.output = 0
        self.cost = self.elapsed = 0
        self.id = op
        self.kind = kind
        self.parent = parent
        self.parent_op = parent_op
        self.stack = stack
        self.source = source
        self.destination = destination
        self.role = role
        self.title = title
        self.started_at = started_at
        self.ended_at: str | None = None
        self.outcome = "active"
        self.first_seq = seq
        self.last_seq = seq
        self.details = ""
        self.result = ""

    def to_wire(self) -> Wire:
        wire: Wire = {"id": self.id, "kind": self.kind}
        if self.parent is not None:
            wire["parent"] = self.parent
        wire |= {"stack": list(self.stack), "source": self.source, "destination": self.destination}
        if self.role is not None:
            wire["role"] = self.role
        wire |= {"title": self.title, "startedAt": self.started_at}
        if self.ended_at is not None:
            wire["endedAt"] = self.ended_at
        return wire | {
            "outcome": self.outcome,
            "firstSeq": self.first_seq,
            "lastSeq": self.last_seq,
            "details": self.details,
            "result": self.result,
            "metrics": self.metrics_to_wire(),
        }


class Model(Metrics):
    """The model of one Run while it grows. Only `fold` and `close` change it."""

    __slots__ = ("gaps", "head", "last_seq", "open", "operations", "participants", "task_op", "waiting")

    def __init__(self) -> None:
        super().__init__()
        self.head: Wire = {
            "uid": "", "guild": "", "roles": [], "task": "", "mode": "interactive", "private": False, "budget": {},
            "isolation": "unknown", "status": "pending", "attempt": 0, "unreadable": 0, "unknown": 0, "summary": "",
            "result": "", "artifacts": [], "errors": 0, "scripted": False, "plan": [], "changedFiles": [],
            "changedFilesTotal": 0,
        }  # fmt: skip
        self.last_seq = 0
        self.gaps: list[tuple[int, int]] = []
        self.participants: dict[str, Participant] = {}
        self.operations: dict[str, Operation] = {}
        self.open: dict[str, Operation] = {}
        self.task_op: Operation | None = None
        self.waiting = 0

    @property
    def ended(self) -> bool:
        """Whether the status is final."""
        return self.head["status"] in TERMINAL

    def participant(self, participant: str) -> Participant:
        """The participant of that id, added at the end if it is new."""
        known = self.participants.get(participant)
        if known is None:
            known = self.participants[participant] = Participant(participant)
        return known

    def gap(self, first: int, last: int) -> None:
        """Record that events `first..last` have not arrived."""
        self.gaps.append((first, last))
        if len(self.gaps) > MODEL_GAPS_MAX_COUNT:
            del self.gaps[0]

    def run_to_wire(self) -> Wire:
        """`InteractionModel.run` alone: what lists and status writers need, at a cost that does not grow."""
        return {
            **self.head,
            "lastSeq": self.last_seq,
            "gaps": [{"first": first, "last": last} for first, last in self.gaps],
            "metrics": self.metrics_to_wire(),
        }

    def to_wire(self) -> Wire:
        """The whole `InteractionModel`; an unknown cost is null, other absent fields are left out."""
        return {
            "v": 1,
            "run": self.run_to_wire(),
            "participants": [each.to_wire() for each in self.participants.values()],
            "operations": [each.to_wire() for each in self.operations.values()],
        }
