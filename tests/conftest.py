"""Fixtures that several kinds of test share."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cluster import Cluster
from support.cluster_fixture import cluster, namespace
from support.crds import install_crds
from support.installation import CONTROL, NAMESPACE, ROOT, Installation, port_forward

__all__ = ["cluster", "installation", "namespace"]

SCENARIOS = (ROOT / "examples" / "scenarios", ROOT / "tests" / "e2e" / "scenarios")


def _images() -> dict[str, str]:
    command = [sys.executable, ROOT / "images" / "build.py", "--load", "--json"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return {name: image["ref"] for name, image in json.loads(built.stdout).items()}


def values(images: dict[str, str]) -> dict[str, object]:
    """Chart values for the tests: one run namespace, every scenario there is."""
    files: list[Path] = [path for folder in SCENARIOS for path in sorted(folder.glob("*.yaml"))]
    refs = {name: images[name] for name in ("operator", "gateway", "api", "executor", "workshop")}
    return {
        "images": {**refs, "sandbox": images["sandbox-python"], "pullPolicy": "IfNotPresent"},
        "runNamespaces": [NAMESPACE],
        "createRunNamespaces": True,
        "runs": {"sealWaitSeconds": 20, "maxConcurrent": 12},
        "isolation": {"timeoutSeconds": 20},
        "gateway": {"scenarios": {path.name: path.read_text() for path in files}},
    }


def install(cluster: Cluster) -> Installation:
    """Installs (or upgrades) the chart with images of this checkout, and a viewer with a token."""
    here = Installation(cluster, _images())
    install_crds(cluster)
    wait = ("-n", CONTROL, "--create-namespace", "--wait", "--timeout", "180s")
    chart = str(ROOT / "charts" / "guildhall")
    here.tool(
        "helm", "upgrade", "--install", "guildhall", chart, *wait, "-f", "-", stdin=json.dumps(values(here.images))
    )
    here.kubectl("-n", NAMESPACE, "apply", "-f", str(ROOT / "examples" / "demo" / "viewer.yaml"))
    here.token = here.kubectl("-n", NAMESPACE, "create", "token", "demo-viewer", "--duration", "4h").strip()
    return here


@pytest.fixture(scope="session")
def installation(cluster: Cluster) -> Iterator[Installation]:
    """Guildhall installed from its chart; reused and upgraded if it is there already."""
    here = install(cluster)
    with port_forward(here.environment, "guildhall-api", 80) as url:
        here.url = url
        yield here
