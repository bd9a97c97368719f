"""The CRD chart, installed once for everybody: tests, the demo, and whoever was there before."""

import fcntl
import json
import os
import subprocess
from pathlib import Path

from support.cluster import Cluster

ROOT = Path(__file__).resolve().parents[2]
HOME = "guildhall-system"
LOCK = Path("/tmp/guildhall-tests-crds.lock")  # Helm refuses a second operation on one release


def install_crds(cluster: Cluster) -> None:
    """Installs or upgrades the CRDs in the release that owns them, else in one of its own in `HOME`."""
    found = cluster.attempt("get", "crd", "runs.guildhall.dev", "-o", "json")
    notes = json.loads(found.stdout)["metadata"].get("annotations", {}) if found.returncode == 0 else {}
    release = notes.get("meta.helm.sh/release-name", "guildhall-crds")
    namespace = notes.get("meta.helm.sh/release-namespace", HOME)
    command = [str(cluster.bin / "helm"), "upgrade", "--install", release, str(ROOT / "charts" / "guildhall-crds")]
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}
    command += ["-n", namespace, "--create-namespace"]
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
