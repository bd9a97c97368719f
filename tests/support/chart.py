"""The chart as a test sees it: rendered by helm, or why it refused."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster.embedded.layout import from_environment

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "guildhall"
CRD_CHART = ROOT / "charts" / "guildhall-crds"
CONTROL = "guildhall-system"
RUNS = "guildhall-runs"


@cache
def helm() -> str:
    """Path of helm: on PATH, else the newest one the cluster build keeps; a skip where there is none."""
    found = shutil.which("helm")
    if found:
        return found
    built = from_environment().cache.glob("bin-*/helm")
    cached = sorted(built, key=lambda path: path.stat().st_mtime, reverse=True)
    if not cached:
        pytest.skip("no helm: not on PATH, and `make cluster-up` has not built one")
    return str(cached[0])


def attempt(
    *arguments: str, values: dict[str, Any] | None = None, chart: Path = CHART, namespace: str = CONTROL
) -> subprocess.CompletedProcess[str]:
    """`helm template` with `values`, whatever comes of it."""
    argv = [helm(), "template", "guildhall", str(chart), "-n", namespace, "--kube-version", "1.37.0",
            "--api-versions", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy", *arguments]  # fmt: skip
    if values is not None:
        argv += ["-f", "-"]
    return subprocess.run(
        argv, input=json.dumps(values or {}), capture_output=True, text=True, timeout=120, check=False
    )


def render(
    values: dict[str, Any] | None = None, *arguments: str, chart: Path = CHART, namespace: str = CONTROL
) -> list[dict[str, Any]]:
    """The rendered objects; AssertionError with helm's words when it refuses."""
    done = attempt(*arguments, values=values, chart=chart, namespace=namespace)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def find(objects: list[dict[str, Any]], kind: str, name: str, namespace: str | None = None) -> dict[str, Any]:
    """The one object of that kind and name."""
    found = [
        item
        for item in objects
        if item["kind"] == kind
        and item["metadata"]["name"] == name
        and (namespace is None or item["metadata"].get("namespace") == namespace)
    ]
    assert len(found) == 1, f"{len(found)} objects are {kind} {name} in {namespace or 'any namespace'}"
    return found[0]


def config_of(objects: list[dict[str, Any]], component: str) -> dict[str, Any]:
    """The decoded `config.json` the chart gives a component."""
    loaded: dict[str, Any] = json.loads(find(objects, "ConfigMap", f"guildhall-{component}")["data"]["config.json"])
    return loaded
