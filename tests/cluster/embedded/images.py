"""Images without a registry or a builder: archives made here, imported into containerd."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .layout import BUSYBOX_IMAGE, DNS_IMAGE, PAUSE_IMAGE, Layout
from .shell import run

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Entry:
    """One file of an image: its bytes, or the target of a symbolic link, or neither for a folder."""

    content: bytes | None = None
    link: str | None = None
    mode: int = 0o755


def _add(archive: tarfile.TarFile, name: str, entry: Entry) -> None:
    info = tarfile.TarInfo(name)
    info.mode = entry.mode
    if entry.link is not None:
        info.type, info.linkname = tarfile.SYMTYPE, entry.link
    elif entry.content is None:
        info.type = tarfile.DIRTYPE
    else:
        info.size = len(entry.content)
    archive.addfile(info, io.BytesIO(entry.content or b""))


def _tar(entries: Mapping[str, Entry]) -> bytes:
    """A tar with fixed times and owners, so that equal content has an equal digest."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, entry in entries.items():
            _add(archive, name, entry)
    return buffer.getvalue()


def archive(ref: str, entries: Mapping[str, Entry], config: Mapping[str, object]) -> bytes:
    """A docker archive of one image with one layer."""
    layer = _tar(entries)
    digest = hashlib.sha256(layer).hexdigest()
    image = {
        "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": dict(config),
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    text = json.dumps(image, sort_keys=True).encode()
    name = f"{hashlib.sha256(text).hexdigest()}.json"
    manifest = [{"Config": name, "RepoTags": [ref], "Layers": [f"{digest}.tar"]}]
    return _tar(
        {
            name: Entry(text, mode=0o644),
            f"{digest}.tar": Entry(layer, mode=0o644),
            "manifest.json": Entry(json.dumps(manifest).encode(), mode=0o644),
        }
    )


def _busybox_entries(binary: Path) -> dict[str, Entry]:
    applets = subprocess.run([binary, "--list"], capture_output=True, text=True, check=True).stdout.split()
    entries = {"bin": Entry(), "tmp": Entry(mode=0o1777), "etc": Entry()}
    entries["bin/busybox"] = Entry(binary.read_bytes())
    entries |= {f"bin/{name}": Entry(link="busybox") for name in applets if name != "busybox"}
    passwd = b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
    return entries | {"etc/passwd": Entry(passwd, mode=0o644)}


def infrastructure(bin_: Path, busybox: Path) -> dict[str, bytes]:
    """Archives of the three images the cluster itself needs, by reference."""
    pause = {"pause": Entry((bin_ / "pause").read_bytes())}
    coredns = {"coredns": Entry((bin_ / "coredns").read_bytes())}
    return {
        PAUSE_IMAGE: archive(PAUSE_IMAGE, pause, {"Entrypoint": ["/pause"], "User": "65535:65535"}),
        DNS_IMAGE: archive(DNS_IMAGE, coredns, {"Entrypoint": ["/coredns"]}),
        BUSYBOX_IMAGE: archive(BUSYBOX_IMAGE, _busybox_entries(busybox), {"Cmd": ["/bin/sh"], "Env": ["PATH=/bin"]}),
    }


def ctr(layout: Layout, bin_: Path, *words: str | Path) -> str:
    return run([bin_ / "ctr", "--address", layout.containerd_socket, "-n", "k8s.io", *words], seconds=300)


def present(layout: Layout, bin_: Path) -> set[str]:
    """References of the images containerd has."""
    return set(ctr(layout, bin_, "images", "ls", "-q").split())


def references(archive_path: Path) -> set[str]:
    """The references a docker archive names; empty for any other file."""
    try:
        with tarfile.open(archive_path) as opened:
            member = opened.extractfile("manifest.json")
            manifest = json.loads(member.read(1 << 20)) if member else []
    except (KeyError, tarfile.TarError, ValueError):
        return set()
    return {tag for image in manifest for tag in image.get("RepoTags") or []}


def load(layout: Layout, bin_: Path, path: Path) -> None:
    """Import a docker or OCI archive; pods can use its references with imagePullPolicy Never or IfNotPresent."""
    ctr(layout, bin_, "images", "import", "--no-unpack=false", path)


def ensure_infrastructure(layout: Layout, bin_: Path, busybox: Path) -> bool:
    """Import the cluster's own images unless they are there; True when something was imported."""
    mark = layout.state / "infrastructure"
    have = present(layout, bin_)
    wanted = f"{bin_.name} {busybox.stat().st_mtime_ns}"
    if {PAUSE_IMAGE, DNS_IMAGE, BUSYBOX_IMAGE} <= have and mark.exists() and mark.read_text() == wanted:
        return False
    for content in infrastructure(bin_, busybox).values():
        path = layout.state / "import.tar"
        path.write_bytes(content)
        load(layout, bin_, path)
        path.unlink()
    mark.write_text(wanted)
    return True
