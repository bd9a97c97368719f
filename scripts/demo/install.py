"""Runs the tools of the demo and installs the chart."""

import json
import subprocess
from typing import TYPE_CHECKING

from demo.state import CONTROL, RELEASE, ROOT, RUNS, State, say

if TYPE_CHECKING:
    from demo.clusters import Cluster

SCENARIO = ROOT / "examples" / "scenarios" / "fix-cachetools.yaml"


class StepError(Exception):
    """A step of the demo failed; the message has the tool's own words."""


def run(*command: str, environment: dict[str, str] | None = None, stdin: str | None = None, seconds: int = 300) -> str:
    """The output of `command`. Raises StepError with its last words."""
    try:
        done = subprocess.run(
            command, env=environment, input=stdin, capture_output=True, text=True, timeout=seconds, check=False
        )
    except FileNotFoundError as error:
        raise StepError(f"'{command[0]}' is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise StepError(f"`{' '.join(command[:4])} …` took longer than {seconds} s") from error
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise StepError(f"`{' '.join(command[:6])}` failed: {words}")
    return done.stdout


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


def crds(cluster: "Cluster", state: State) -> None:
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


def helm(cluster: "Cluster", images: dict[str, str], state: State) -> None:
    """Installs (or upgrades) CRDs and chart and waits until everything is ready."""
    say("Installing the chart:")
    state.installed = True
    state.save()
    crds(cluster, state)
    arguments = ["helm", "upgrade", "--install", RELEASE, str(ROOT / "charts" / "guildhall"), *WAIT, "--values", "-"]
    run(*arguments, environment=cluster.environment, stdin=json.dumps(values(images)))
    say(cluster.kubectl("--namespace", CONTROL, "get", "deployments").rstrip())
