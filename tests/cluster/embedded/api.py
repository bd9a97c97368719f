"""The few questions this program asks the API server itself; everything else goes through kubectl."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from .layout import API_PORT, HOST_IP, KUBELET_PORT, NODE, Layout
from .shell import run


def get(layout: Layout, path: str, port: int = API_PORT) -> Any:
    """Decoded JSON, or text for the health paths, or None when there is no good answer in 3 s."""
    try:
        trust = ssl.create_default_context(cafile=str(layout.pki / "ca.crt"))
        trust.load_cert_chain(layout.pki / "admin.crt", layout.pki / "admin.key")
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
        )
        with opener.open(f"https://{HOST_IP}:{port}{path}", timeout=3) as reply:
            body = reply.read(16 << 20).decode()
    except (OSError, urllib.error.URLError, ssl.SSLError):
        return None
    return json.loads(body) if body.startswith("{") else body


def ready(layout: Layout) -> bool:
    return bool(get(layout, "/readyz") == "ok")


def node_address(layout: Layout) -> bool:
    """Whether the kubelet has registered the node's address."""
    node = get(layout, f"/api/v1/nodes/{NODE}") or {}
    addresses = node.get("status", {}).get("addresses", [])
    return any(a["type"] == "InternalIP" and a["address"] == HOST_IP for a in addresses)


def node_ready(layout: Layout) -> bool:
    node = get(layout, f"/api/v1/nodes/{NODE}") or {}
    conditions = node.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def kubelet_knows_pods(layout: Layout) -> bool:
    """Whether the kubelet has learnt again, after a restart, which pods are its own (else exec finds none)."""
    listed = get(layout, f"/api/v1/pods?fieldSelector=spec.nodeName={NODE},status.phase=Running") or {}
    known = get(layout, "/pods", port=KUBELET_PORT) or {}
    uids = {pod["metadata"]["uid"] for pod in known.get("items") or []}
    return known != {} and all(pod["metadata"]["uid"] in uids for pod in listed.get("items") or [])


def dns_ready(layout: Layout) -> bool:
    deployment = get(layout, "/apis/apps/v1/namespaces/kube-system/deployments/coredns") or {}
    return int(deployment.get("status", {}).get("readyReplicas", 0)) >= 1


def kubectl(layout: Layout, bin_: Path, *words: str | Path, stdin: str | None = None) -> str:
    return run([bin_ / "kubectl", "--kubeconfig", layout.kubeconfig, *words], stdin=stdin)
