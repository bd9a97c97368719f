"""Where things are in the Kubernetes API: pure path builders. Every name that reaches a path is quoted here."""

import re
from typing import Any, Final
from urllib.parse import quote

GROUP: Final = "guildhall.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
FIELD_MANAGER: Final = "guildhall-api"
EXECUTOR_CONTAINER: Final = "executor"
AUTHOR_ANNOTATION: Final = "guildhall.dev/author"

_RUN_ID: Final = re.compile(r"([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)\.([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)")

Resource = dict[str, Any]


def custom(namespace: str, plural: str, name: str = "", subresource: str = "") -> str:
    """Path of a Run, Guild or Intervention, or of their collection."""
    return _joined(f"/apis/{API_VERSION}/namespaces/{quote(namespace, safe='')}/{plural}", name, subresource)


def core(namespace: str, plural: str, name: str = "", subresource: str = "") -> str:
    """Path of a Pod, or of the collection."""
    return _joined(f"/api/v1/namespaces/{quote(namespace, safe='')}/{plural}", name, subresource)


def _joined(base: str, name: str, subresource: str) -> str:
    path = f"{base}/{quote(name, safe='')}" if name else base
    return f"{path}/{subresource}" if subresource else path


def split_run_id(run_id: str) -> tuple[str, str] | None:
    """`(namespace, name)` of a Run's id, split at the first dot; None for anything that is no id."""
    match = _RUN_ID.fullmatch(run_id)
    return (match[1], match[2]) if match else None


def run_id_of(namespace: str, name: str) -> str:
    return f"{namespace}.{name}"
