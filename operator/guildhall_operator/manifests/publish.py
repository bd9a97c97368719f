"""The Job that pushes a Run's patch to a new branch.

Guards the credential that may write: its pod sees one patch, read-only, and nothing else of the Run: no workspace, no
token, no gateway. It has the fetch pod's label for git's egress, and one of its own that tells what it is.
"""

from datetime import UTC, datetime
from typing import Any, Final

from guildhall_contracts.fetch import FetchedSource
from guildhall_contracts.publish import PublishRequest
from guildhall_contracts.run import Delivery, GitSource, RunSpec, Storage
from guildhall_contracts.snapshot import (
    ATTEMPT_LABEL,
    DELIVERY_FOLDER,
    DELIVERY_PATH,
    PUBLISH_LABEL,
    PUBLISH_SCRATCH_PATH,
    RUN_LABEL,
    WORKSHOP_UID,
)
from pydantic import ValidationError

from guildhall_operator import names
from guildhall_operator.config import Config, Fetcher
from guildhall_operator.manifests import containers
from guildhall_operator.manifests.fetch import (
    MEMORY_SHARE_PERCENT,
    TMP_MOUNT,
    environment,
    fetch_labels,
    git_pod,
    tmp_volume,
    trust_mounts,
    trust_volumes,
)
from guildhall_operator.manifests.job import once
from guildhall_operator.quantity import amount
from guildhall_operator.run_view import RunView, title_of
from guildhall_operator.status import parse_stamp, stamp

CONTAINER: Final = "publish"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
COMMAND: Final = ("python3", "-m", "guildhall_fetcher.publisher")


def publish_labels(run: RunView, number: int) -> dict[str, str]:
    """The labels of the publish pod; those of a fetch pod with a mark of its own instead of an attempt's."""
    common = {key: value for key, value in fetch_labels(run, number).items() if key != ATTEMPT_LABEL}
    return {**common, "app.kubernetes.io/component": "publish", PUBLISH_LABEL: str(number)}


def planned_publish_labels(run: RunView, number: int) -> dict[str, str]:
    """The same before the pod exists: the Job controller adds the Job's name."""
    name = names.publish_name(run.name, run.uid, number)
    return {**publish_labels(run, number), "job-name": name, "batch.kubernetes.io/job-name": name}


def git_of(spec: RunSpec) -> GitSource:
    """The repository. Raises ValueError without one, which acceptance saw to."""
    if spec.workspace is None or spec.workspace.git is None:
        raise ValueError("a delivery needs a git source")
    return spec.workspace.git


def secret_of(spec: RunSpec) -> str | None:
    """The Secret that pushes: the Run's own for it, else the one it was fetched with."""
    own = spec.publish.secret_ref if spec.publish else None
    chosen = own or git_of(spec).secret_ref
    return chosen.name if chosen else None


def scratch_size(spec: RunSpec) -> str:
    """Room for one commit's objects: what the whole workspace was given."""
    return ((spec.workspace.storage if spec.workspace else None) or Storage()).size


def base_of(run: RunView) -> str:
    """The commit the Run began with; empty where its status does not say."""
    try:
        return FetchedSource.model_validate(run.status.get("source")).commit
    except ValidationError:
        return ""


def publish_request(run: RunView, spec: RunSpec, fetcher: Fetcher, delivery: Delivery) -> PublishRequest:
    """What is asked of the publisher. The time is that of the Run's end, so that a retry makes the same commit."""
    ended = parse_stamp(run.status.get("completionTime")) or parse_stamp(run.created) or EPOCH
    return PublishRequest(
        url=git_of(spec).url,
        secret=secret_of(spec) is not None,
        schemes=fetcher.schemes,
        commit=base_of(run),
        branch=delivery.branch,
        patch_sha256=delivery.patch_sha256,
        title=title_of(spec.task),
        namespace=run.namespace,
        name=run.name,
        run=run.uid,
        at=stamp(ended),
        max_bytes=int(amount(scratch_size(spec))),
        memory_bytes=int(amount(fetcher.resources.memory)) * MEMORY_SHARE_PERCENT // 100,
        timeout_seconds=fetcher.timeout_seconds,
    )


def _resources(spec: RunSpec, fetcher: Fetcher) -> dict[str, Any]:
    """The scratch counts as the container's own disk; asked for is only what most repositories need."""
    found = containers.resources_of(
        fetcher.resources.cpu, fetcher.resources.memory, containers.TRUSTED_EPHEMERAL_STORAGE
    )
    size = scratch_size(spec)
    if amount(size) > amount(containers.TRUSTED_EPHEMERAL_STORAGE):
        found["limits"] = {**found["limits"], "ephemeral-storage": size}
    return found


def publish_job(run: RunView, spec: RunSpec, config: Config, request: PublishRequest, number: int) -> dict[str, Any]:
    """One delivery. The Job carries the Run's label, so that it is seen; its pod carries the fetcher's alone."""
    fetcher = config.fetcher
    if fetcher is None:
        raise ValueError("a delivery needs a fetcher")  # acceptance saw to it
    secret = secret_of(spec)
    patch = {"name": "journal", "mountPath": DELIVERY_PATH, "subPath": f"{run.uid}/{DELIVERY_FOLDER}", "readOnly": True}
    container = {
        **containers.base(CONTAINER, fetcher.image, config, WORKSHOP_UID),
        "command": [*COMMAND, "--workspace", PUBLISH_SCRATCH_PATH],
        "env": environment("GUILDHALL_PUBLISH", request, fetcher),
        "resources": _resources(spec, fetcher),
        "volumeMounts": [
            patch,
            {"name": "scratch", "mountPath": PUBLISH_SCRATCH_PATH},
            TMP_MOUNT,
            *trust_mounts(secret, fetcher),
        ],
    }
    claim = {"claimName": names.journal_name(run.name, run.uid), "readOnly": True}
    volumes = [
        {"name": "journal", "persistentVolumeClaim": claim},
        {"name": "scratch", "emptyDir": {"sizeLimit": scratch_size(spec)}},
        tmp_volume(fetcher),
        *trust_volumes(secret, fetcher),
    ]
    labels = publish_labels(run, number)
    name = names.publish_name(run.name, run.uid, number)
    made = once(run, name, labels, {**git_pod(spec, config, fetcher, container), "volumes": volumes})
    made["metadata"]["labels"] = {**labels, RUN_LABEL: run.uid}
    return made
