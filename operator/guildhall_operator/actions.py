"""What a plan may ask for: data, so that deciding and doing stay apart and a plan can be compared whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from guildhall_contracts.conditions import Reason
from guildhall_contracts.gate import Target
from guildhall_contracts.snapshot import RunSnapshot

from guildhall_operator.config import Config
from guildhall_operator.records import ClaimRecord, EventRecord, JobRecord, Json, PodRecord

CREATE_AGAIN_SECONDS: Final = 5.0  # after the API server refused an object


@dataclass(frozen=True, slots=True)
class Deletion:
    """Delete one object, only if it still has this uid; it takes what it owns with it."""

    kind: Literal["Job", "PersistentVolumeClaim", "Run"]
    namespace: str
    name: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class EndPod:
    """Lower a pod's `activeDeadlineSeconds` to 1: SIGTERM within a second, log and termination message kept."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Note:
    """A Kubernetes Event about the Run; one for each reason and attempt."""

    reason: Reason
    message: str
    warning: bool
    attempt: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do now, in this order: create, status, end pods, delete, note.

    `status` is the whole of the operator's fields or None when nothing changes. `waiting` names what is being timed:
    the caller remembers since when and gives it back in `Observed.waits`.
    """

    create: tuple[dict[str, Any], ...] = ()
    status: dict[str, Any] | None = None
    end_pods: tuple[EndPod, ...] = ()
    deletions: tuple[Deletion, ...] = ()
    notes: tuple[Note, ...] = ()
    waiting: frozenset[str] = frozenset()
    requeue_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """Another unfinished Run of the namespace: enough to queue fairly."""

    uid: str
    name: str
    created: str
    holds: bool  # it has a Job, or one is being made
    in_line: bool = False  # it waits for nothing but a free place
    busy: bool = False  # it waits for a workspace or a group
    claim: str = ""
    group: str = ""
    rank: int = 0  # by its priority; the smallest goes first


@dataclass(frozen=True, slots=True)
class Observed:
    """The world around one Run. Ages are in seconds; None for a canary never proven."""

    config: Config
    guild: Json | None = None
    pods: tuple[PodRecord, ...] = ()
    jobs: Mapping[str, JobRecord] = field(default_factory=dict)
    events: Mapping[str, tuple[EventRecord, ...]] = field(default_factory=dict)
    claims: Mapping[str, ClaimRecord] = field(default_factory=dict)
    claims_in_use: frozenset[str] = frozenset()  # by pods of anyone else that may still write
    policies: tuple[Json, ...] = ()
    peers: tuple[Peer, ...] = ()
    waits: Mapping[str, float] = field(default_factory=dict)
    gateway_ip: str | None = None
    targets: tuple[Target, ...] = ()
    canary_age_seconds: float | None = None
    canary_problem: str = ""
    frozen: RunSnapshot | None = None  # the snapshot that was made before, where it differs from what would be made now
    create_problem: str = ""  # why the API server refused an object of this Run just now
