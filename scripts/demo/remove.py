"""`make demo-down`: removes what the demo made, and nothing else."""

import os
import subprocess
import sys

from demo.clusters import EMBEDDED, KIND_NAME, Cluster, Context, Embedded, Kind
from demo.console import stop_forward
from demo.state import CONTROL, FILE, RELEASE, ROOT, RUNS, State, say
from demo.tools import StepError, run


def _cluster(state: State) -> Cluster | None:
    if state.cluster.startswith("context:"):
        return Context(state, state.cluster.removeprefix("context:"))
    return {"kind": Kind, "embedded": Embedded}[state.cluster](state) if state.cluster else None


CRDS = tuple(f"{path.stem}.guildhall.dev" for path in sorted((ROOT / "crds").glob("*.yaml")))


def _uninstall(cluster: Cluster, state: State) -> None:
    """Runs first (their pods end with them), then chart, CRDs (if the demo made them) and namespaces."""
    steps: list[tuple[str, ...]] = [
        ("kubectl", "delete", "namespace", RUNS, "--ignore-not-found", "--timeout=120s"),
        ("helm", "uninstall", RELEASE, "--namespace", CONTROL, "--ignore-not-found", "--wait"),
    ]
    if state.crds:
        steps += [
            ("helm", "uninstall", f"{RELEASE}-crds", "--namespace", CONTROL, "--ignore-not-found", "--wait"),
            ("kubectl", "delete", "crd", *CRDS, "--ignore-not-found", "--timeout=120s"),
        ]
    for step in steps:
        _do(cluster, *step)
    if run("helm", "list", "--namespace", CONTROL, "--short", environment=cluster.environment).strip():
        say(f"  kept: namespace {CONTROL}, where another release lives")
    else:
        _do(cluster, "kubectl", "delete", "namespace", CONTROL, "--ignore-not-found", "--timeout=120s")


def _do(cluster: Cluster, *step: str) -> None:
    run(*step, environment=cluster.environment)
    say(f"  done: {' '.join(step[:4])}")


def everything(state: State) -> int:
    """Port-forward, chart, namespaces, and the cluster itself if the demo started it."""
    stop_forward(state)
    cluster = _cluster(state)
    if cluster is None:
        say("Nothing to remove: no demo is recorded.")
        return 0
    if state.owned and state.cluster == "kind":
        run("kind", "delete", "cluster", "--name", KIND_NAME)
    elif state.owned and state.cluster == "embedded":
        if subprocess.run([sys.executable, EMBEDDED, "down"], env=dict(os.environ), check=False).returncode:
            raise StepError("the embedded cluster did not go down; its own message is above")
    elif state.installed and cluster.attach():
        _uninstall(cluster, state)
    (ROOT / "artifacts" / "demo.kubeconfig").unlink(missing_ok=True)
    FILE.unlink(missing_ok=True)
    say("The demo is gone. What was built stays cached in ~/.cache/guildhall; delete that to free the disk.")
    return 0
