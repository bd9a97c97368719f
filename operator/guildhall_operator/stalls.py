"""Why a pod does not start, in words its user can act on, and how long that is worth waiting for. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from guildhall_contracts.conditions import Reason

from guildhall_operator.config import Waits
from guildhall_operator.records import ContainerRecord, EventRecord, JobRecord, PodRecord

_PULL: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable"})
_PULL_NEVER: Final = frozenset({"InvalidImageName", "ErrImageNeverPull"})
_CANNOT_RUN: Final = frozenset({"CreateContainerError", "RunContainerError", "CrashLoopBackOff"})
_MOUNT_EVENTS: Final = frozenset({"FailedMount", "FailedAttachVolume"})


@dataclass(frozen=True, slots=True)
class Stall:
    """Something a pod waits for, at most `seconds` (None: as long as it takes). `queued`: it waits for room."""

    reason: Reason
    message: str
    seconds: int | None
    retry: bool = False
    queued: bool = False


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


def _waiting(name: str, container: ContainerRecord, waits: Waits) -> Stall | None:
    if container.state != "waiting":
        return None
    found: Stall | None = None
    if container.reason in _PULL_NEVER:
        found = Stall("ImagePullFailed", f"{name}: {_image_of(container, name)}; correct the image's name", 0)
    elif container.reason in _PULL:
        what = f"{name}: {_image_of(container, name)}; correct the image or give the node access to it"
        found = Stall("ImagePullFailed", what, waits.image_pull_seconds, retry=True)
    elif container.reason == "CreateContainerConfigError":
        found = Stall("MountFailed", f"{name}: {container.message}", waits.mount_seconds)
    elif container.reason in _CANNOT_RUN:
        found = _cannot_run(name, container, waits)
    return found


def stall(
    pod: PodRecord | None, job: JobRecord | None, events: Mapping[str, tuple[EventRecord, ...]], waits: Waits
) -> Stall | None:
    """What the attempt waits for now; None where it gets on, or has begun."""
    if pod is None:
        if job is not None and job.suspended:
            return Stall("Suspended", "the Job is suspended; its queue has not admitted it yet", None, queued=True)
        return _refused(events.get(job.uid, ()), waits) if job is not None else None
    if pod.unschedulable and not pod.node:
        return Stall("Unschedulable", pod.unschedulable, waits.unschedulable_seconds, queued=True)
    for name in ("fetch", "publish", "prepare", "workshop", "executor"):
        found = _waiting(name, pod.container(name), waits)
        if found is not None:
            return found
    if pod.mounted or pod.container("prepare").state != "waiting":
        return None
    failed = next((event for event in events.get(pod.uid, ()) if event.reason in _MOUNT_EVENTS), None)
    return Stall("MountFailed", failed.message, waits.mount_seconds) if failed else None
