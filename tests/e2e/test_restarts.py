"""`kill -9` of operator, api and gateway in the middle of a Run: it ends right, in one pod, nothing lost or doubled."""

import json
import os
import signal
import subprocess
from collections import Counter
from typing import Any

import pytest
from support.cluster import eventually
from support.installation import Installation, condition, one_role_guild, run_manifest
from support.podwatch import watched_pods
from support.processes import process_of, wait_ready

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
POINTS = {
    "created": lambda here, name: True,
    "accepted": lambda here, name: condition(here.get("run", name), "Accepted").get("status") == "True",
    "verified": lambda here, name: condition(here.get("run", name), "IsolationVerified").get("status") == "True",
    "working": lambda here, name: printed(here, name, "tool.finished") >= 1,
    "half-way": lambda here, name: printed(here, name, "model.finished") >= 3,
}


def fresh(here: Installation, component: str) -> None:
    """A component that was restarted before gets a new pod, or the kubelet's back-off would add up over the tests."""
    selector = f"app.kubernetes.io/component={component}"
    for pod in here.items("pods", here.control, selector):
        if any(status["restartCount"] for status in pod["status"].get("containerStatuses", [])):
            here.control_kubectl("delete", "pod", pod["metadata"]["name"], "--wait=true", "--timeout=60s")
    wait_ready(here)


def journal_events(here: Installation, name: str) -> list[dict[str, Any]]:
    """What the executor printed so far, read from its log past every component of ours."""
    uid = here.get("run", name)["metadata"]["uid"]
    out = here.kubectl(
        "-n", here.namespace, "logs", "-l", f"guildhall.dev/run={uid}", "-c", "executor", "--tail=-1", check=False
    )
    events = []
    for line in out.splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            continue
    return events


def printed(here: Installation, name: str, kind: str) -> int:
    """How many events of a kind the executor printed so far."""
    return sum(event["type"] == kind for event in journal_events(here, name))


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("component", ["operator", "gateway", "api"])
def test_killed(own_installation: Installation, component: str, point: str) -> None:
    installation = own_installation
    name = f"kill-{component}-{point}"
    fresh(installation, component)
    victim = process_of(installation, component)
    installation.delete("run", name)
    with watched_pods(installation) as pods_of:
        installation.apply(run_manifest(name, guild=one_role_guild("brisk", "write_file", "run_shell")))
        eventually(lambda: POINTS[point](installation, name), seconds=60)
        os.kill(victim, signal.SIGKILL)
        run = installation.wait_done(name, 180)
        assert condition(run, "Succeeded")["status"] == "True", installation.story(name)
        wait_ready(installation)
        sealed = installation.wait_run(name, lambda found: condition(found, "Sealed").get("status") == "True", 90)
        [attempt] = run["status"]["attempts"]
        assert pods_of(run["metadata"]["uid"]) == {attempt["podUid"]}, "one pod in the whole life of the Run"
    assert condition(sealed, "Sealed")["reason"] == "Sealed"
    sequence = [event["seq"] for event in installation.events_of(name)]
    assert sequence == list(range(1, len(sequence) + 1))
    ledger = installation.api(f"/api/runs/{installation.namespace}.{name}/flow").body["ledger"]
    settled = Counter(call["callId"] for call in ledger["calls"] if call["state"] == "settled")
    assert sorted(settled.values()) == [1] * 6, "one settlement per call"
    cut = [call for call in ledger["calls"] if call["state"] != "settled"]
    assert len(cut) <= (component == "gateway"), "only the call the gateway died in was tried again"
    assert {call["callId"] for call in cut} <= set(settled)


@pytest.mark.alone
def test_a_rotated_log_is_repaired_while_the_api_was_away(installation: Installation) -> None:
    """The log rotates at 1 MiB with the api down; afterwards the api has every event, without a hole."""
    name = "rotated"
    cluster = ["python3", "tests/cluster/cluster.py"]
    subprocess.run([*cluster, "up", "--yes", "--log-max-size", "1Mi"], check=True, capture_output=True)
    try:
        installation.delete("run", name)
        installation.control_kubectl("scale", "deployment/guildhall-api", "--replicas=0")
        installation.apply(run_manifest(name, guild=one_role_guild("talkative", "run_shell")))
        installation.wait_run(name, lambda run: condition(run, "Running").get("status") == "True", 60)
        logs = installation.cluster.kubeconfig.parent.parent / "pod-logs"
        pod = f"{installation.namespace}_{name}-*"
        eventually(lambda: list(logs.glob(f"{pod}/executor/*.log.*")), seconds=90)
        installation.control_kubectl("scale", "deployment/guildhall-api", "--replicas=1")
        wait_ready(installation)
        run = installation.wait_done(name, 180)
        assert condition(run, "Succeeded")["status"] == "True", installation.story(name)
        installation.wait_run(name, lambda found: condition(found, "Sealed").get("status") == "True", 90)
        sequence = [event["seq"] for event in installation.events_of(name)]
        assert sequence == list(range(1, len(sequence) + 1))
        assert sum(len(json.dumps(event)) for event in installation.events_of(name)) > 2 * 1024 * 1024
    finally:
        installation.control_kubectl("scale", "deployment/guildhall-api", "--replicas=1")
        subprocess.run([*cluster, "up", "--yes", "--log-max-size", "10Mi"], check=True, capture_output=True)
