"""Objects that have nothing to do with a Run, and a namespace editor's rights: the controls of the admission tests."""

from typing import Any

POWERS = {"apiGroups": ["", "batch", "apps", "networking.k8s.io"], "resources": ["*"],
          "verbs": ["create", "get", "list", "update", "patch", "delete", "deletecollection"]}  # fmt: skip


def plain_pod(name: str, **labels: str) -> dict[str, Any]:
    container = {"name": "c", "image": "guildhall.dev/cluster-busybox:1", "securityContext": {
        "allowPrivilegeEscalation": False, "runAsNonRoot": True, "runAsUser": 10002,
        "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}}  # fmt: skip
    spec = {"containers": [container], "restartPolicy": "Never", "schedulerName": "nobody"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def plain_job(name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": plain_pod("x")["spec"]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"suspend": True, "template": template}}  # fmt: skip


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"a": "b"}}


def claim(name: str, **metadata: Any) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, **metadata}, "spec": spec}
