"""Promise: of fifty Runs whose first act is to connect none reaches anything, nor acts before isolation is proven."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from support.cluster import BUSYBOX, eventually, pod
from support.installation import DONE, Installation, condition, instant, one_role_guild, run_manifest
from support.volumes import ready_volumes

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.alone]
RUNS = 50
AT_ONCE_AT_LEAST = 5  # all fifty are let in at once; how many really run together is up to the node
DENIALS = 3
VOLUMES = "first-act"
CHART = {
    "storage": {"class": VOLUMES, "journalSize": "16Mi"},
    "gateway": {"persistence": {"enabled": False}},  # they would ask for volumes of that class
    "api": {"persistence": {"enabled": False}},
    "runs": {"maxConcurrent": RUNS, "executorResources": {"cpu": "500m", "memory": "256Mi"}},
    "isolation": {"consecutiveDenials": DENIALS, "timeoutSeconds": 120},  # fifty pods start on a few processors
}
SMALL = {"cpu": "500m", "memory": "64Mi", "ephemeralStorage": "64Mi"}


def knock(here: Installation) -> str:
    """Shell words that try the gateway's canary, by Service and by pod, and the API server: three times, at once."""
    service = here.get("service", "guildhall-gateway", here.control)["spec"]["clusterIP"]
    (gateway,) = here.items("pods", here.control, "app.kubernetes.io/component=gateway")
    server = here.get("service", "kubernetes", "default")["spec"]["clusterIP"]
    places = f"{service}:8444 {gateway['status']['podIP']}:8444 {server}:443"
    return (
        f"for n in 1 2 3; do for to in {places}; do "
        'nc -w 1 "${to%:*}" "${to#*:}" </dev/null >/dev/null 2>&1 && echo "it answered: $to"; done; done; '
        "echo knocked $n times"
    )


def answers_of_a_free_pod(here: Installation, words: str) -> str:
    """What the same words print in the same namespace and image, in a pod that no policy selects."""
    here.apply(pod("free", ["sh", "-c", 'eval "$KNOCK"'], containers=[_container(words)]))
    eventually(lambda: here.get("pod", "free")["status"]["phase"] == "Succeeded", 60)
    return here.kubectl("-n", here.namespace, "logs", "free")


def _container(words: str) -> dict[str, Any]:
    (plain,) = pod("free", ["sh", "-c", 'eval "$KNOCK"'])["spec"]["containers"]
    return {**plain, "env": [{"name": "KNOCK", "value": words.replace("$", "$$")}]}


def container(found: dict[str, Any], name: str) -> dict[str, Any]:
    """The state of one container of a pod, of which the first key says its kind."""
    status = found["status"]
    listed = [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
    state: dict[str, Any] = next((each["state"] for each in listed if each["name"] == name), {})
    return state


def watched(here: Installation, names: list[str], seconds: float) -> tuple[list[dict[str, Any]], int]:
    """Each Run's pod as it was when its workshop ran, and how many pods were alive at one time, at most.

    Until every Run is over: a sealed Run's pod is removed.
    """
    seen: dict[str, dict[str, Any]] = {}
    most, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        pods = here.items("pods", selector="guildhall.dev/run")
        seen |= {each["metadata"]["name"]: each for each in pods if "running" in container(each, "workshop")}
        most = max(most, sum("running" in container(each, "executor") for each in pods))
        phases = [run.get("status", {}).get("phase") for run in here.items("runs")]
        if len(phases) == len(names) and set(phases) <= DONE:
            break
        time.sleep(0.5)
    return list(seen.values()), most


def proven_first(found: dict[str, Any]) -> None:
    """Nothing untrusted existed before `prepare`, our own, was denied by every required target in a row."""
    prepare = container(found, "prepare")["terminated"]
    evidence = json.loads(prepare["message"])
    tried = {each["name"]: each for each in evidence["targets"] if each["required"]}  # the own node is only told
    assert evidence["outcome"] == "passed"
    assert {"canary", "api-server"} <= set(tried)
    assert all(each["deniedInARow"] >= DENIALS and each["last"] != "answered" for each in tried.values()), tried
    assert instant(container(found, "workshop")["running"]["startedAt"]) >= instant(prepare["finishedAt"])


def test_fifty_runs_that_connect_first(own_installation: Installation, tmp_path: Path) -> None:
    here = own_installation
    words = knock(here)
    control = answers_of_a_free_pod(here, words)
    assert control.count("it answered") == 9, f"positive control: every place answers whom no policy stops: {control}"
    names = [f"first-act-{number}" for number in range(RUNS)]
    guild = one_role_guild("connect-first", "run_shell")
    how = {"guild": guild, "resources": SMALL, "image": BUSYBOX, "env": {"KNOCK": words}}
    with ready_volumes(here, VOLUMES, tmp_path, RUNS):
        here.apply(*(run_manifest(name, **how) for name in names))
        pods, most = watched(here, names, 300)
    for name in names:
        run = here.get("run", name)
        assert condition(run, "Succeeded").get("status") == "True", (run["status"], here.story(name))
        assert condition(run, "IsolationVerified")["status"] == "True"
        events = here.events_of(name)
        assert (events[0]["type"], events[0]["isolation"]) == ("run.started", "verified")
        (act,) = [event for event in events if event["type"] == "tool.finished"]
        assert act["output"].splitlines()[-1] == "knocked 3 times"
        assert "it answered" not in act["output"]
    assert len(pods) == RUNS
    for each in pods:
        proven_first(each)
    assert most >= AT_ONCE_AT_LEAST
