"""Why a pod does not start, in words its user can act on, and how long that is worth waiting for. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from guildhall_contracts.conditions import Reason

from guildhall_operator.config import Waits
from guildhall_operator.missing import made_for, missing
from guildhall_operator.records import CLAIM_EVENT, SANDBOX_EVENT, ContainerRecord, EventRecord, JobRecord, PodRecord

_PULL: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable"})
_PULL_NEVER: Final = frozenset({"InvalidImageName", "ErrImageNeverPull"})
_CANNOT_RUN: Final = frozenset({"CreateContainerError", "RunContainerError", "CrashLoopBackOff"})
SHOWN_AFTER_SECONDS: Final = 2.0  # what fails once and then works costs no write
_MOUNT_EVENTS: Final = frozenset({"FailedMount", "FailedAttachVolume"})


@dataclass(frozen=True, slots=True)
class Stall:
    """Something a pod waits for, at most `seconds` (None: as long as it takes). `queued`: it waits for room.

    `shown_seconds`: after how long people are told; what may pass by itself is not told at once.
    """

    reason: Reason
    message: str
    seconds: int | None
    retry: bool = False
    queued: bool = False
    shown_seconds: float = SHOWN_AFTER_SECONDS


def _refused(events: Iterable[EventRecord], waits: Waits) -> Stall | None:
    refused = next((event for event in events if event.reason == "FailedCreate"), None)
    if refused is None:
        return None
    if "exceeded quota" in refused.message or "failed quota" in refused.message:
        return Stall("QuotaExceeded", f"the namespace's quota admits no pod now: {refused.message}", None, queued=True)
    what = f"the cluster refuses the pod: {refused.message}; the platform team must allow it"
    return Stall("PolicyDenied", what, waits.refused_seconds)


def _image_of(container: ContainerRecord, name: str) -> str:
    return container.message or f"image of container '{name}' ({container.reason})"


def _cannot_run(name: str, container: ContainerRecord, waits: Waits) -> Stall:
    reason: Reason = "Internal" if name == "executor" else "WorkspaceFailed"
    return Stall(reason, f"{name}: {container.message or container.reason}", waits.mount_seconds)


def _mount(said: str, pod: PodRecord, waits: Waits) -> Stall:
    """Something is not mounted; where a person's object is not there, only a person helps, and is told at once."""
    words = missing(said, pod.namespace, pod.run)
    shown = 0 if words and not made_for(said, pod.run) else SHOWN_AFTER_SECONDS
    return Stall("MountFailed", words or said, waits.mount_seconds, shown_seconds=shown)


def _waiting(name: str, pod: PodRecord, waits: Waits) -> Stall | None:
    container = pod.container(name)
    if container.state != "waiting":
        return None
    found: Stall | None = None
    if container.reason in _PULL_NEVER:
        what = f"{name}: {_image_of(container, name)}; correct the image's name in a new Run"
        found = Stall("ImagePullFailed", what, 0)
    elif container.reason in _PULL:
        what = f"{name}: {_image_of(container, name)}; correct the image in a new Run, or give the node access to it"
        found = Stall("ImagePullFailed", what, waits.image_pull_seconds, retry=True)
    elif container.reason == "CreateContainerConfigError":
        found = _mount(f"{name}: {container.message}", pod, waits)
    elif container.reason in _CANNOT_RUN:
        found = _cannot_run(name, container, waits)
    return found


def _without_pod(job: JobRecord, events: Iterable[EventRecord], waits: Waits) -> Stall | None:
    if job.suspended:
        return Stall("Suspended", "the Job is suspended; its queue has not admitted it yet", None, queued=True)
    return _refused(events, waits)


def _no_volume(events: Mapping[str, tuple[EventRecord, ...]], waits: Waits) -> Stall | None:
    """A storage driver makes no volume for a claim of the Run. It may yet, so it has the time of a pod without node."""
    said = (event for found in events.values() for event in found if event.reason == CLAIM_EVENT)
    failed = next(said, None)
    if failed is None:
        return None
    theirs = "ask the platform team to mend the storage class (chart value storage.class)"
    workspace = failed.name.endswith("-workspace")
    remedy = f"name another class, size or template in a new Run (spec.workspace), or {theirs}" if workspace else theirs
    what = f"no volume is made for claim '{failed.name}': {failed.message}; {remedy}"
    return Stall("MountFailed", what, waits.unschedulable_seconds)


def _without_node(pod: PodRecord, waits: Waits) -> Stall | None:
    if not pod.unschedulable:
        return None
    if missing(pod.unschedulable, pod.namespace, pod.run):
        return _mount(pod.unschedulable, pod, waits)
    return Stall("Unschedulable", pod.unschedulable, waits.unschedulable_seconds, queued=True)


def _no_sandbox(pod: PodRecord, events: Iterable[EventRecord], waits: Waits) -> Stall | None:
    """The node's runtime makes no pod of this shape. A network that is not up yet says so too, so it has time."""
    failed = next((event for event in events if event.reason == SANDBOX_EVENT), None)
    if failed is None:
        return None
    remedy = "the platform team has to look at the node, its runtime class and the chart value runs.hostUsers"
    what = f"node '{pod.node}' cannot start the pod: {failed.message}; {remedy}"
    return Stall("Unschedulable", what, waits.unschedulable_seconds)


def stall(
    pod: PodRecord | None, job: JobRecord | None, events: Mapping[str, tuple[EventRecord, ...]], waits: Waits
) -> Stall | None:
    """What the attempt waits for now; None where it gets on, or has begun."""
    if pod is None:
        return _without_pod(job, events.get(job.uid, ()), waits) if job is not None else None
    if not pod.node and (found := _no_volume(events, waits) or _without_node(pod, waits)):
        return found
    for name in ("fetch", "publish", "prepare", "workshop", "executor"):
        found = _waiting(name, pod, waits)
        if found is not None:
            return found
    if pod.mounted or pod.container("prepare").state != "waiting":
        return None
    said = events.get(pod.uid, ())
    failed = next((event for event in said if event.reason in _MOUNT_EVENTS), None)
    return _mount(failed.message, pod, waits) if failed else _no_sandbox(pod, said, waits)
