"""The demo's Run: the broken package as its workspace, followed to its end, its patch proven outside the product."""

import base64
import http.client
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from demo.clusters import Cluster
from demo.console import Address
from demo.state import ROOT, RUNS, State, say
from demo.tools import StepError, run

DEMO = ROOT / "examples" / "demo"
WORKSPACE = [sys.executable, str(DEMO / "workspace.py")]
DONE = {"Succeeded", "Failed", "Cancelled"}


def config_map() -> dict[str, Any]:
    """The ConfigMap with the broken package, as the Run's `archive` source."""
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "workspace.tar.gz"
        run(*WORKSPACE, "archive", str(archive))
        data = base64.b64encode(archive.read_bytes()).decode()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "cachetools-broken", "namespace": RUNS},
        "binaryData": {"workspace.tar.gz": data},
    }


def start(cluster: Cluster, state: State) -> str:
    """Applies the Guild, the workspace and a fresh Run; returns the Run's name."""
    say("\nThe Run:")
    state.save()
    name = f"fix-cachetools-{time.strftime('%H%M%S')}"
    cluster.kubectl("apply", "--filename", "-", stdin=json.dumps(config_map()))
    cluster.kubectl("--namespace", RUNS, "apply", "--filename", str(DEMO / "guild.yaml"))
    manifest = (DEMO / "run.yaml").read_text().replace("name: fix-cachetools\n", f"name: {name}\n")
    cluster.kubectl("--namespace", RUNS, "apply", "--filename", "-", stdin=manifest)
    say(f"  to watch it from another terminal:  {cluster.shell()}")
    say(f"  and there:  kubectl --namespace {RUNS} get run {name} --watch")
    return name


def _status(cluster: Cluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cluster.kubectl("--namespace", RUNS, "get", "run", name, "--output", "json"))
    status: dict[str, Any] = found.get("status", {})
    return status


def follow(cluster: Cluster, name: str, address: Address, seconds: int = 300) -> bool:
    """Prints each change of phase until the Run ends, then its row with all it cost; whether it succeeded."""
    said, end = "", time.monotonic() + seconds
    while time.monotonic() < end:
        status = _status(cluster, name)
        phase = status.get("phase", "Pending")
        line = f"{phase:<14} {status.get('reason', '')}"
        if line != said:
            said = line
            say(f"  {time.strftime('%H:%M:%S')}  {line}")
        if phase in DONE:
            _settle(cluster, name, address)
            say(f"\n{cluster.kubectl('--namespace', RUNS, 'get', 'run', name).rstrip()}")
            if phase != "Succeeded":
                say(_why(status))
            return bool(phase == "Succeeded")
        time.sleep(0.5)
    raise StepError(f"Run {RUNS}/{name} did not end within {seconds} s; see `kubectl describe run {name} -n {RUNS}`")


def _settle(cluster: Cluster, name: str, address: Address, seconds: float = 20) -> None:
    """Waits until the Run's row has every call of the ledger: the gateway writes a Run's figures every few seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        usage = _status(cluster, name).get("usage", {})
        totals = _ledger(address, name)
        if totals and all(usage.get(figure) == totals.get(figure) for figure in ("calls", "costMicroUSD")):
            return
        time.sleep(0.5)
    say("  (its last figures are not in its row yet)")


def _ledger(address: Address, name: str) -> dict[str, Any]:
    """The gateway's own totals for the Run; empty where the api cannot tell them now."""
    try:
        flow = _get(address, f"/api/runs/{RUNS}.{name}/flow", tries=1)
    except StepError:
        return {}
    totals: dict[str, Any] = (flow.get("ledger") or {}).get("totals", {})
    return totals


def _why(status: dict[str, Any]) -> str:
    done: dict[str, Any] = next((item for item in status.get("conditions", []) if item["type"] == "Succeeded"), {})
    return f"  {done.get('reason', '?')}: {done.get('message', '')}"


def prove(cluster: Cluster, name: str, address: Address) -> bool:
    """Fetches the patch from the api and checks it with nothing of Guildhall's: source, fault, patch, test-suite."""
    changes = _get(address, f"/api/runs/{RUNS}.{name}/changes", "patch")
    patch = changes.get("patch")
    if not patch:
        say(f"  no patch: {changes.get('message', 'the api has none')}")
        return False
    say("\nThe patch it made:\n" + "\n".join(f"    {line}" for line in patch.rstrip().splitlines()))
    say("\nProof outside Guildhall (pristine source from PyPI, the fault, then this patch):")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "run.patch"
        path.write_text(patch)
        return subprocess.run([*WORKSPACE, "check", str(path)], check=False).returncode == 0


def _get(address: Address, path: str, wanted: str = "", tries: int = 20) -> dict[str, Any]:
    """GET as JSON from the api; tried again while the field `wanted` is still on its way."""
    request = urllib.request.Request(address.url + path, headers={"Authorization": f"Bearer {address.token}"})  # noqa: S310
    for left in reversed(range(tries)):
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  our own port-forward
                body: dict[str, Any] = json.load(answer)
            if not wanted or body.get(wanted) or not left:
                return body
        except (OSError, ValueError, http.client.HTTPException) as error:  # a port-forward may die mid-answer
            if not left:
                raise StepError(f"GET {path} at {address.url} failed: {error}") from error
        time.sleep(1)
    return {}
