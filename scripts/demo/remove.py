"""`make demo-down`: removes what the demo made, and nothing else."""

from demo.clusters import Cluster, Context, Embedded, Kind
from demo.console import stop_forward
from demo.state import CACHE, CONTROL, RELEASE, ROOT, RUNS, State, place, say
from demo.tools import run


def _cluster(state: State) -> Cluster | None:
    if state.cluster.startswith("context:"):
        return Context(state, state.cluster.removeprefix("context:"))
    return {"kind": Kind, "embedded": Embedded}[state.cluster](state) if state.cluster else None


GONE = f"""\
The demo is gone. What was built stays for the next time: 3.4 GB in {CACHE}, 6.7 GB in Go's caches, 0.4 GB in uv's.
To free that too: make cluster-down; rm -r {CACHE}; go clean -cache -modcache (these are all your Go projects')"""
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
    if not state.namespaced:
        say(f"  kept: namespace {CONTROL}, which was there before")
    elif run("helm", "list", "--namespace", CONTROL, "--short", environment=cluster.environment).strip():
        say(f"  kept: namespace {CONTROL}, where another release lives")
    else:
        _do(cluster, "kubectl", "delete", "namespace", CONTROL, "--ignore-not-found", "--timeout=120s")


def _do(cluster: Cluster, *step: str) -> None:
    run(*step, environment=cluster.environment)
    say(f"  done: {' '.join(step[:4])}")


def everything(state: State) -> int:
    """Port-forward, chart, namespaces, and the cluster itself if the demo made it. Raises StepError, then all is kept
    on record."""
    stop_forward(state)
    cluster = _cluster(state)
    if cluster is None:
        say("Nothing to remove: no demo is recorded.")
        return 0
    found = cluster.identity()
    if not found:
        say(f"Gone already, and the demo with it: {place(cluster.name)}.")
    elif not state.matches(found):
        cluster.another()
    elif state.owned:
        cluster.remove()
    elif state.installed and cluster.attach():
        _uninstall(cluster, state)
    state.forget()
    say(GONE)
    return 0
