"""Writes over the kept connection of `reads`, as `kubectl create -f -` and `kubectl patch` make them.

Tables of what the API server refuses make thousands of them. Endings and words are kubectl's; None where it must ask.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from support import reads

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Who:
    """Whom the cluster's administrator speaks for; nobody where `user` is None."""

    user: str | None = None
    groups: tuple[str, ...] = ()

    @property
    def headers(self) -> list[tuple[str, str]]:
        if self.user is None:
            return []
        return [("Impersonate-User", self.user), *(("Impersonate-Group", group) for group in self.groups)]


def _path(manifest: Mapping[str, Any], namespace: str) -> str | None:
    kind, meta = manifest.get("kind"), manifest.get("metadata")
    if not isinstance(kind, str) or not isinstance(meta, dict) or meta.get("namespace", namespace) != namespace:
        return None
    lower = kind.lower()
    plural = f"{lower[:-1]}ies" if lower.endswith("y") else f"{lower}s"
    try:
        path = reads.collection(plural, namespace)
    except KeyError:
        return None
    return (
        path
        if path.startswith((f"/api/{manifest.get('apiVersion')}/", f"/apis/{manifest.get('apiVersion')}/"))
        else None
    )


def _done(answer: httpx.Response, words: str = "") -> Done:
    if answer.is_success:
        return Done([], 0, words or answer.text, "")
    said = answer.json()
    return Done([], 1, "", f"Error from server ({said.get('reason')}): {said.get('message')}\n")


def create(
    kubeconfig: Path, manifest: Mapping[str, Any], namespace: str, who: Who, *, dry: bool, lax: bool
) -> Done | None:
    """One object; its stored JSON is the output."""
    path = _path(manifest, namespace)
    if path is None:
        return None
    params = {"fieldValidation": "Ignore" if lax else "Strict", **({"dryRun": "All"} if dry else {})}
    headers = [*who.headers, ("Content-Type", "application/json")]
    body = json.dumps(manifest).encode()
    return _done(reads.client(kubeconfig).post(path, params=params, headers=headers, content=body))


def may(kubeconfig: Path, user: str, namespace: str, rule: Mapping[str, Any]) -> bool:
    """Whether the API server lets `user` do the first thing that an RBAC rule grants."""
    resource, _, sub = str(rule["resources"][0]).partition("/")
    asked = {"namespace": namespace, "group": rule["apiGroups"][0], "resource": resource, "subresource": sub,
             "verb": rule["verbs"][0], "name": (*rule.get("resourceNames", ()), "")[0]}  # fmt: skip
    review = {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": asked},
    }  # fmt: skip
    answer = reads.client(kubeconfig).post("/apis/authorization.k8s.io/v1/subjectaccessreviews", json=review)
    return bool(answer.json()["status"]["allowed"])


def patch(kubeconfig: Path, where: str, change: Any, who: Who, *, dry: bool) -> Done | None:
    """A merge patch, or a JSON patch where `change` is a list. `where`: namespace/kind/name, and /status."""
    namespace, kind, *rest = where.split("/")
    asked = reads.question([kind, rest[0], "-n", namespace])
    if asked is None:
        return None
    media = "json-patch+json" if isinstance(change, list) else "merge-patch+json"
    headers = [*who.headers, ("Content-Type", f"application/{media}")]
    path = "/".join([asked.path, *rest[1:]])
    body, params = json.dumps(change).encode(), {"dryRun": "All"} if dry else {}
    answer = reads.client(kubeconfig).patch(path, params=params, headers=headers, content=body)
    return _done(answer, f"{kind}/{rest[0]} patched\n")
