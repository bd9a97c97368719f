"""What a pod needs and the cluster does not have, told from the kubelet's or the scheduler's words. Pure.

Guards people against words about volumes they never wrote: a message names the object, where it is looked for, and what
to do. Text that is not recognised stays as it is.
"""

import re
from typing import Final

_KINDS: Final = {
    "configmap": "ConfigMap",
    "secret": "Secret",
    "persistentvolumeclaim": "PersistentVolumeClaim",
}
_OBJECT: Final = re.compile(r'\b(configmap|secret|persistentvolumeclaim)s? "([^"]{1,300})" not found', re.IGNORECASE)
_KEY: Final = re.compile(r"references non-existent (config|secret) key: (\S{1,253})")
_VOLUME: Final = re.compile(r'for volume "([a-z0-9-]{1,63})"')
_FIELDS: Final = {  # volumes whose object the Run itself names
    "source": "the ConfigMap of spec.workspace.archive",
    "secret": "the Secret of spec.workspace.git.secretRef",
    "workspace": "the claim of spec.workspace.claim",
}
SUMMARY: Final = "Unable to attach or mount volumes"  # what the kubelet says besides, some minutes later


def made_for(said: str, run: str) -> bool:
    """Whether what is not there was made for this Run: then it may only not have been seen yet."""
    found = _OBJECT.search(said)
    return found is not None and bool(run) and run in found[2]


def missing(said: str, namespace: str, run: str) -> str:
    """Our words for what is not there; empty where `said` tells of nothing missing. `run` is the Run's uid."""
    found = _OBJECT.search(said)
    if found is not None:
        kind, name = _KINDS[found[1].lower()], found[2].rpartition("/")[2]
        return f"there is no {kind} '{name}' in namespace '{namespace}'; {_remedy(said, name, run)}"
    key = _KEY.search(said)
    if key is not None:
        volume = _VOLUME.search(said)
        other = "a ConfigMap of the pod" if key[1] == "config" else "a Secret of the pod"
        what = _FIELDS.get(volume[1] if volume else "", other)
        return f"{what} in namespace '{namespace}' has no key '{key[2]}'; add the key, or name another in a new Run"
    return ""


def _remedy(said: str, name: str, run: str) -> str:
    volume = _VOLUME.search(said)
    if made_for(said, run):
        return "it was made for this Run and somebody deleted it: create the Run again"
    if volume is not None and volume[1] not in _FIELDS:
        return "it belongs to the installation: the platform team restores it with helm upgrade"
    return "create it, or name another in a new Run"
