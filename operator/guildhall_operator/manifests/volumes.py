"""The volumes of a run pod and the claims made for it.

Guards against repository code reaching the journal, the token or another Run's files: what a container does not mount
it cannot touch.
"""

from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.run import Resources, RunSpec, Storage
from guildhall_contracts.snapshot import SNAPSHOT_FILE

from guildhall_operator import names
from guildhall_operator.config import Config
from guildhall_operator.manifests.owner import metadata
from guildhall_operator.quantity import amount, larger, share_mib
from guildhall_operator.records import ClaimRecord
from guildhall_operator.run_view import RunView

TOKEN_AUDIENCE: Final = "guildhall-gateway"  # noqa: S105  an audience, not a token
TOKEN_EXPIRES_SECONDS: Final = 600
TMP_MAX_MIB: Final = 256
TMP_MEMORY_PARTS: Final = 4  # /tmp may fill a quarter of a container's memory
BASELINE_BYTES: Final = 2 * limits.BASELINE_CONTENT_MAX_BYTES
BASELINE_SIZE: Final = f"{BASELINE_BYTES // limits.MIB}Mi"
PREPARE_MEMORY: Final = "512Mi"


def has_own_claim(spec: RunSpec) -> bool:
    """Whether the workspace is a claim made for this Run; otherwise the user's claim, or a folder of the pod."""
    workspace = spec.workspace
    return workspace is not None and (
        workspace.template is not None
        or workspace.git is not None
        or (workspace.storage is not None and workspace.claim is None)
    )


def _claim(run: RunView, name: str, size: str, storage_class: str | None) -> dict[str, Any]:
    spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata(run, name), "spec": spec}


def is_fetched(spec: RunSpec) -> bool:
    """Whether the fetcher lays the workspace out: two folders of one volume, the tree and the baseline."""
    return spec.workspace is not None and spec.workspace.git is not None


def _with_baseline(size: str) -> str:
    """Room for both: what the tree may fill is never taken from the baseline."""
    return f"{(int(amount(size)) + BASELINE_BYTES) // limits.MIB + 1}Mi"


def journal_claim(run: RunView, config: Config) -> dict[str, Any]:
    """The volume of the event journal, mounted in the executor alone."""
    name = names.journal_name(run.name, run.uid)
    return _claim(run, name, config.storage.journal_size, config.storage.class_)


def workspace_claim(
    run: RunView, spec: RunSpec, config: Config, template: ClaimRecord | None = None
) -> dict[str, Any] | None:
    """The workspace's own claim, a clone of the template's where there is one; None where none is made."""
    if not has_own_claim(spec) or spec.workspace is None:
        return None
    storage = spec.workspace.storage or Storage()
    name = names.workspace_name(run.name, run.uid)
    if spec.workspace.template is not None:
        return _clone(run, name, storage, config, template or ClaimRecord(spec.workspace.template.claim, run.namespace))
    size = _with_baseline(storage.size) if is_fetched(spec) else storage.size
    return _claim(run, name, size, storage.class_ or config.storage.class_)


def _clone(run: RunView, name: str, storage: Storage, config: Config, template: ClaimRecord) -> dict[str, Any]:
    """A driver clones its own volumes only, and none into a smaller one: class and least size are the template's."""
    storage_class = storage.class_ or template.storage_class or config.storage.class_
    claim = _claim(run, name, larger(storage.size, template.size), storage_class)
    claim["spec"]["dataSource"] = {"kind": "PersistentVolumeClaim", "name": template.name}
    return claim


def keeps_workspace(spec: RunSpec) -> bool:
    """Whether the workspace is on a claim: only then can another pod go on with what one has begun."""
    return has_own_claim(spec) or (spec.workspace is not None and spec.workspace.claim is not None)


def baseline_claim(run: RunView, spec: RunSpec, config: Config) -> dict[str, Any] | None:
    """What keeps the baseline: a later attempt compares with the tree the first one found. None where none follows."""
    if not keeps_workspace(spec) or is_fetched(spec):
        return None
    return _claim(run, names.baseline_name(run.name, run.uid), BASELINE_SIZE, config.storage.class_)


def _baseline(run: RunView, spec: RunSpec) -> list[dict[str, Any]]:
    """A volume of its own, but for a fetched workspace: there it is a folder beside the tree, which saves a claim."""
    if is_fetched(spec):
        return []
    if not keeps_workspace(spec):
        return [_empty("baseline", BASELINE_SIZE)]
    return [{"name": "baseline", "persistentVolumeClaim": {"claimName": names.baseline_name(run.name, run.uid)}}]


def _empty(name: str, size: str, *, memory: bool = False) -> dict[str, Any]:
    where = {"medium": "Memory", "sizeLimit": size} if memory else {"sizeLimit": size}
    return {"name": name, "emptyDir": where}


def _workspace(run: RunView, spec: RunSpec, resources: Resources) -> dict[str, Any]:
    if spec.workspace is not None and spec.workspace.claim is not None:
        return {"name": "workspace", "persistentVolumeClaim": {"claimName": spec.workspace.claim.name}}
    if has_own_claim(spec):
        claim = names.workspace_name(run.name, run.uid)
        return {"name": "workspace", "persistentVolumeClaim": {"claimName": claim}}
    return _empty("workspace", resources.ephemeral_storage)


def _source(spec: RunSpec) -> list[dict[str, Any]]:
    if spec.workspace is None or spec.workspace.archive is None:
        return []
    archive = spec.workspace.archive
    items = [{"key": archive.key, "path": archive.key}]
    return [{"name": "source", "configMap": {"name": archive.config_map, "items": items, "defaultMode": 0o444}}]


def tmp_size(memory: str) -> str:
    return share_mib(memory, TMP_MEMORY_PARTS, TMP_MAX_MIB)


def volumes(run: RunView, spec: RunSpec, config: Config) -> list[dict[str, Any]]:
    """Every volume of the pod, in the order of `docs/wiring.md`."""
    resources = spec.resources or Resources()
    token = {"audience": TOKEN_AUDIENCE, "expirationSeconds": TOKEN_EXPIRES_SECONDS, "path": "token"}
    return [
        _workspace(run, spec, resources),
        _empty("bin", "64Mi"),
        _empty("socket", "1Mi", memory=True),
        *_baseline(run, spec),
        *_source(spec),
        {
            "name": "snapshot",
            "configMap": {
                "name": names.snapshot_name(run.name, run.uid),
                "items": [{"key": SNAPSHOT_FILE, "path": SNAPSHOT_FILE}],
                "defaultMode": 0o444,
            },
        },
        {"name": "journal", "persistentVolumeClaim": {"claimName": names.journal_name(run.name, run.uid)}},
        {"name": "token", "projected": {"defaultMode": 0o444, "sources": [{"serviceAccountToken": token}]}},
        {
            "name": "ca",
            "configMap": {
                "name": config.ca_config_map,
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
                "defaultMode": 0o444,
            },
        },
        _empty("tmp-prepare", tmp_size(PREPARE_MEMORY), memory=True),
        _empty("tmp-workshop", tmp_size(resources.memory), memory=True),
        _empty("tmp-executor", tmp_size(config.executor_resources.memory), memory=True),
    ]
