"""The files the components read, as data. JSON is YAML, so no text is pasted together."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from .layout import (
    API_PORT,
    CGROUP,
    CNI_NETWORK,
    DNS_SERVICE_IP,
    DOMAIN,
    HOST_IP,
    KUBELET_PORT,
    NODE,
    PAUSE_IMAGE,
    POD_CIDR,
    POD_LINK,
    Layout,
)

Json = dict[str, object]
POD_PIDS = 512
# name of the kubeconfig, and the certificate it shows
KUBECONFIGS = ("admin", "node", "controllers", "scheduler", "proxy")


@dataclass(frozen=True)
class Options:
    """What a user may choose. `log_max_size` is when the kubelet rotates a container's log."""

    log_max_size: str = "10Mi"


def load_options(layout: Layout) -> Options:
    """The options of the last `up`, or the defaults."""
    path = layout.state / "options.json"
    return Options(**json.loads(path.read_text())) if path.exists() else Options()


def save_options(layout: Layout, options: Options) -> None:
    (layout.state / "options.json").write_text(json.dumps(asdict(options)))


def kubeconfig(layout: Layout, name: str) -> Json:
    cluster = {"server": f"https://{HOST_IP}:{API_PORT}", "certificate-authority": str(layout.pki / "ca.crt")}
    user = {
        "client-certificate": str(layout.pki / f"{name}.crt"),
        "client-key": str(layout.pki / f"{name}.key"),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "guildhall", "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "guildhall-embedded", "context": {"cluster": "guildhall", "user": name}}],
        "current-context": "guildhall-embedded",
    }


def audit_policy() -> Json:
    """Writes only, without bodies: enough to count what a Run costs the API server."""
    rules = [{"level": "None", "verbs": ["get", "list", "watch"]}, {"level": "Metadata"}]
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": rules,
    }


def kubelet(layout: Layout, options: Options) -> Json:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": HOST_IP,
        "port": KUBELET_PORT,
        "healthzBindAddress": "127.0.0.1",
        "authentication": {
            "anonymous": {"enabled": False},
            "x509": {"clientCAFile": str(layout.pki / "ca.crt")},
            "webhook": {"enabled": True},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(layout.pki / "kubelet.crt"),
        "tlsPrivateKeyFile": str(layout.pki / "kubelet.key"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{CGROUP}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "podPidsLimit": POD_PIDS,
        "containerLogMaxSize": options.log_max_size,
        "containerLogMaxFiles": 3,
        "containerLogMonitorInterval": "3s",
        "podLogsDir": str(layout.state / "pod-logs"),
        "volumePluginDir": str(layout.state / "volume-plugins"),
        "containerRuntimeEndpoint": f"unix://{layout.containerd_socket}",
        "clusterDomain": DOMAIN,
        "clusterDNS": [DNS_SERVICE_IP],
        "resolvConf": "",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        # Images cannot be pulled again, so they are never collected.
        "imageGCHighThresholdPercent": 100,
        "imageMinimumGCAge": "8760h",
    }


def proxy(layout: Layout) -> Json:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clientConnection": {"kubeconfig": str(layout.etc / "proxy.kubeconfig")},
        "clusterCIDR": POD_CIDR,
        "hostnameOverride": NODE,
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        "nodePortAddresses": [f"{HOST_IP}/32"],
        "iptables": {"localhostNodePorts": False},
        "conntrack": {"maxPerCore": 0, "min": 0},
    }


def network(layout: Layout) -> Json:
    ipam = {
        "type": "host-local",
        "dataDir": str(layout.state / "cni-addresses"),
        "ranges": [[{"subnet": POD_CIDR}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": POD_LINK, "isGateway": True, "ipMasq": True, "hairpinMode": True}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": CNI_NETWORK, "plugins": [{**bridge, "ipam": ipam}, ports]}


def containerd(layout: Layout, cni_folder: Path) -> Json:
    """Nested tables of containerd's TOML, everything it writes kept under the state."""
    runc = {
        "runtime_type": "io.containerd.runc.v2",
        "options": {"SystemdCgroup": False, "Root": str(layout.state / "runc")},
    }
    runtime = {
        "restrict_oom_score_adj": True,
        "netns_mounts_under_state_dir": True,
        "cni": {"bin_dirs": [str(cni_folder)], "conf_dir": str(layout.state / "cni")},
        "containerd": {"runtimes": {"runc": runc}},
    }
    images = {"snapshotter": "overlayfs", "pinned_images": {"sandbox": PAUSE_IMAGE}}
    return {
        "version": 3,
        "root": str(layout.state / "containerd" / "root"),
        "state": str(layout.state / "containerd" / "state"),
        "grpc": {"address": str(layout.containerd_socket)},
        "plugins": {
            "io.containerd.cri.v1.images": images,
            "io.containerd.cri.v1.runtime": runtime,
            "io.containerd.nri.v1.nri": {"disable": True},
            "io.containerd.internal.v1.opt": {"path": str(layout.state / "containerd" / "opt")},
        },
    }


def toml(tables: Json, prefix: str = "") -> str:
    """TOML of nested tables. Strings, numbers, flags and lists have the same form as in JSON."""
    plain = {key: value for key, value in tables.items() if not isinstance(value, dict)}
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in plain.items())
    for key, value in tables.items():
        if isinstance(value, dict):
            name = f"{prefix}.{json.dumps(key)}" if prefix else json.dumps(key)
            text += f"[{name}]\n" + toml(value, name)
    return text


def provisioner(layout: Layout) -> Json:
    return {"nodePathMap": [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": [str(layout.volumes)]}]}


def files(layout: Layout, options: Options, cni_folder: Path) -> dict[Path, str]:
    """Every file to be written, by path."""
    documents: dict[Path, Json] = {
        layout.etc / "audit.yaml": audit_policy(),
        layout.etc / "kubelet.yaml": kubelet(layout, options),
        layout.etc / "proxy.yaml": proxy(layout),
        layout.etc / "local-path.json": provisioner(layout),
        layout.state / "cni" / "10-guildhall.conflist": network(layout),
    }
    for name in KUBECONFIGS:
        documents[layout.etc / f"{name}.kubeconfig"] = kubeconfig(layout, name)
    texts = {path: json.dumps(document, indent=1) + "\n" for path, document in documents.items()}
    texts[layout.etc / "containerd.toml"] = toml(containerd(layout, cni_folder))
    return texts


def write(texts: dict[Path, str]) -> None:
    """Write what changed, readable by root only."""
    for path, text in texts.items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            path.chmod(0o600)
