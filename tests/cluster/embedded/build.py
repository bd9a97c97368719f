"""Building the binaries, once for each version of their sources."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path

from .errors import StepError
from .layout import SOURCES, Layout
from .shell import say

KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "kubectl")
PACKAGES = (
    "./cmd/kcluster",
    "./cmd/pause",
    "go.etcd.io/etcd/server/v3",
    "github.com/containerd/containerd/v2/cmd/containerd",
    "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
    "github.com/containerd/containerd/v2/cmd/ctr",
    "helm.sh/helm/v3/cmd/helm",
    "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router",
)
# Built alone: it imports logrus by two spellings, which one command may not mix.
PROVISIONER = "github.com/rancher/local-path-provisioner"
VERSION_PACKAGE = "k8s.io/component-base/version"
KEPT_VERSIONS = 2
BUILD_LIMIT_SECONDS = 3600


def sources() -> list[Path]:
    """Every file that decides what the binaries are, in a fixed order."""
    modules = [SOURCES / name for name in ("go.mod", "go.sum", "dns/go.mod", "dns/go.sum")]
    programs = sorted([*(SOURCES / "cmd").rglob("*.go"), *(SOURCES / "dns").glob("*.go")])
    return [*modules, *programs]


def kubernetes_version(module: str) -> str:
    """The pinned version in the text of go.mod, as `v1.37.2`."""
    found = re.search(r"^\s*k8s\.io/kubernetes (v[\d.]+)$", module, re.MULTILINE)
    if not found:
        raise StepError(f"{SOURCES}/go.mod names no version of k8s.io/kubernetes")
    return found.group(1)


def flags(version: str) -> list[str]:
    """Build flags. The version is stamped, since Helm and clients compare it with what they need."""
    major, minor = version.removeprefix("v").split(".")[:2]
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    stamps = [f"-X {VERSION_PACKAGE}.{name}={value}" for name, value in values.items()]
    return ["-buildvcs=false", "-trimpath", "-ldflags", " ".join(["-s -w", *stamps])]


def fingerprint(files: list[Path]) -> str:
    """12 hex digits over names and contents."""
    digest = hashlib.sha256(" ".join([*PACKAGES, *flags("v0.0.0")]).encode())
    for path in files:
        digest.update(f"{path.relative_to(SOURCES)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def binaries(layout: Layout) -> Path:
    """The folder the binaries of the present sources are in, or will be."""
    return layout.cache / f"bin-{fingerprint(sources())}"


def _compile(folder: Path, out: Path, packages: tuple[str, ...], log: Path) -> None:
    """`go build -v`, with the number of compiled packages said every 20 seconds."""
    version = kubernetes_version((SOURCES / "go.mod").read_text())
    argv = ["go", "build", "-v", *flags(version), "-o", f"{out}/", *packages]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    with (
        log.open("ab") as sink,
        subprocess.Popen(
            argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
        ) as builder,
    ):
        finished = threading.Event()
        threading.Thread(target=_report, args=(log, finished), daemon=True).start()
        try:
            code = builder.wait(timeout=BUILD_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            builder.kill()
            code = -1
        finally:
            finished.set()
    if code != 0:
        raise StepError(f"go build in {folder} ended with {code}; read {log}")


def _report(log: Path, finished: threading.Event) -> None:
    while not finished.wait(20):
        say(f"  … {len(log.read_bytes().splitlines())} packages fetched or compiled")


def build(layout: Layout) -> Path:
    """Build what is not built yet and return the folder. Safe to interrupt: a half folder is never used."""
    target = binaries(layout)
    if target.exists():
        return target
    work = target.with_suffix(".partial")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (layout.cache / "build.log").unlink(missing_ok=True)
    began = time.monotonic()
    say(f"building Kubernetes, etcd, containerd, kube-router, helm and CoreDNS into {target}")
    _compile(SOURCES, work, PACKAGES, layout.cache / "build.log")
    _compile(SOURCES, work, (PROVISIONER,), layout.cache / "build.log")
    _compile(SOURCES / "dns", work / "coredns", (".",), layout.cache / "build.log")
    _arrange(work)
    work.rename(target)
    say(f"built in {time.monotonic() - began:.0f} s")
    _forget_old(layout, target)
    return target


def _arrange(work: Path) -> None:
    (work / "server").rename(work / "etcd")
    nested = work / "coredns"
    if nested.is_dir():
        (nested / "dns").rename(work / "coredns.bin")
        nested.rmdir()
        (work / "coredns.bin").rename(nested)
    for name in KUBERNETES:
        (work / name).symlink_to("kcluster")


def _forget_old(layout: Layout, present: Path) -> None:
    others = [p for p in layout.cache.glob("bin-*") if p != present]
    for old in sorted(others, key=lambda p: p.stat().st_mtime)[: -KEPT_VERSIONS + 1 or None]:
        shutil.rmtree(old, ignore_errors=True)
