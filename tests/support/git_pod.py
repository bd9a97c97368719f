"""The git server of tests as a pod of the cluster, in a namespace that the fetcher's egress names."""

import base64
import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.cluster import RESTRICTED, Cluster
from support.git_server import __file__ as server_file
from support.installation import Installation
from support.repositories import certificate

LABEL = "guildhall.dev/test-git"  # on the server's namespace
PORTS = {"https": (443, 8443), "git": (9418, 9418), "shut": (8444, 8444)}  # Service port, pod port; nobody opens `shut`


def fetcher_values() -> dict[str, Any]:
    """Chart values: no public address, as tests may reach none; the server's namespace on two of its three ports."""
    to = [{"namespaceSelector": {"matchLabels": {LABEL: "yes"}}}]
    ports = [{"protocol": "TCP", "port": PORTS[name][1]} for name in ("https", "git")]
    egress = {"public": False, "more": [{"to": to, "ports": ports}]}
    return {"schemes": ["https", "ssh", "git"], "timeoutSeconds": 60, "egress": egress}


@dataclass
class GitPod:
    """Where the server answers, and what has reached it."""

    cluster: Cluster
    namespace: str
    ca: bytes

    @property
    def host(self) -> str:
        return f"git.{self.namespace}.svc.cluster.local"

    def https(self, path: str) -> str:
        return f"https://{self.host}/{path}"

    def git(self, path: str) -> str:
        return f"git://{self.host}/{path}"

    def requests(self) -> str:
        """Every request so far, with what it carried."""
        return self.cluster.execute(self.namespace, "git", "cat", "/srv/repositories/requests.log").stdout


def _packed(root: Path) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        archive.add(root, arcname="repositories")
    return out.getvalue()


def _pod(image: str) -> dict[str, Any]:
    serve = (
        "tar -xzf /given/repositories.tar.gz -C /srv && : >/srv/repositories/requests.log && cd /srv && "
        "exec python3 /given/git_server.py /srv/repositories --https 8443 --shut 8444 --git 9418 "
        "--cert /given/tls.crt --key /given/tls.key"
    )
    mounts = [{"name": "given", "mountPath": "/given"}, {"name": "srv", "mountPath": "/srv"}]
    container = {
        "name": "git", "image": image, "imagePullPolicy": "Never", "command": ["sh", "-c", serve],
        "securityContext": RESTRICTED, "volumeMounts": mounts,
        "readinessProbe": {"tcpSocket": {"port": 9418}, "periodSeconds": 1},
    }  # fmt: skip
    volumes = [{"name": "given", "configMap": {"name": "git"}}, {"name": "srv", "emptyDir": {}}]
    spec = {
        "containers": [container], "volumes": volumes, "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0, "restartPolicy": "Never",
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "git", "labels": {"app": "git"}}, "spec": spec}


@contextmanager
def git_pod(here: Installation, folder: Path, build: Callable[[Path, str], None]) -> Iterator[GitPod]:
    """The server with what `build(root, namespace)` put below its root, ready to answer."""
    cluster = here.cluster
    with cluster.namespace("git") as namespace:
        cluster.kubectl("label", "namespace", namespace, f"{LABEL}=yes")
        ca, cert, key = certificate(folder, f"DNS:git.{namespace}.svc.cluster.local")
        root = folder / "repositories"
        root.mkdir()
        build(root, namespace)
        files = {"git_server.py": Path(server_file), "tls.crt": cert, "tls.key": key}
        data = {name: base64.b64encode(path.read_bytes()).decode() for name, path in files.items()}
        data["repositories.tar.gz"] = base64.b64encode(_packed(root)).decode()
        given = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "git"}, "binaryData": data}
        ports = [{"name": name, "port": port, "targetPort": target} for name, (port, target) in PORTS.items()]
        service = {
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "git"},
            "spec": {"selector": {"app": "git"}, "ports": ports},
        }  # fmt: skip
        cluster.apply(given, service, _pod(here.images["sandbox-python"]), namespace=namespace)
        cluster.ready(namespace, "git", 60)
        yield GitPod(cluster, namespace, ca.read_bytes())
