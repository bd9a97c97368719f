"""Volumes of a fixed size, for tests of a full disk. They live in memory, so they need no loop device."""

from __future__ import annotations

import json
import re
from pathlib import Path

from .api import kubectl
from .errors import RefusalError
from .layout import NODE, Layout
from .leftovers import mounts_under
from .shell import run

MAX_MIB = 1024
INODES_PER_MIB = 64  # as disks are made: one for each 16 KiB


def _manifest(name: str, path: Path, mib: int) -> dict[str, object]:
    node = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": f"{mib}Mi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "bounded",
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": str(path)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [node]}]}},
        },
    }


def create(layout: Layout, bin_: Path, name: str, mib: int) -> None:
    """A PersistentVolume of class `bounded` that holds `mib` MiB and as many names as a disk of that size, no more."""
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?", name) or not 1 <= mib <= MAX_MIB:
        raise RefusalError(f"a bounded volume needs a DNS name and 1 to {MAX_MIB} MiB, not {name!r} and {mib}")
    path = layout.bounded_volumes / name
    path.mkdir(parents=True, exist_ok=True)
    if str(path) not in mounts_under(layout.bounded_volumes):
        run(
            [
                "mount",
                "-t",
                "tmpfs",
                "-o",
                f"size={mib}m,nr_inodes={mib * INODES_PER_MIB},mode=0777,nosuid,nodev",
                "guildhall-bounded",
                path,
            ]
        )
    kubectl(layout, bin_, "apply", "-f", "-", stdin=json.dumps(_manifest(name, path, mib)))


def delete(layout: Layout, bin_: Path, name: str) -> None:
    kubectl(layout, bin_, "delete", "persistentvolume", name, "--ignore-not-found", "--wait=false")
    path = layout.bounded_volumes / name
    if str(path) in mounts_under(layout.bounded_volumes):
        run(["umount", "--lazy", path])
