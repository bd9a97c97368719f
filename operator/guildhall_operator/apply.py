"""Does what a plan says, in an order that a crash between any two steps cannot turn into harm.

Created once (already there is done), status before anything is deleted, notes last.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from guildhall_contracts.limits import NOTE_MAX_CHARS, SNAPSHOT_MAX_BYTES
from guildhall_contracts.snapshot import RUN_LABEL, SNAPSHOT_FILE, RunSnapshot
from pydantic import ValidationError

from guildhall_operator.actions import Deletion, EndPod, Note, Plan
from guildhall_operator.client import APPLY, MERGE, Kube, KubeError
from guildhall_operator.manifests.owner import API_VERSION
from guildhall_operator.records import Json, items, labels_of, mapping, text
from guildhall_operator.run_view import RunView
from guildhall_operator.status import stamp
from guildhall_operator.store import Store

FIELD_MANAGER: Final = "guildhall-operator"
POD_SECONDS: Final = 0.25  # a Job controller that is not busy takes a tenth of it
_PATHS: Final = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "Run": f"/apis/{API_VERSION}/namespaces/{{}}/runs",
    "Guild": f"/apis/{API_VERSION}/namespaces/{{}}/guilds",
    "RunSchedule": f"/apis/{API_VERSION}/namespaces/{{}}/runschedules",
}
logger = logging.getLogger(__name__)


class CreateRefused(Exception):  # noqa: N818  reads as what it says
    """An object of a Run cannot be made: for good (a policy, a foreign object of that name), or for now (a quota)."""


class SnapshotDiffers(Exception):  # noqa: N818  reads as what it says
    """The snapshot was frozen before, from other facts: it is the one that counts."""

    def __init__(self, frozen: RunSnapshot) -> None:
        super().__init__(f"the snapshot of Run {frozen.run} was frozen before, with Guild {frozen.guild_digest[:12]}")
        self.frozen = frozen


def collection(kind: str, namespace: str) -> str:
    """The path of a collection."""
    return _PATHS[kind].format(namespace)


def _foreign(found: Json, manifest: dict[str, Any]) -> str:
    """Why what is there under our name was not made by us for this Run; empty where it was.

    Only the operator can give an object the label; a ConfigMap that can still be changed froze nothing.
    """
    uid = manifest["metadata"]["labels"][RUN_LABEL]
    if labels_of(found).get(RUN_LABEL) != uid:
        return f"lacks the label {RUN_LABEL}={uid}"
    owners = items(mapping(found.get("metadata")).get("ownerReferences"))
    if not any(owner.get("kind") == "Run" and owner.get("uid") == uid for owner in owners):
        return "has another owner"
    return "is not immutable" if manifest.get("immutable") and found.get("immutable") is not True else ""


def _check_snapshot(found: Json, manifest: dict[str, Any]) -> None:
    there = mapping(found.get("data")).get(SNAPSHOT_FILE)
    if there == manifest["data"][SNAPSHOT_FILE]:
        return
    try:
        frozen = RunSnapshot.model_validate_json(text(there, SNAPSHOT_MAX_BYTES))
    except ValidationError as error:
        where = f"ConfigMap '{manifest['metadata']['name']}'"
        raise CreateRefused(f"{where} holds a snapshot this version cannot read; create the Run again") from error
    raise SnapshotDiffers(frozen)


async def _take_what_is_there(kube: Kube, manifest: dict[str, Any]) -> None:
    """Accepts an object that a crash left behind. Raises CreateRefused for anybody else's, and SnapshotDiffers."""
    kind, meta = manifest["kind"], manifest["metadata"]
    try:
        found = await kube.call("GET", f"{collection(kind, meta['namespace'])}/{meta['name']}")
    except KubeError as error:
        if error.code == 404:  # which would mean that the Run is gone
            raise KubeError(409, "Conflict", f"{kind} '{meta['name']}' was there and is gone; try again") from error
        raise
    problem = _foreign(found, manifest)
    if problem:
        what = f"{kind} '{meta['name']}' is there already and {problem}, so it was not made for this Run; delete it"
        raise CreateRefused(what)
    if kind == "ConfigMap":
        _check_snapshot(found, manifest)


async def create(kube: Kube, store: Store, manifest: dict[str, Any]) -> None:
    """Creates one object once. Raises CreateRefused, SnapshotDiffers, KubeError."""
    kind, namespace = manifest["kind"], manifest["metadata"]["namespace"]
    try:
        made = await kube.call("POST", collection(kind, namespace), manifest, params={"fieldManager": FIELD_MANAGER})
    except KubeError as error:
        if error.code == 409 and error.reason == "AlreadyExists":
            await _take_what_is_there(kube, manifest)
            return
        if error.code in {400, 403, 422}:
            raise CreateRefused(f"{kind} '{manifest['metadata']['name']}': {error.message}") from error
        raise
    if kind == "Job":
        store.put_job(made)
    elif kind == "PersistentVolumeClaim":
        store.put_claim(made)


async def create_all(kube: Kube, store: Store, manifests: Sequence[dict[str, Any]]) -> None:
    """What a pod needs side by side, and its Job once all of that is there. Raises as `create` does."""
    needed = (create(kube, store, manifest) for manifest in manifests if manifest["kind"] != "Job")
    for result in await asyncio.gather(*needed, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
    for manifest in manifests:
        if manifest["kind"] == "Job":
            await create(kube, store, manifest)


def _is_suspended(store: Store, run: RunView, job: str) -> bool:
    found = store.jobs(run).get(job)
    return found is not None and found.suspended


async def _with_its_pod(hands: "Hands", run: RunView, plan: Plan) -> dict[str, Any] | None:
    """The status with the pod of a Job just made, where it appears at once: its name costs no write of its own."""
    attempts = (plan.status or {}).get("attempts") or [{}]
    made = {manifest["metadata"]["name"] for manifest in plan.create if manifest["kind"] == "Job"}
    last = attempts[-1]
    if last.get("job") not in made or _is_suspended(hands.store, run, last["job"]):
        return plan.status
    pod = await hands.store.pod_made(run, last["number"], hands.pod_seconds)
    if pod is None:
        return plan.status
    return {**(plan.status or {}), "attempts": [*attempts[:-1], {**last, "pod": pod.name, "podUid": pod.uid}]}


async def write_status(kube: Kube, kind: str, meta: Json, status: dict[str, Any]) -> dict[str, Any]:
    """Server-side apply of the operator's part of a status; the whole object as it is then.

    `meta`: namespace, name, and the uid where it must be that very object.
    """
    body = {"apiVersion": API_VERSION, "kind": kind, "metadata": meta, "status": status}
    path = f"{collection(kind, str(meta['namespace']))}/{meta['name']}/status"
    query = {"fieldManager": FIELD_MANAGER, "force": "true"}
    return await kube.call("PATCH", path, body, params=query, content_type=APPLY)


async def end_pod(kube: Kube, store: Store, act: EndPod) -> None:
    """Lowers the deadline; a pod that is gone or has ended is what was wanted."""
    path = f"/api/v1/namespaces/{act.namespace}/pods/{act.name}"
    try:
        store.put_pod(await kube.call("PATCH", path, {"spec": {"activeDeadlineSeconds": 1}}, content_type=MERGE))
    except KubeError as error:
        if error.code != 404:
            raise


async def delete(kube: Kube, store: Store, run: RunView, act: Deletion) -> None:
    """Deletes one object and what it owns; gone, or another of the same name, is done."""
    body: dict[str, Any] = {"propagationPolicy": "Background"}
    if act.uid:
        body["preconditions"] = {"uid": act.uid}
    try:
        await kube.call("DELETE", f"{collection(act.kind, act.namespace)}/{act.name}", body)
    except KubeError as error:
        if error.code not in {404, 409}:
            raise
    if act.kind == "Job":
        store.job_deleting(run, act.name)
    elif act.kind == "PersistentVolumeClaim":
        store.claim_deleting(act.namespace, act.name)


@dataclass(frozen=True, slots=True)
class Said:
    """An Event about an object of ours. `about` is all that makes it another Event than those before."""

    kind: str
    namespace: str
    name: str
    uid: str
    about: str
    reason: str
    message: str
    warning: bool


def event_of(said: Said, now: datetime) -> dict[str, Any]:
    """The Kubernetes Event; its name says what it is about, so that it is made once."""
    about = hashlib.sha256(f"{said.uid}/{said.about}".encode()).hexdigest()[:16]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{said.name[:200].rstrip('-.')}.{about}", "namespace": said.namespace},
        "involvedObject": {
            "apiVersion": API_VERSION,
            "kind": said.kind,
            "name": said.name,
            "namespace": said.namespace,
            "uid": said.uid,
        },
        "type": "Warning" if said.warning else "Normal",
        "reason": said.reason,
        "message": said.message[:NOTE_MAX_CHARS],
        "firstTimestamp": stamp(now),
        "lastTimestamp": stamp(now),
        "count": 1,
        "source": {"component": FIELD_MANAGER},
        "reportingComponent": "guildhall.dev/operator",
        "reportingInstance": FIELD_MANAGER,
    }


async def post(kube: Kube, said: Said, now: datetime) -> None:
    """Posts an Event; one that cannot be posted is logged, and work goes on."""
    try:
        await kube.call("POST", f"/api/v1/namespaces/{said.namespace}/events", event_of(said, now))
    except KubeError as error:
        if error.code != 409:
            logger.warning("event %s of %s %s/%s: %s", said.reason, said.kind, said.namespace, said.name, error)


def said_of(run: RunView, note: Note) -> Said:
    about = f"{note.attempt}/{note.reason}"
    return Said("Run", run.namespace, run.name, run.uid, about, note.reason, note.message, note.warning)


@dataclass(frozen=True, slots=True)
class Hands:
    """What acting needs; `wrote` is told of a Run as a status write left it."""

    kube: Kube
    store: Store
    wrote: Callable[[Json], None]
    pod_seconds: float = POD_SECONDS


async def apply(hands: Hands, run: RunView, plan: Plan, now: datetime) -> None:
    """Raises CreateRefused, SnapshotDiffers and KubeError; then nothing after the failed step was done."""
    kube, store = hands.kube, hands.store
    await create_all(kube, store, plan.create)
    status = await _with_its_pod(hands, run, plan) if plan.create else plan.status
    if status is not None:
        meta = {"name": run.name, "namespace": run.namespace, "uid": run.uid}
        hands.wrote(await write_status(kube, "Run", meta, status))
    for pod in plan.end_pods:
        await end_pod(kube, store, pod)
    for act in plan.deletions:
        await delete(kube, store, run, act)
    for note in plan.notes:
        await post(kube, said_of(run, note), now)
