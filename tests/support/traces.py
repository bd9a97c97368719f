"""What a cluster could leave on a machine, read from the machine itself and not from the cluster's own notes."""

from __future__ import annotations

import subprocess
from pathlib import Path

from cluster.embedded import counters

PLACES = ("/run", "/run/netns", "/var/lib", "/var/log", "/var/run", "/opt", "/etc", "/usr/libexec")
SYSCTLS = (
    "kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "net/ipv4/ip_forward",
    "net/ipv4/conf/all/route_localnet", "net/bridge/bridge-nf-call-iptables",
    "net/netfilter/nf_conntrack_max", "net/netfilter/nf_conntrack_tcp_timeout_established",
)  # fmt: skip
PROGRAMS = ("kube", "etcd", "containerd", "coredns", "local-path", "pause", "runc")


def _output(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


def _filter_lines() -> set[str]:
    lines: set[str] = set()
    for family in ("iptables", "ip6tables"):
        for line in _output(f"{family}-save").splitlines():
            if line.startswith("-A ") or (line.startswith(":") and " - [" in line):
                lines.add(f"{family} {line.split(' [')[0]}")
    return lines


def _processes() -> set[str]:
    """Names of running programs; a zombie is over, and its reaping is the init process's affair."""
    stats = (_stat(p) for p in Path("/proc").glob("[0-9]*/stat"))
    names = {stat.split("(", 1)[1].rpartition(")")[0] for stat in stats if stat.rpartition(") ")[2][:1] not in "ZX"}
    return {name for name in names if name.startswith(PROGRAMS)}


def _stat(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "0 () Z"


def _cgroups() -> set[str]:
    kinds = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    roots = [Path(fields[1]) for fields in kinds if fields[2] in ("cgroup", "cgroup2")]
    return {str(p) for root in roots for p in root.iterdir() if p.is_dir()}


def snapshot() -> dict[str, set[str]]:
    """Everything that must be the same after `down` as before `up`, by kind."""
    files = {str(p) for place in PLACES if Path(place).exists() for p in Path(place).iterdir()}
    sysctls = {f"{n}={Path('/proc/sys', n).read_text().strip()}" for n in SYSCTLS if Path("/proc/sys", n).exists()}
    return {
        "processes": _processes(),
        "mounts": set(Path("/proc/self/mounts").read_text().splitlines()),
        "links": {p.name for p in Path("/sys/class/net").iterdir()},
        "filter rules": _filter_lines(),
        "packet counters": counters.names(),
        "ip sets": set(_output("ipset", "list", "-n").split()),
        "routes": set(_output("ip", "route").splitlines()),
        "network namespaces": set(_output("ip", "netns").splitlines()),
        "cgroups": _cgroups(),
        "files": files,
        "kernel settings": sysctls,
    }
