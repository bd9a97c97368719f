"""Reads of the API server over one kept connection: a kubectl process for each look of a waiting test costs more CPU
than what is tested. Answers and errors are as `kubectl get -o json` gives them; what this cannot ask, kubectl does.
"""

import atexit
import functools
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import yaml

_GROUPS: Final = {
    "api/v1": "pods services secrets configmaps events persistentvolumeclaims serviceaccounts",
    "apis/batch/v1": "jobs",
    "apis/apps/v1": "deployments",
    "apis/networking.k8s.io/v1": "networkpolicies",
    "apis/guildhall.dev/v1alpha1": "runs guilds interventions runschedules connections",
}
_NAMESPACED: Final = {plural: group for group, plurals in _GROUPS.items() for plural in plurals.split()}
_SHORT: Final = {"svc": "services", "pvc": "persistentvolumeclaims", "networkpolicy": "networkpolicies"}
_TRIES: Final = 3  # a test may have restarted the server under a kept connection


class NotReadError(Exception):
    """The API server's refusal, in kubectl's words."""


@dataclass(frozen=True)
class Question:
    """One object, or with no `name` all that `selector` chooses."""

    plural: str
    name: str
    namespace: str
    selector: str

    @property
    def path(self) -> str:
        where = collection(self.plural, self.namespace)
        return f"{where}/{self.name}" if self.name else where


def question(words: Sequence[str]) -> Question | None:
    """What `kubectl get WORDS` asks; None for what is left to kubectl."""
    options, plain, rest = {"-n": "default", "-l": ""}, list[str](), iter(words)
    for word in rest:
        if word in options:
            options[word] = next(rest, "")
        else:
            plain.append(word)
    kind, name = (*plain, "", "")[:2]
    plural = _SHORT.get(kind) or (kind if kind in _NAMESPACED else f"{kind}s")
    if plural not in _NAMESPACED or len(plain) > 2 or any(word.startswith("-") or "/" in word for word in plain):
        return None
    return Question(plural, name, options["-n"], options["-l"])


def collection(plural: str, namespace: str) -> str:
    """The path of a kind in a namespace. Raises KeyError for a kind this does not know."""
    return f"/{_NAMESPACED[plural]}/namespaces/{namespace}/{plural}"


def client(kubeconfig: Path) -> httpx.Client:
    """The kept connections: of their own for each kubeconfig there was, as a cluster made anew has new keys."""
    return _client(kubeconfig, kubeconfig.stat().st_mtime)


@functools.cache
def _client(kubeconfig: Path, _changed: float) -> httpx.Client:
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    context = ssl.create_default_context(cafile=cluster["certificate-authority"])
    context.load_cert_chain(user["client-certificate"], user["client-key"])
    made = httpx.Client(base_url=cluster["server"], verify=context, timeout=60, trust_env=False)
    atexit.register(made.close)
    return made


def read(kubeconfig: Path, asked: Question) -> Any:
    """The decoded answer. Raises NotReadError where the server says no, httpx.TransportError where none answers."""
    chosen = {"labelSelector": asked.selector} if asked.selector else {}
    for left in reversed(range(_TRIES)):
        try:
            answer = client(kubeconfig).get(asked.path, params=chosen)
            break
        except httpx.TransportError:
            if not left:
                raise
    found = answer.json()
    if answer.status_code != 200:
        raise NotReadError(f"Error from server ({found.get('reason')}): {found.get('message')}")
    if not asked.name:
        kinds = {"apiVersion": found["apiVersion"], "kind": found["kind"].removesuffix("List")}
        found["items"] = [{**kinds, **item} for item in found["items"]]
    for item in found.get("items", [found]):
        item.get("metadata", {}).pop("managedFields", None)  # kubectl shows it only when asked
    return found
