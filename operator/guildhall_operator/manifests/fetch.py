"""The Job that fetches a Run's git repository before anything untrusted runs.

Guards the Secret and the network: the pod that has git's egress has no code but ours, no token, and no other volume of
the Run. The label `guildhall.dev/fetch` gives it that egress, and never stands beside the run pod's label.
"""

from typing import Any, Final

from guildhall_contracts.base import Record
from guildhall_contracts.fetch import FetchRequest
from guildhall_contracts.limits import DEADLINE_GRACE_SECONDS
from guildhall_contracts.run import GitSource, RunSpec, Storage
from guildhall_contracts.snapshot import (
    ATTEMPT_LABEL,
    FETCH_CA_PATH,
    FETCH_LABEL,
    FETCH_SECRET_PATH,
    RUN_LABEL,
    WORKSHOP_UID,
    WORKSPACE_PATH,
)

from guildhall_operator import names
from guildhall_operator.config import Config, Fetcher
from guildhall_operator.manifests import containers
from guildhall_operator.manifests.job import once, pod_security_context, shut_in
from guildhall_operator.manifests.owner import labels
from guildhall_operator.manifests.volumes import tmp_size
from guildhall_operator.quantity import amount
from guildhall_operator.run_view import RunView

CONTAINER: Final = "fetch"
MEMORY_SHARE_PERCENT: Final = 75  # of the container's memory may one git process take; the rest is the fetcher's own


def fetch_request(spec: RunSpec, git: GitSource, fetcher: Fetcher, number: int) -> FetchRequest:
    """What is asked of the fetcher; everything it writes must fit the volume."""
    storage = (spec.workspace.storage if spec.workspace else None) or Storage()
    return FetchRequest(
        url=git.url,
        ref=git.ref,
        depth=git.depth,
        secret=git.secret_ref is not None,
        schemes=fetcher.schemes,
        attempt=number,
        max_bytes=int(amount(storage.size)),
        memory_bytes=int(amount(fetcher.resources.memory)) * MEMORY_SHARE_PERCENT // 100,
        timeout_seconds=fetcher.timeout_seconds,
    )


def fetch_labels(run: RunView, number: int) -> dict[str, str]:
    """The labels of the fetch pod: the static policy of fetchers selects it, that of run pods does not."""
    common = {key: value for key, value in labels(run).items() if key != RUN_LABEL}
    return {**common, "app.kubernetes.io/component": "fetch", FETCH_LABEL: run.uid, ATTEMPT_LABEL: str(number)}


def planned_fetch_labels(run: RunView, number: int) -> dict[str, str]:
    """The same before the pod exists: the Job controller adds the Job's name."""
    name = names.fetch_name(run.name, run.uid, number)
    return {**fetch_labels(run, number), "job-name": name, "batch.kubernetes.io/job-name": name}


def environment(name: str, request: Record, fetcher: Fetcher) -> list[dict[str, str]]:
    """What is asked, and the proxy; a dollar stays a dollar."""
    found = {name: request.model_dump_json(by_alias=True), **fetcher.proxy_environment}
    return [{"name": key, "value": value.replace("$", "$$")} for key, value in found.items()]


def tmp_volume(fetcher: Fetcher) -> dict[str, Any]:
    return {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": tmp_size(fetcher.resources.memory)}}


TMP_MOUNT: Final = {"name": "tmp", "mountPath": "/tmp"}  # noqa: S108  a mount of the container's own


def trust_volumes(secret: str | None, fetcher: Fetcher) -> list[dict[str, Any]]:
    """The Secret a Run named, and the CAs of git hosts."""
    found: list[dict[str, Any]] = []
    if secret is not None:
        found.append({"name": "secret", "secret": {"secretName": secret, "defaultMode": 0o440}})
    if fetcher.ca_config_map is not None:
        items = [{"key": "ca.crt", "path": "ca.crt"}]
        found.append({"name": "ca", "configMap": {"name": fetcher.ca_config_map, "items": items, "defaultMode": 0o444}})
    return found


def trust_mounts(secret: str | None, fetcher: Fetcher) -> list[dict[str, Any]]:
    """Where those two are."""
    found: list[dict[str, Any]] = []
    if secret is not None:
        found.append({"name": "secret", "mountPath": FETCH_SECRET_PATH, "readOnly": True})
    if fetcher.ca_config_map is not None:
        found.append({"name": "ca", "mountPath": FETCH_CA_PATH.rpartition("/")[0], "readOnly": True})
    return found


def git_pod(spec: RunSpec, config: Config, fetcher: Fetcher, container: dict[str, Any]) -> dict[str, Any]:
    """A pod that reaches git hosts: the fetchers' account, the cluster's own names, one container."""
    pod = {
        **shut_in(config, fetcher.timeout_seconds + DEADLINE_GRACE_SECONDS),
        "serviceAccountName": fetcher.service_account,
        "dnsPolicy": "ClusterFirst",
        "securityContext": pod_security_context(own_group=True),
        "containers": [container],
    }
    del pod["dnsConfig"]
    if spec.priority is not None:
        pod["priorityClassName"] = spec.priority
    return pod


def _pod(run: RunView, spec: RunSpec, config: Config, number: int) -> dict[str, Any]:
    git, fetcher = _parts(spec, config)
    secret = git.secret_ref.name if git.secret_ref else None
    resources = fetcher.resources
    container = {
        **containers.base(CONTAINER, fetcher.image, config, WORKSHOP_UID),
        "env": environment("GUILDHALL_FETCH", fetch_request(spec, git, fetcher, number), fetcher),
        "resources": containers.resources_of(resources.cpu, resources.memory, containers.TRUSTED_EPHEMERAL_STORAGE),
        "volumeMounts": [
            {"name": "workspace", "mountPath": WORKSPACE_PATH},
            TMP_MOUNT,
            *trust_mounts(secret, fetcher),
        ],
    }
    claim = {"claimName": names.workspace_name(run.name, run.uid)}
    workspace = {"name": "workspace", "persistentVolumeClaim": claim}
    volumes = [workspace, tmp_volume(fetcher), *trust_volumes(secret, fetcher)]
    return {**git_pod(spec, config, fetcher, container), "volumes": volumes}


def _parts(spec: RunSpec, config: Config) -> tuple[GitSource, Fetcher]:
    git = spec.workspace.git if spec.workspace else None
    if git is None or config.fetcher is None:
        raise ValueError("a fetch needs a git source and a fetcher")  # acceptance saw to both
    return git, config.fetcher


def fetch_job(run: RunView, spec: RunSpec, config: Config, number: int) -> dict[str, Any]:
    """One fetch. The Job carries the Run's label, so that it is seen; its pod carries the fetcher's alone."""
    name, own = names.fetch_name(run.name, run.uid, number), fetch_labels(run, number)
    made = once(run, name, own, _pod(run, spec, config, number))
    made["metadata"]["labels"] = {**own, RUN_LABEL: run.uid}
    return made
