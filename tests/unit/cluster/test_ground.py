"""What the machine lacks is found from data, without touching the machine."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from cluster.embedded import ground
from cluster.embedded.errors import RefusalError

GOOD_MOUNTS = "cgroup /sys/fs/cgroup/pids cgroup rw 0 0\n"


def test_a_machine_with_everything_lacks_nothing() -> None:
    assert ground.missing_packages(lambda name: f"/bin/{name}", Path("/cni"), Path("/bin/busybox")) == []
    assert ground.kernel_lacks("nodev\toverlay\n\text4\n", True, GOOD_MOUNTS) == []


def test_a_bare_machine_lacks_each_package_once() -> None:
    assert ground.missing_packages(lambda _: None, None, None) == [
        "busybox-static",
        "conntrack",
        "containernetworking-plugins",
        "iproute2",
        "ipset",
        "iptables",
        "mount",
        "openssl",
        "runc",
    ]


@pytest.mark.parametrize(
    ("filesystems", "bridge", "mounts", "lacks"),
    [
        ("nodev\tproc\n", True, GOOD_MOUNTS, ["overlayfs"]),
        ("nodev\toverlay\n", False, GOOD_MOUNTS, ["br_netfilter"]),
        ("nodev\toverlay\n", True, "proc /proc proc rw 0 0\n", ["mounted cgroups"]),
        ("", False, "", ["overlayfs", "br_netfilter", "mounted cgroups"]),
    ],
)
def test_each_missing_kernel_feature_is_named(filesystems: str, bridge: bool, mounts: str, lacks: list[str]) -> None:
    assert ground.kernel_lacks(filesystems, bridge, mounts) == lacks


def _elf(*header_types: int) -> bytes:
    start = b"\x7fELF\x02\x01".ljust(32, b"\0") + struct.pack("<Q", 64)
    fixed = start.ljust(54, b"\0") + struct.pack("<HH", 56, len(header_types))
    return fixed.ljust(64, b"\0") + b"".join(struct.pack("<I", kind).ljust(56, b"\0") for kind in header_types)


def test_only_a_program_without_a_loader_is_static() -> None:
    assert ground.is_static(_elf(1, 1, 2))
    assert not ground.is_static(_elf(1, 3, 2))
    assert not ground.is_static(b"#!/bin/sh\n")
    assert not ground.is_static(b"")
    assert not ground.is_static(b"\x7fELF\x02\x01")


def test_nobody_to_ask_means_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(RefusalError, match="--yes"):
        ground.agree("Install?", yes=False)
    ground.agree("Install?", yes=True)
