"""Installs the chart."""

import json

from demo.clusters import Cluster
from demo.state import CONTROL, RELEASE, ROOT, RUNS, State, say
from demo.tools import StepError, run

SCENARIO = ROOT / "examples" / "scenarios" / "fix-cachetools.yaml"


def values(images: dict[str, str]) -> dict[str, object]:
    """The chart's values for the demo: one run namespace, made by the chart, and the demo's scenario."""
    refs = {name: images[name] for name in ("operator", "gateway", "api", "executor", "workshop", "fetcher")}
    return {
        "images": {**refs, "sandbox": images["sandbox-python"], "pullPolicy": "IfNotPresent"},
        "runNamespaces": [RUNS],
        "createRunNamespaces": True,
        "gateway": {"scenarios": {SCENARIO.name: SCENARIO.read_text()}},
    }


WAIT = ("--namespace", CONTROL, "--create-namespace", "--wait", "--timeout", "180s")


def crds(cluster: Cluster, state: State) -> None:
    """Installs the CRDs, unless somebody else's release has: those are used as they are.

    What was there before is never the demo's to delete, whichever release owns it: everybody's Runs would go with it.
    """
    owner = "jsonpath={.metadata.annotations.meta\\.helm\\.sh/release-namespace}"
    found = cluster.kubectl("get", "crd", "runs.guildhall.dev", "--ignore-not-found", "--output", owner)
    if found and found != CONTROL:
        say(f"  the CRDs are there already (a release in namespace {found} owns them) and are used as they are")
        return
    state.crds = state.crds or not found
    state.save()
    chart = str(ROOT / "charts" / "guildhall-crds")
    run("helm", "upgrade", "--install", f"{RELEASE}-crds", chart, *WAIT, environment=cluster.environment)


def claim(cluster: Cluster, state: State) -> None:
    """Records that the names the demo uses in this cluster are its own. StepError where they are somebody else's."""
    if state.installed:
        return
    there = cluster.kubectl("get", "namespace", CONTROL, RUNS, "--ignore-not-found", "--output", "name").split()
    if taken := _taken(cluster, there):
        state.forget()
        raise StepError(f"{taken}, and the demo did not make it; nothing was changed in that cluster")
    state.installed, state.namespaced = True, f"namespace/{CONTROL}" not in there
    state.save()


def _taken(cluster: Cluster, namespaces: list[str]) -> str:
    """What of somebody else's the demo would overwrite and, at its end, remove; empty if nothing."""
    listed = ("helm", "list", "--all", "--namespace", CONTROL, "--filter", f"^{RELEASE}$", "--short")
    if run(*listed, environment=cluster.environment).strip():
        return f"release {RELEASE} is in namespace {CONTROL} already"
    return f"namespace {RUNS} is there already" if f"namespace/{RUNS}" in namespaces else ""


def helm(cluster: Cluster, images: dict[str, str], state: State) -> None:
    """Installs (or upgrades) CRDs and chart and waits until everything is ready."""
    say("Installing the chart:")
    crds(cluster, state)
    arguments = ["helm", "upgrade", "--install", RELEASE, str(ROOT / "charts" / "guildhall"), *WAIT, "--values", "-"]
    run(*arguments, environment=cluster.environment, stdin=json.dumps(values(images)))
    say(cluster.kubectl("--namespace", CONTROL, "get", "deployments").rstrip())
