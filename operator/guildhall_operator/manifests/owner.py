"""What every object made for a Run carries: its name, labels and owner."""

from typing import Any, Final

from guildhall_contracts.snapshot import RUN_LABEL, RUN_NAME_ANNOTATION

from guildhall_operator.run_view import RunView

API_VERSION: Final = "guildhall.dev/v1alpha1"


def owner_reference(run: RunView) -> dict[str, Any]:
    """Deleting the Run deletes what it owns, with the operator down too; nothing waits for anything."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Run",
        "name": run.name,
        "uid": run.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }


def labels(run: RunView) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "guildhall",
        "app.kubernetes.io/component": "run",
        "app.kubernetes.io/managed-by": "guildhall-operator",
        RUN_LABEL: run.uid,
    }


def metadata(run: RunView, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": run.namespace,
        "labels": labels(run),
        "annotations": {RUN_NAME_ANNOTATION: run.name},
        "ownerReferences": [owner_reference(run)],
    }
