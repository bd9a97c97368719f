"""The three containers of a run pod: `prepare`, `workshop` (the user's image) and `executor`.

Guards the border between trusted and untrusted code: uids, mounts and privileges are written here and nowhere else.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from guildhall_contracts import snapshot as pod
from guildhall_contracts.gate import GateConfig, Target
from guildhall_contracts.run import Resources, RunSpec

from guildhall_operator.config import Config
from guildhall_operator.manifests.volumes import PREPARE_MEMORY, is_fetched
from guildhall_operator.quantity import smaller

SOURCE_PATH: Final = "/guildhall/source"
SOCKET_FOLDER: Final = pod.SOCKET_PATH.rpartition("/")[0]
TOKEN_FOLDER: Final = pod.TOKEN_PATH.rpartition("/")[0]
CA_FOLDER: Final = pod.CA_PATH.rpartition("/")[0]
WORKSHOP_BINARY: Final = "guildhall-workshop"
NODE_IP: Final = "GUILDHALL_NODE_IP"
CPU_REQUEST: Final = "100m"
TRUSTED_EPHEMERAL_STORAGE: Final = "1Gi"


def security_context(uid: int) -> dict[str, Any]:
    """What every container gets; nothing in a Run can change it."""
    return {
        "runAsNonRoot": True,
        "runAsUser": uid,
        "runAsGroup": uid,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def resources_of(cpu: str, memory: str, ephemeral_storage: str) -> dict[str, Any]:
    """Memory and disk are asked for whole, so that a Run is not evicted for what it was allowed; cpu is shared."""
    limits = {"cpu": cpu, "memory": memory, "ephemeral-storage": ephemeral_storage}
    return {"limits": limits, "requests": {**limits, "cpu": smaller(CPU_REQUEST, cpu)}}


def _mount(name: str, path: str, *, read_only: bool = False, sub_path: str | None = None) -> dict[str, Any]:
    mount: dict[str, Any] = {"name": name, "mountPath": path}
    if read_only:
        mount["readOnly"] = True
    if sub_path is not None:
        mount["subPath"] = sub_path
    return mount


def _workspace_mount(spec: RunSpec) -> dict[str, Any]:
    """The workspace: of a fetched one the folder that the fetcher made, of a user's claim the folder he named."""
    workspace = spec.workspace
    sub_path = None
    if workspace is not None and workspace.git is not None:
        sub_path = pod.SOURCE_TREE
    elif workspace is not None and workspace.claim is not None:
        sub_path = workspace.claim.sub_path
    return _mount("workspace", pod.WORKSPACE_PATH, sub_path=sub_path)


def _baseline_mount(spec: RunSpec, *, read_only: bool = False) -> dict[str, Any]:
    """The baseline: of a fetched workspace the folder beside its tree, which no path of the workshop leads to."""
    if is_fetched(spec):
        return _mount("workspace", pod.BASELINE_PATH, read_only=read_only, sub_path=pod.SOURCE_BASELINE)
    return _mount("baseline", pod.BASELINE_PATH, read_only=read_only)


def base(name: str, image: str, config: Config, uid: int) -> dict[str, Any]:
    """What every container of ours begins with."""
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": config.images.pull_policy,
        "securityContext": security_context(uid),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }


def gate_config(config: Config, targets: list[Target], gateway_ip: str) -> GateConfig:
    """What `prepare` tries before anything untrusted runs."""
    return GateConfig(
        targets=targets,
        gateway_host=gateway_ip,
        gateway_port=config.gateway.port,
        consecutive_denials=config.isolation.consecutive_denials,
        timeout_seconds=config.isolation.timeout_seconds,
        own_node_port=config.isolation.own_node_port,
        enforce=config.isolation.require,
    )


def prepare(spec: RunSpec, config: Config, gate: GateConfig, *, resume: bool = False) -> dict[str, Any]:
    """Injects the workshop, unpacks the source, takes the baseline, proves the isolation.

    With `resume`, a workspace whose baseline an earlier attempt took stays as that attempt left it.
    """
    command = [
        f"/{WORKSHOP_BINARY}",
        "prepare",
        "--bin",
        pod.BIN_PATH,
        "--workspace",
        pod.WORKSPACE_PATH,
        "--baseline",
        pod.BASELINE_PATH,
        *(["--resume"] if resume else []),
    ]
    mounts = [
        _workspace_mount(spec),
        _mount("bin", pod.BIN_PATH),
        _baseline_mount(spec),
        _mount("tmp-prepare", "/tmp"),  # noqa: S108  a mount of the container's own
    ]
    if spec.workspace is not None and spec.workspace.template is not None:
        command.append("--not-empty")
    archive = spec.workspace.archive if spec.workspace else None
    if archive is not None:
        command += [
            "--archive",
            f"{SOURCE_PATH}/{archive.key}",
            "--strip-components",
            str(archive.strip_components),
        ]
        mounts.append(_mount("source", SOURCE_PATH, read_only=True))
    return {
        **base("prepare", config.images.workshop, config, pod.WORKSHOP_UID),
        "command": command,
        "env": [*_gate_environment(gate)],
        "resources": resources_of("1", PREPARE_MEMORY, TRUSTED_EPHEMERAL_STORAGE),
        "volumeMounts": mounts,
    }


def _gate_environment(gate: GateConfig) -> Iterator[dict[str, Any]]:
    """What the gate is told; where the pod's node is, only the kubelet can say."""
    yield {"name": "GUILDHALL_GATE", "value": gate.model_dump_json(by_alias=True, exclude_none=True)}
    if gate.own_node_port is not None:
        yield {"name": NODE_IP, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.hostIP"}}}


def workshop(spec: RunSpec, config: Config, *, own_group: bool = True) -> dict[str, Any]:
    """The untrusted container: a native sidecar, so that its end does not end the Run.

    Without `own_group` the socket's folder has no shared group, so the socket is open to all of the pod: its two
    containers, which tell each other apart by uid.
    """
    resources = spec.resources or Resources()
    return {
        **base("workshop", spec.image or config.images.default, config, pod.WORKSHOP_UID),
        "restartPolicy": "Always",
        "command": [
            f"{pod.BIN_PATH}/{WORKSHOP_BINARY}",
            "serve",
            "--socket",
            pod.SOCKET_PATH,
            "--workspace",
            pod.WORKSPACE_PATH,
            "--baseline",
            pod.BASELINE_PATH,
            "--peer-uid",
            str(pod.EXECUTOR_UID),
            *([] if own_group else ["--socket-mode", "0666"]),
        ],
        "env": [{"name": "GUILDHALL_RUN_ENV", "value": _escaped(json.dumps(spec.env, sort_keys=True))}],
        "workingDir": pod.WORKSPACE_PATH,
        "resources": resources_of(resources.cpu, resources.memory, resources.ephemeral_storage),
        "volumeMounts": [
            _workspace_mount(spec),
            _mount("bin", pod.BIN_PATH, read_only=True),
            _mount("socket", SOCKET_FOLDER),
            _baseline_mount(spec, read_only=True),
            _mount("tmp-workshop", "/tmp"),  # noqa: S108  a mount of the container's own
        ],
    }


def _escaped(value: str) -> str:
    """Kubernetes expands `$(NAME)` in an environment value; `$$` keeps a dollar a dollar."""
    return value.replace("$", "$$")


def executor(config: Config, attempt: int) -> dict[str, Any]:
    """The trusted container: no workspace, no Kubernetes credentials."""
    resources = config.executor_resources
    return {
        **base("executor", config.images.executor, config, pod.EXECUTOR_UID),
        "env": [{"name": "GUILDHALL_ATTEMPT", "value": str(attempt)}],
        "resources": resources_of(resources.cpu, resources.memory, TRUSTED_EPHEMERAL_STORAGE),
        "volumeMounts": [
            _mount("socket", SOCKET_FOLDER),
            _mount("snapshot", pod.SNAPSHOT_PATH, read_only=True),
            _mount("journal", pod.JOURNAL_PATH),
            _mount("token", TOKEN_FOLDER, read_only=True),
            _mount("ca", CA_FOLDER, read_only=True),
            _mount("tmp-executor", "/tmp"),  # noqa: S108  a mount of the container's own
        ],
    }
