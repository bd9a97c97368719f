"""What the operator remembers of other objects: small records, taken from raw JSON without believing its shape.

Guards against one odd object stopping the watch for all others, and against memory growing with what pods carry.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.snapshot import ATTEMPT_LABEL, FETCH_LABEL, RESEND_LABEL, RUN_LABEL

MESSAGE_CONTAINERS: Final = frozenset({"prepare", "fetch", "publish", "executor"})
CLAIM_EVENT: Final = "ProvisioningFailed"  # said by a storage driver, of a claim
SANDBOX_EVENT: Final = "FailedCreatePodSandBox"  # said by a kubelet whose runtime cannot make such a pod
KEPT_EVENT_REASONS: Final = {
    "FailedCreate": ("Pod", "Job"),
    "FailedMount": ("Pod", "Job"),
    "FailedAttachVolume": ("Pod", "Job"),
    SANDBOX_EVENT: ("Pod",),
    CLAIM_EVENT: ("PersistentVolumeClaim",),
}

Json = Mapping[str, Any]


def mapping(value: Any) -> Json:
    """`value` where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) or isinstance(value, Mapping) else {}  # noqa: SIM101  the first is cheap


def items(value: Any) -> list[Json]:
    """The objects of a JSON array; anything else is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any, limit: int = limits.OBJECT_TEXT_MAX_CHARS) -> str:
    return value[:limit] if isinstance(value, str) else ""


def number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


@dataclass(frozen=True, slots=True)
class ContainerRecord:
    """One container's state: `waiting`, `running` or `terminated`, with the fields that tell why."""

    state: str = "waiting"
    reason: str = ""
    message: str = ""
    exit_code: int = 0
    started_at: str = ""
    finished_at: str = ""
    restarts: int = 0
    oom_killed_before: bool = False


@dataclass(frozen=True, slots=True)
class PodRecord:
    """One pod of a Run."""

    name: str
    namespace: str
    uid: str
    run: str
    attempt: int
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    node: str = ""
    created: str = ""
    deleting: str = ""
    deadline_seconds: int | None = None
    unschedulable: str = ""
    disruption: str = ""
    mounted: bool = False  # its volumes are mounted and its sandbox stands
    containers: Mapping[str, ContainerRecord] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        return self.phase in {"Succeeded", "Failed"}

    def container(self, name: str) -> ContainerRecord:
        return self.containers.get(name, ContainerRecord())


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One Job of a Run."""

    name: str
    namespace: str
    uid: str
    run: str
    suspended: bool = False
    failed: str = ""  # message of the Failed condition, or of the FailureTarget that comes before it
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class EventRecord:
    """The latest Warning of one reason about one object."""

    about: str  # uid
    reason: str
    message: str
    name: str = ""  # of the object


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """A PersistentVolumeClaim. `size`: a quantity, what its volume holds or, before there is one, what it asks for."""

    name: str
    namespace: str
    uid: str = ""
    run: str = ""
    read_only: bool = False
    group_consent: bool = False
    deleting: bool = False
    bound: bool = False
    storage_class: str = ""
    size: str = ""


def oldest(pods: Iterable[PodRecord]) -> PodRecord | None:
    """The pod that was made first."""
    return min(pods, key=lambda pod: (pod.created, pod.name), default=None)


def first_pod(pods: Iterable[PodRecord], attempt: int) -> PodRecord | None:
    """The run pod of an attempt: the first that was made, whatever came after it."""
    others = {RESEND_LABEL, FETCH_LABEL}
    return oldest(pod for pod in pods if pod.attempt == attempt and not others.intersection(pod.labels))


def _container(raw: Json, *, keep_message: bool) -> ContainerRecord:
    state = mapping(raw.get("state"))
    kind = next((name for name in ("terminated", "running", "waiting") if name in state), "waiting")
    about = mapping(state.get(kind))
    limit = limits.TERMINATION_MESSAGE_MAX_BYTES * 2
    keep = keep_message if kind == "terminated" else kind == "waiting"
    last = mapping(mapping(raw.get("lastState")).get("terminated"))
    return ContainerRecord(
        state=kind,
        reason=text(about.get("reason"), 80),
        message=text(about.get("message"), limit) if keep else "",
        exit_code=number(about.get("exitCode")),
        started_at=text(about.get("startedAt"), 32),
        finished_at=text(about.get("finishedAt"), 32),
        restarts=number(raw.get("restartCount")),
        oom_killed_before=last.get("reason") == "OOMKilled",
    )


def _containers(status: Json) -> dict[str, ContainerRecord]:
    found: dict[str, ContainerRecord] = {}
    for raw in [*items(status.get("initContainerStatuses")), *items(status.get("containerStatuses"))]:
        name = text(raw.get("name"), 63)
        found[name] = _container(raw, keep_message=name in MESSAGE_CONTAINERS)
    return found


def _condition(status: Json, kind: str) -> Json:
    return next((item for item in items(status.get("conditions")) if item.get("type") == kind), {})


def labels_of(raw: Json) -> dict[str, str]:
    found = mapping(mapping(raw.get("metadata")).get("labels"))
    return {key: value for key, value in found.items() if isinstance(key, str) and isinstance(value, str)}


def pod_record(raw: Json) -> PodRecord | None:
    """The record of a pod of a Run, whichever of its kinds; None for any other pod."""
    meta, spec, status = mapping(raw.get("metadata")), mapping(raw.get("spec")), mapping(raw.get("status"))
    labels = labels_of(raw)
    run = labels.get(RUN_LABEL) or labels.get(FETCH_LABEL)
    if run is None:
        return None
    attempt = labels.get(ATTEMPT_LABEL, "")
    scheduled = _condition(status, "PodScheduled")
    disruption = _condition(status, "DisruptionTarget")
    sandbox = _condition(status, "PodReadyToStartContainers")
    return PodRecord(
        name=text(meta.get("name"), 253),
        namespace=text(meta.get("namespace"), 63),
        uid=text(meta.get("uid"), 64),
        run=run,
        attempt=int(attempt) if attempt.isascii() and attempt.isdigit() and len(attempt) < 4 else 0,
        phase=text(status.get("phase"), 20) or "Pending",
        reason=text(status.get("reason"), 80),
        message=text(status.get("message")),
        node=text(spec.get("nodeName"), 253),
        created=text(meta.get("creationTimestamp"), 32),
        deleting=text(meta.get("deletionTimestamp"), 32),
        deadline_seconds=number(spec.get("activeDeadlineSeconds")) or None,
        unschedulable=text(scheduled.get("message")) or "no node fits" if scheduled.get("status") == "False" else "",
        disruption=text(disruption.get("reason"), 80) if disruption.get("status") == "True" else "",
        mounted=sandbox.get("status") == "True",
        containers=_containers(status),
        labels=labels,
    )


def claims_in_use(raw: Json) -> frozenset[str]:
    """Names of the claims a pod that may still write holds."""
    if mapping(raw.get("status")).get("phase") in {"Succeeded", "Failed"}:
        return frozenset()
    volumes = items(mapping(raw.get("spec")).get("volumes"))
    names = (mapping(volume.get("persistentVolumeClaim")).get("claimName") for volume in volumes)
    return frozenset(name for name in names if isinstance(name, str))


def job_record(raw: Json) -> JobRecord | None:
    """The record of a Run's Job; None for any other Job."""
    meta = mapping(raw.get("metadata"))
    run = labels_of(raw).get(RUN_LABEL)
    if run is None:
        return None
    status = mapping(raw.get("status"))
    failed = next((c for c in (_condition(status, "Failed"), _condition(status, "FailureTarget")) if c), {})
    return JobRecord(
        name=text(meta.get("name"), 253),
        namespace=text(meta.get("namespace"), 63),
        uid=text(meta.get("uid"), 64),
        run=run,
        suspended=mapping(raw.get("spec")).get("suspend") is True,
        failed=text(failed.get("message")) or "the Job failed" if failed.get("status") == "True" else "",
        deleting=bool(meta.get("deletionTimestamp")),
    )


def event_record(raw: Json) -> EventRecord | None:
    """The record of a Warning that explains why a pod cannot start; None for any other Event."""
    about = mapping(raw.get("involvedObject"))
    reason = text(raw.get("reason"), 80)
    if raw.get("type") != "Warning" or about.get("kind") not in KEPT_EVENT_REASONS.get(reason, ()):
        return None
    message, name = text(raw.get("message"), 1_000), text(about.get("name"), 253)
    return EventRecord(about=text(about.get("uid"), 64), reason=reason, message=message, name=name)


CONSENT_ANNOTATION: Final = "guildhall.dev/fs-group"


def claim_record(raw: Json) -> ClaimRecord:
    meta, spec, status = mapping(raw.get("metadata")), mapping(raw.get("spec")), mapping(raw.get("status"))
    asked = mapping(mapping(spec.get("resources")).get("requests"))
    return ClaimRecord(
        name=text(meta.get("name"), 253),
        namespace=text(meta.get("namespace"), 63),
        uid=text(meta.get("uid"), 64),
        run=labels_of(raw).get(RUN_LABEL, ""),
        read_only=spec.get("accessModes") == ["ReadOnlyMany"],
        group_consent=mapping(meta.get("annotations")).get(CONSENT_ANNOTATION) == "allow",
        deleting=bool(meta.get("deletionTimestamp")),
        bound=status.get("phase") == "Bound",
        storage_class=text(spec.get("storageClassName"), 253),
        size=text(mapping(status.get("capacity")).get("storage"), 64) or text(asked.get("storage"), 64),
    )
