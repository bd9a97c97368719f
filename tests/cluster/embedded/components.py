"""The processes of the cluster, in the order they start: names and argument lists, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .layout import (
    API_PORT,
    DOMAIN,
    ETCD_PEER_PORT,
    ETCD_PORT,
    HOST_IP,
    NODE,
    SERVICE_CIDR,
    Layout,
)

ENFORCER = "kube-router"


@dataclass(frozen=True)
class Component:
    """`reads` are the files whose change calls for a restart."""

    name: str
    argv: tuple[str, ...]
    reads: tuple[Path, ...] = ()


def _etcd(layout: Layout, bin_: Path) -> Component:
    client, peer = f"http://127.0.0.1:{ETCD_PORT}", f"http://127.0.0.1:{ETCD_PEER_PORT}"
    return Component(
        "etcd",
        (
            f"{bin_}/etcd",
            f"--data-dir={layout.state}/etcd",
            "--unsafe-no-fsync",
            "--log-level=warn",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        ),
    )


def _containerd(layout: Layout, bin_: Path) -> Component:
    config = layout.etc / "containerd.toml"
    return Component("containerd", (f"{bin_}/containerd", "--log-level=warn", f"--config={config}"), (config,))


def _apiserver(layout: Layout, bin_: Path) -> Component:
    pki, audit = layout.pki, layout.etc / "audit.yaml"
    return Component(
        "kube-apiserver",
        (
            f"{bin_}/kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{ETCD_PORT}",
            f"--bind-address={HOST_IP}",
            f"--advertise-address={HOST_IP}",
            f"--secure-port={API_PORT}",
            f"--service-cluster-ip-range={SERVICE_CIDR}",
            "--endpoint-reconciler-type=lease",
            f"--service-account-issuer=https://kubernetes.default.svc.{DOMAIN}",
            f"--service-account-key-file={pki}/sa.pub",
            f"--service-account-signing-key-file={pki}/sa.key",
            f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            f"--client-ca-file={pki}/ca.crt",
            f"--kubelet-client-certificate={pki}/admin.crt",
            f"--kubelet-client-key={pki}/admin.key",
            f"--kubelet-certificate-authority={pki}/ca.crt",
            "--kubelet-preferred-address-types=InternalIP",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
            f"--audit-policy-file={audit}",
            f"--audit-log-path={layout.audit_log}",
            "--audit-log-maxsize=200",
            "--audit-log-maxbackup=1",
        ),
        (audit,),
    )


def _controllers(layout: Layout, bin_: Path) -> Component:
    config = layout.etc / "controllers.kubeconfig"
    return Component(
        "kube-controller-manager",
        (
            f"{bin_}/kube-controller-manager",
            f"--kubeconfig={config}",
            "--bind-address=127.0.0.1",
            f"--service-account-private-key-file={layout.pki}/sa.key",
            f"--root-ca-file={layout.pki}/ca.crt",
            "--use-service-account-credentials",
            "--leader-elect=false",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ),
        (config,),
    )


def _scheduler(layout: Layout, bin_: Path) -> Component:
    config = layout.etc / "scheduler.kubeconfig"
    return Component(
        "kube-scheduler",
        (
            f"{bin_}/kube-scheduler",
            f"--kubeconfig={config}",
            "--bind-address=127.0.0.1",
            "--leader-elect=false",
        ),
        (config,),
    )


def _kubelet(layout: Layout, bin_: Path) -> Component:
    kubeconfig, config = layout.etc / "node.kubeconfig", layout.etc / "kubelet.yaml"
    return Component(
        "kubelet",
        (
            f"{bin_}/kubelet",
            f"--kubeconfig={kubeconfig}",
            f"--config={config}",
            f"--hostname-override={NODE}",
            f"--node-ip={HOST_IP}",
            f"--root-dir={layout.state}/kubelet",
            f"--cert-dir={layout.state}/kubelet/pki",
        ),
        (kubeconfig, config),
    )


def _proxy(layout: Layout, bin_: Path) -> Component:
    config = layout.etc / "proxy.yaml"
    return Component("kube-proxy", (f"{bin_}/kube-proxy", f"--config={config}"), (config,))


def _router(layout: Layout, bin_: Path) -> Component:
    return Component(
        ENFORCER,
        (
            f"{bin_}/kube-router",
            f"--kubeconfig={layout.kubeconfig}",
            f"--hostname-override={NODE}",
            "--run-firewall=true",
            "--run-router=false",
            "--run-service-proxy=false",
            "--run-loadbalancer=false",
            f"--service-cluster-ip-range={SERVICE_CIDR}",
            "--health-port=0",
        ),
    )


def _provisioner(layout: Layout, bin_: Path) -> Component:
    config = layout.etc / "local-path.json"
    return Component(
        "local-path-provisioner",
        (
            f"{bin_}/local-path-provisioner",
            "start",
            f"--kubeconfig={layout.kubeconfig}",
            "--namespace=local-path-storage",
            "--configmap-name=local-path-config",
            f"--config={config}",
            "--service-account-name=local-path-provisioner-service-account",
        ),
        (config,),
    )


def control_plane(layout: Layout, bin_: Path) -> list[Component]:
    """What must run before anything can be asked of the API."""
    return [_etcd(layout, bin_), _containerd(layout, bin_), _apiserver(layout, bin_)]


def workers(layout: Layout, bin_: Path) -> list[Component]:
    """What runs once the API answers."""
    return [_controllers(layout, bin_), _scheduler(layout, bin_), _kubelet(layout, bin_)]


def late(layout: Layout, bin_: Path) -> list[Component]:
    """What waits for the node's address (kube-proxy exits when it first appears) and for the manifests."""
    return [_proxy(layout, bin_), _router(layout, bin_), _provisioner(layout, bin_)]


def all_components(layout: Layout, bin_: Path) -> list[Component]:
    return control_plane(layout, bin_) + workers(layout, bin_) + late(layout, bin_)
