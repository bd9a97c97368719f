"""The Job and its pod.

Guards the cluster against the pod: no Kubernetes credentials, no names, no host namespaces, no privileges, one try.
"""

from dataclasses import dataclass
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.gate import Target
from guildhall_contracts.run import RunSpec
from guildhall_contracts.snapshot import ATTEMPT_LABEL, RUN_NAME_ANNOTATION, SHARED_GID

from guildhall_operator import names
from guildhall_operator.config import Config
from guildhall_operator.manifests import containers
from guildhall_operator.manifests.owner import labels, metadata
from guildhall_operator.manifests.volumes import keeps_workspace, volumes
from guildhall_operator.run_view import KUEUE_LABEL, RunView

NOWHERE: Final = "192.0.2.1"  # reserved for documentation: a resolver that never answers
STOP_GRACE_SECONDS: Final = 10

_FAIL_ONCE: Final = {
    "rules": [
        {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}},
    ]
}


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt: its number, its budget in seconds, and what the operator found out about cluster and claim."""

    number: int
    seconds: int
    gateway_ip: str
    targets: list[Target]
    own_group: bool = True


def pod_security_context(*, own_group: bool) -> dict[str, Any]:
    """The pod's own; `own_group` lets the kubelet give volumes to the shared group, which rewrites their owners."""
    group = {"fsGroup": SHARED_GID, "fsGroupChangePolicy": "OnRootMismatch"} if own_group else {}
    return {
        "runAsNonRoot": True,
        **group,
        "supplementalGroups": [SHARED_GID],
        "supplementalGroupsPolicy": "Strict",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def shut_in(config: Config, deadline_seconds: int) -> dict[str, Any]:
    """What every pod of a Run has: one try, an end, no names, no Kubernetes token, nothing of its node's."""
    found: dict[str, Any] = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": deadline_seconds,
        "terminationGracePeriodSeconds": STOP_GRACE_SECONDS,
        "serviceAccountName": config.run_service_account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "shareProcessNamespace": False,
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": [NOWHERE]},
    }
    if config.host_users is not None:
        found["hostUsers"] = config.host_users
    return found


def pod_spec(run: RunView, spec: RunSpec, config: Config, attempt: Try) -> dict[str, Any]:
    """The pod, whole."""
    gate = containers.gate_config(config, attempt.targets, attempt.gateway_ip)
    found: dict[str, Any] = {
        **shut_in(config, attempt.seconds + limits.DEADLINE_GRACE_SECONDS),
        "hostAliases": [{"ip": attempt.gateway_ip, "hostnames": [config.gateway.service]}],
        "securityContext": pod_security_context(own_group=attempt.own_group),
        "initContainers": [
            containers.prepare(spec, config, gate, resume=attempt.number > 1 and keeps_workspace(spec)),
            containers.workshop(spec, config, own_group=attempt.own_group),
        ],
        "containers": [containers.executor(config, attempt.number)],
        "volumes": volumes(run, spec, config),
    }
    if spec.runtime_class_name is not None:
        found["runtimeClassName"] = spec.runtime_class_name
    if spec.priority is not None:
        found["priorityClassName"] = spec.priority
    return found


def pod_labels(run: RunView, attempt: int) -> dict[str, str]:
    """The labels of the run pod: the first is what the static NetworkPolicy selects."""
    return {**labels(run), ATTEMPT_LABEL: str(attempt)}


def planned_labels(run: RunView, attempt: int) -> dict[str, str]:
    """The labels of the run pod as far as they are known before it exists: the Job controller adds the Job's name."""
    name = names.job_name(run.name, run.uid, attempt)
    return {**pod_labels(run, attempt), "job-name": name, "batch.kubernetes.io/job-name": name}


def once(run: RunView, name: str, labels: dict[str, str], pod: dict[str, Any]) -> dict[str, Any]:
    """A Job that makes one pod, once."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata(run, name), "labels": dict(labels)},
        "spec": {
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": _FAIL_ONCE,
            "template": {
                "metadata": {"labels": labels, "annotations": {RUN_NAME_ANNOTATION: run.name}},
                "spec": pod,
            },
        },
    }


def job(run: RunView, spec: RunSpec, config: Config, attempt: Try) -> dict[str, Any]:
    """One attempt. No Job-level deadline or TTL: both delete the pod and with it log and message."""
    name, labels = names.job_name(run.name, run.uid, attempt.number), pod_labels(run, attempt.number)
    made = once(run, name, labels, pod_spec(run, spec, config, attempt))
    if run.queue_name:
        made["metadata"]["labels"][KUEUE_LABEL] = run.queue_name
    return made
