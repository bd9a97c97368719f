"""Guards against leaving something behind: finds and removes every trace of a cluster, running or crashed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from pathlib import Path

from .layout import CGROUP, OWNER_FILE, Layout
from .processes import end
from .shell import attempt

# Places that components write to whatever they are told; removed only if `up` found them absent.
SHARED_PLACES = (
    "/run/containerd",
    "/run/netns",
    "/run/runc",
    "/run/nri",
    "/var/run/nri",
    "/var/run/kubernetes",
    "/run/mount",
    "/run/xtables.lock",
    "/run/flannel",
    "/var/log/pods",
    "/var/log/containers",
    "/var/lib/kubelet",
    "/var/lib/cni",
    "/var/lib/containerd",
    "/opt/cni",
    "/opt/containerd",
    "/etc/cni",
    "/etc/containerd",
    "/usr/libexec/kubernetes",
    "/var/lib/dockershim",
)
CGROUP_FILESYSTEMS = ("cgroup", "cgroup2")


def remember_absent(store: Path) -> None:
    """Write down, once, which shared places do not exist yet."""
    if not store.exists():
        store.write_text(json.dumps([place for place in SHARED_PLACES if not Path(place).exists()]))


def remove_new(store: Path) -> None:
    places = [Path(place) for place in json.loads(store.read_text())] if store.exists() else []
    for place in places:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


def cgroups() -> list[Path]:
    """Our folder in every mounted cgroup hierarchy."""
    fields = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [Path(f[1], CGROUP) for f in fields if f[2] in CGROUP_FILESYSTEMS]


def make_cgroups() -> None:
    for folder in cgroups():
        folder.mkdir(exist_ok=True)
        if (folder.parent / "cgroup.subtree_control").exists():
            _delegate(folder.parent)
            _delegate(folder)


def _delegate(folder: Path) -> None:
    """On cgroup v2, pass every controller on to the folders inside."""
    for controller in (folder / "cgroup.controllers").read_text().split():
        try:
            (folder / "cgroup.subtree_control").write_text(f"+{controller}")
        except OSError:
            continue  # one that cannot be delegated is not one the kubelet needs


def _inside(root: Path) -> list[Path]:
    """Every cgroup from the innermost to `root`, as far as it is still there: pods that end take theirs along."""
    return [Path(path) for path, _, _ in os.walk(root, topdown=False)]


def contained() -> set[int]:
    """Ids of the processes in our cgroups: everything that runs in a pod."""
    found: set[int] = set()
    for folder in (folder for root in cgroups() for folder in _inside(root)):
        with contextlib.suppress(OSError):  # gone since it was listed
            found.update(int(pid) for pid in (folder / "cgroup.procs").read_text().split())
    return found - {os.getpid()}


def kill_contained() -> None:
    """End what runs in pods, until nothing new appears: a fork bomb must not outlive the cluster."""
    for _ in range(50):
        pids = contained()
        if not pids:
            return
        end(pids, seconds=0)


def remove_cgroups() -> None:
    for root in cgroups():
        for folder in _inside(root):
            _remove_cgroup(folder)


def _remove_cgroup(folder: Path) -> None:
    for _ in range(50):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.05)  # the kernel is still taking its processes out
        else:
            return


def mounts_under(folder: Path) -> list[str]:
    """Mount points inside a folder, innermost first."""
    points = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    inside = [p.encode().decode("unicode_escape") for p in points if p.startswith(f"{folder}/")]
    return list(reversed(inside))


def unmount(folder: Path) -> None:
    for _ in range(3):
        for point in mounts_under(folder):
            attempt(["umount", "--lazy", point])
        if not mounts_under(folder):
            return


def claim(layout: Layout) -> None:
    OWNER_FILE.write_text(f"{layout.state}\n")


def owner() -> str:
    """The state folder of the cluster that this machine's rules, links and groups belong to, or empty."""
    return OWNER_FILE.read_text().strip() if OWNER_FILE.exists() else ""


def are_ours(layout: Layout) -> bool:
    """Whether what a node left here is of this cluster: the owner file says so, or nobody does and our mounts stand."""
    return owner() == str(layout.state) or (not owner() and bool(mounts_under(layout.state)))


def release() -> None:
    OWNER_FILE.unlink(missing_ok=True)
