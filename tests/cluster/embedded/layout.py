"""Where everything lives, and the fixed addresses of the node."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent

NODE = "node1"
NODE_LINK = "ghnode0"
POD_LINK = "ghpods0"
CNI_NETWORK = "guildhall"
HOST_IP = "10.200.0.1"
HOST_CIDR = "10.200.0.1/24"
POD_CIDR = "10.244.0.0/24"
SERVICE_CIDR = "10.96.0.0/16"
API_SERVICE_IP = "10.96.0.1"
DNS_SERVICE_IP = "10.96.0.10"
DOMAIN = "cluster.local"
API_PORT = 6443
ETCD_PORT = 12379
ETCD_PEER_PORT = 12380
KUBELET_PORT = 10250
CGROUP = "guildhall"
PAUSE_IMAGE = "guildhall.dev/cluster-pause:1"
DNS_IMAGE = "guildhall.dev/cluster-coredns:1"
BUSYBOX_IMAGE = "guildhall.dev/cluster-busybox:1"

# One cluster per machine, since links, addresses and iptables chains have fixed names.
OWNER_FILE = Path("/run/guildhall-cluster")


@dataclass(frozen=True)
class Layout:
    """Folders of one cluster: `state` goes with `down`, `cache` stays."""

    state: Path
    cache: Path

    @property
    def pki(self) -> Path:
        return self.state / "pki"

    @property
    def etc(self) -> Path:
        return self.state / "etc"

    @property
    def log(self) -> Path:
        return self.state / "log"

    @property
    def run(self) -> Path:
        return self.state / "run"

    @property
    def kubeconfig(self) -> Path:
        return self.etc / "admin.kubeconfig"

    @property
    def audit_log(self) -> Path:
        return self.log / "audit.log"

    @property
    def containerd_socket(self) -> Path:
        return self.state / "containerd.sock"

    @property
    def volumes(self) -> Path:
        return self.state / "pv"

    @property
    def bounded_volumes(self) -> Path:
        return self.state / "bounded"

    def folders(self) -> tuple[Path, ...]:
        inner = ("containerd", "etcd", "kubelet", "cni", "pod-logs", "volume-plugins")
        own = (self.pki, self.etc, self.log, self.run, self.volumes, self.bounded_volumes)
        return own + tuple(self.state / name for name in inner)


def user_cache() -> Path:
    """The project's folder among this user's caches. XDG_CACHE_HOME moves it, if it is an absolute path."""
    moved = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(moved) if moved.startswith("/") else Path.home() / ".cache") / "guildhall"


def from_environment() -> Layout:
    """The layout of the invoking user: `XDG_CACHE_HOME` moves it, `GUILDHALL_CLUSTER_STATE` the state alone.

    Programs have one path, however it is reached: components that run by another are taken for outdated, and restarted.
    """
    cache = (user_cache() / "cluster").resolve()
    state = Path(os.environ.get("GUILDHALL_CLUSTER_STATE") or cache / "state")
    return Layout(state=state.absolute(), cache=cache)
