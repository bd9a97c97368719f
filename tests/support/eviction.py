"""Takes a Run's pod away as a drained node does."""

import json
from typing import Any

from support.installation import Installation


def evict(here: Installation, run: dict[str, Any]) -> None:
    """Evicts the pod of the first attempt."""
    pod = run["status"]["attempts"][0]["pod"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": here.namespace}}
    path = f"/api/v1/namespaces/{here.namespace}/pods/{pod}/eviction"
    here.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
