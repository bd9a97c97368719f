"""Fixtures that several kinds of test share, and how tests are spread over workers."""

import contextlib
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import injection
from support.cluster import Cluster
from support.cluster_fixture import cluster, namespace
from support.crds import install_crds
from support.git_pod import fetcher_values
from support.installation import CONTROL, NAMESPACE, ROOT, Installation, port_forward
from support.mcp_pod import connection_values

__all__ = ["cluster", "installation", "namespace", "own_installation"]

SCENARIOS = (ROOT / "examples" / "scenarios", ROOT / "tests" / "e2e" / "scenarios")
REPORTED = {"name": "public", "host": "192.0.2.1", "port": 443, "required": False}  # instead of the chart's: nobody's
INSTALL_LOCK = Path("/tmp/guildhall-tests-install.lock")  # shared by every worker of every run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow files begin first, so that none is left over at the end on one worker alone."""
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    with INSTALL_LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _images() -> dict[str, str]:
    command = [sys.executable, ROOT / "images" / "build.py", "--load", "--json"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return {name: image["ref"] for name, image in json.loads(built.stdout).items()}


def values(images: dict[str, str], runs: str = NAMESPACE) -> dict[str, object]:
    """Chart values for the tests: one run namespace, every scenario there is."""
    files: list[Path] = [path for folder in SCENARIOS for path in sorted(folder.glob("*.yaml"))]
    refs = {name: images[name] for name in ("operator", "gateway", "api", "executor", "workshop", "fetcher")}
    return {
        "images": {**refs, "sandbox": images["sandbox-python"], "pullPolicy": "IfNotPresent"},
        "runNamespaces": [runs],
        "createRunNamespaces": True,
        "runs": {"sealWaitSeconds": 20, "maxConcurrent": 12},
        "isolation": {"timeoutSeconds": 20, "targets": [REPORTED]},
        "fetcher": fetcher_values(),
        "gateway": {
            "connections": connection_values(runs),
            "scenarios": {path.name: path.read_text() for path in files} | injection.scenarios(),
        },
    }


def install(
    cluster: Cluster, control: str = CONTROL, runs: str = NAMESPACE, changes: dict[str, dict[str, object]] | None = None
) -> Installation:
    """Installs (or upgrades) the chart with images of this checkout, and a viewer with a token.

    `changes`: chart values of a group that differ from those of `values`.
    """
    with one_at_a_time():
        here = Installation(cluster, _images(), control=control, namespace=runs)
        install_crds(cluster)
        wait = ("-n", control, "--create-namespace", "--wait", "--timeout", "180s")
        chart, given = str(ROOT / "charts" / "guildhall"), json.dumps(values(here.images, runs))
        more = [f"--set-json={group}.{key}={json.dumps(value)}" for group, inner in (changes or {}).items()
                for key, value in inner.items()]  # fmt: skip
        here.tool("helm", "upgrade", "--install", "guildhall", chart, *wait, "-f", "-", *more, stdin=given)
    here.kubectl("-n", runs, "apply", "-f", str(ROOT / "examples" / "demo" / "viewer.yaml"))
    here.token = here.kubectl("-n", runs, "create", "token", "demo-viewer", "--duration", "4h").strip()
    return here


@pytest.fixture(scope="session")
def installation(cluster: Cluster) -> Iterator[Installation]:
    """Guildhall installed from its chart; reused and upgraded if it is there already, by every worker."""
    here = install(cluster)
    with port_forward(here.environment, "guildhall-api", 80) as url:
        here.url = url
        yield here


@pytest.fixture(scope="module")
def own_installation(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Installation]:
    """A release nobody else uses, for tests that kill or fill what others need; removed afterwards.

    A module's `CHART` has the values in which its release differs: `{group: {key: value}}`.
    """
    stem = request.module.__name__.rpartition("test_")[2].replace("_", "-")[:24]
    word = f"{stem}-{os.environ.get('PYTEST_XDIST_WORKER', 'gw')}"
    here = install(cluster, f"{word}-system", f"{word}-runs", getattr(request.module, "CHART", None))
    try:
        with port_forward(here.environment, "guildhall-api", 80, here.control) as url:
            here.url = url
            yield here
    finally:
        here.tool("helm", "uninstall", "guildhall", "-n", here.control, "--wait", check=False)
        here.kubectl("delete", "namespace", here.control, here.namespace, "--ignore-not-found", "--wait=false")
