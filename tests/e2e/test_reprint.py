"""The api is away until a Run's executor is dead and its log rotated: the journal fills what the log lost."""

import json
import subprocess
import time
from collections.abc import Iterator

import pytest
from support.installation import Installation, condition, one_role_guild, run_manifest

pytestmark = [pytest.mark.cluster, pytest.mark.alone]

CLUSTER = ("python3", "tests/cluster/cluster.py", "up", "--yes", "--log-max-size")
NAME = "reprinted"


@pytest.fixture
def _api_away(installation: Installation) -> Iterator[None]:
    scale_api(installation, 0)
    try:
        yield
    finally:
        scale_api(installation, 1)


def scale_api(here: Installation, replicas: int) -> None:
    here.control_kubectl("scale", "deployment/guildhall-api", f"--replicas={replicas}")
    here.control_kubectl("rollout", "status", "deployment/guildhall-api", "--timeout=120s")


@pytest.fixture
def _small_logs(installation: Installation) -> Iterator[None]:
    """Logs rotate at 1 MiB and the api is away; afterwards both are as before."""
    subprocess.run([*CLUSTER, "1Mi"], check=True, capture_output=True)
    scale_api(installation, 0)
    try:
        yield
    finally:
        scale_api(installation, 1)
        subprocess.run([*CLUSTER, "10Mi"], check=True, capture_output=True)


def first_line(here: Installation, uid: str) -> str:
    """Where the log of the Run's pod begins now."""
    selector = ("-l", f"guildhall.dev/run={uid}", "-c", "executor")
    return here.kubectl("-n", here.namespace, "logs", *selector, "--tail=-1", "--limit-bytes=400", check=False)


def sealed_and_rounds(here: Installation, uid: str, seconds: float) -> set[str]:
    """Waits until everything is stored; the names of the Jobs that printed the journal again meanwhile."""
    rounds: set[str] = set()
    end = time.monotonic() + seconds
    while condition(here.get("run", NAME), "Sealed").get("status") != "True":
        assert time.monotonic() < end, here.story(NAME)
        rounds |= {
            job["metadata"]["name"]
            for job in here.items("jobs", selector=f"guildhall.dev/resend,guildhall.dev/run={uid}")
        }
        time.sleep(0.3)
    return rounds


@pytest.mark.usefixtures("_small_logs")
def test_a_dead_executors_journal_fills_what_its_log_lost(installation: Installation) -> None:
    installation.delete("run", NAME)
    installation.apply(run_manifest(NAME, guild=one_role_guild("talkative", "run_shell")))
    run = installation.wait_done(NAME, 120)
    assert condition(run, "Succeeded")["status"] == "True", installation.story(NAME)
    uid = run["metadata"]["uid"]
    assert '"run.started"' not in first_line(installation, uid), "control: the log itself has lost its beginning"
    assert run["status"].get("archive", {}).get("storedSeq", 0) == 0, "control: nobody read it in time"

    scale_api(installation, 1)
    rounds = sealed_and_rounds(installation, uid, 90)
    assert rounds, "the journal was printed again"
    assert len(rounds) <= 3
    events = installation.events_of(NAME)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("run.started", "run.finished")
    assert sum(len(json.dumps(event)) for event in events) > 2 * 1024 * 1024
    model = installation.api(f"/api/runs/{installation.namespace}.{NAME}/flow").body["model"]
    assert (model["run"]["gaps"], model["run"]["unreadable"]) == ([], 0)

    end = time.monotonic() + 30
    while left := [
        item for kind in ("jobs", "pods") for item in installation.items(kind, selector=f"guildhall.dev/run={uid}")
    ]:
        assert time.monotonic() < end, [item["metadata"]["name"] for item in left]
        time.sleep(0.5)


@pytest.mark.usefixtures("_api_away")
def test_what_a_deleted_pod_said_is_not_gone_with_its_log(installation: Installation) -> None:
    """Nobody read the log while there was one; all that is left is the journal."""
    name = "gone-unread"
    installation.delete("run", name)
    installation.apply(run_manifest(name, guild=one_role_guild("slow", "write_file", "run_shell")))
    installation.wait_run(name, lambda run: condition(run, "Running").get("status") == "True", 60)
    uid = installation.get("run", name)["metadata"]["uid"]
    selector = f"guildhall.dev/run={uid}"
    (pod,) = [item["metadata"]["name"] for item in installation.items("pods", selector=selector)]
    end = time.monotonic() + 30
    log = ("-n", installation.namespace, "logs", pod, "-c", "executor")
    while '"tool.finished"' not in (said := installation.kubectl(*log)):
        assert time.monotonic() < end, said
        time.sleep(0.3)
    installation.kubectl("-n", installation.namespace, "delete", "pod", pod, "--wait=true", "--timeout=60s")
    run = installation.wait_done(name, 60)
    assert condition(run, "Succeeded")["status"] == "False"
    assert installation.items("pods", selector=selector) == [], "control: no pod, no log"

    scale_api(installation, 1)
    printed = [json.loads(line)["seq"] for line in said.split("\n")[:-1]]
    end = time.monotonic() + 90
    while [event["seq"] for event in installation.events_of(name)][: len(printed)] != printed:
        assert time.monotonic() < end, installation.story(name)
        time.sleep(1)
    sequence = [event["seq"] for event in installation.events_of(name)]
    assert sequence == list(range(1, len(sequence) + 1))
    model = installation.api(f"/api/runs/{installation.namespace}.{name}/flow").body["model"]
    assert model["run"]["gaps"] == []
    rounds = installation.items("jobs", selector=f"guildhall.dev/resend,{selector}")
    assert len(rounds) <= 1, "asked for once: what is printed says where a dead executor's journal ends"
    sealed = installation.wait_run(name, lambda found: condition(found, "Sealed").get("status") == "True", 60)
    assert condition(sealed, "Sealed")["reason"] == "Sealed", "whole, not given up"
