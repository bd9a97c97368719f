"""RunSchedules on a real cluster and a real clock: a minute is the smallest step there is, so this takes some."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.cluster import Cluster, eventually
from support.cluster_fixture import cluster
from support.operator_process import GUILD, SHORT_WAITS, OperatorProcess, condition, installed

__all__ = ["cluster"]
pytestmark = [pytest.mark.cluster, pytest.mark.slow]


def schedule(name: str, task: str, times: str = "* * * * *", **spec: Any) -> dict[str, Any]:
    template = {"guild": GUILD, "task": task}
    return {
        "apiVersion": "guildhall.dev/v1alpha1",
        "kind": "RunSchedule",
        "metadata": {"name": name},
        "spec": {"schedule": times, "runTemplate": {"spec": template}, **spec},
    }


PATIENT = {**SHORT_WAITS, "mountSeconds": 300, "imagePullSeconds": 300}
SCHEDULES = (
    schedule("each-minute", "sleep=1"),
    schedule("replaced", "sleep=300", concurrencyPolicy="Replace"),
    schedule("never", "sleep=1", suspend=True),
    schedule("yearly", "sleep=1", "0 3 1 1 *", timeZone="Europe/Berlin"),
    schedule("nowhere", "sleep=1", timeZone="Mars/Olympus"),
)


@pytest.fixture(scope="module", name="operator")
def _operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    folder: Path = tmp_path_factory.mktemp("schedules")
    with installed(cluster, folder) as found, cluster.enforced():
        found.start(waits=PATIENT)
        wait_for_second(5)  # so that no minute passes between making them and looking
        cluster.apply(*SCHEDULES, namespace=found.runs)
        yield found


def wait_for_second(second: int, until: int = 50) -> None:
    while not second <= datetime.now(UTC).second < until:
        time.sleep(0.2)


def runs_of(operator: OperatorProcess, name: str) -> list[dict[str, Any]]:
    """Runs of a schedule, by the time they were made for."""
    found = [run for run in operator.items("runs") if owner(run) == name]
    return sorted(found, key=made_for)


def owner(run: dict[str, Any]) -> str:
    (found,) = run["metadata"].get("ownerReferences", [{"name": ""}])
    return str(found["name"])


def made_for(run: dict[str, Any]) -> str:
    return str(run["metadata"]["annotations"]["guildhall.dev/scheduled-at"])


def status(operator: OperatorProcess, name: str) -> dict[str, Any]:
    found: dict[str, Any] = operator.cluster.get("runschedule", name, "-n", operator.runs).get("status", {})
    return found


def test_what_each_will_do_is_shown(operator: OperatorProcess) -> None:
    eventually(lambda: status(operator, "each-minute").get("nextScheduleTime"))
    eventually(lambda: condition({"status": status(operator, "nowhere")}, "Accepted").get("status") == "False")
    shown = operator.cluster.kubectl("get", "runschedules", "-n", operator.runs).splitlines()
    assert shown[0].split() == ["NAME", "SCHEDULE", "ZONE", "SUSPEND", "ACTIVE", "LAST", "NEXT", "REASON", "AGE"]
    text = "\n".join(shown)
    assert "Europe/Berlin" in text
    assert "SpecInvalid" in text
    assert status(operator, "yearly")["nextScheduleTime"].endswith("-01-01T02:00:00Z")
    assert condition({"status": status(operator, "never")}, "Accepted")["reason"] == "Suspended"


def test_a_minute_comes_and_a_run_with_it(operator: OperatorProcess) -> None:
    eventually(lambda: runs_of(operator, "each-minute"), seconds=70)
    (run,) = runs_of(operator, "each-minute")
    assert run["spec"]["mode"] == "scheduled"
    made = datetime.fromisoformat(run["metadata"]["creationTimestamp"])
    assert 0 <= (made - datetime.fromisoformat(made_for(run))).total_seconds() <= 5
    ended = operator.done(run["metadata"]["name"])
    assert ended["status"]["reason"] == "Completed"
    eventually(lambda: status(operator, "each-minute").get("lastRun") == run["metadata"]["name"])
    eventually(lambda: status(operator, "each-minute").get("activeCount") == 0)
    assert not runs_of(operator, "never")
    assert not runs_of(operator, "yearly")


def test_killed_over_the_next_minute_it_is_made_up_for_once(operator: OperatorProcess) -> None:
    (first,) = runs_of(operator, "each-minute")
    (replaced,) = runs_of(operator, "replaced")
    operator.wait(replaced["metadata"]["name"], {"Running"})
    operator.kill()
    due = datetime.fromisoformat(made_for(first)).timestamp() + 60
    while time.time() < due + 2:
        time.sleep(0.2)
    operator.start(waits=PATIENT)
    eventually(lambda: len(runs_of(operator, "each-minute")) == 2, seconds=20)
    operator.kill()
    operator.start(waits=PATIENT)
    operator.kill()
    operator.start(waits=PATIENT)
    eventually(lambda: len(runs_of(operator, "replaced")) == 2, seconds=20)
    assert [made_for(run) for run in runs_of(operator, "each-minute")] == [
        made_for(first), datetime.fromtimestamp(due, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    ]  # fmt: skip
    assert operator.done(replaced["metadata"]["name"])["status"]["reason"] == "Cancelled"
    assert "403" not in operator.log()
    assert "Traceback" not in operator.log()


def test_a_deleted_schedule_takes_its_runs_along(operator: OperatorProcess) -> None:
    runs = runs_of(operator, "replaced")
    assert runs, "control"
    operator.cluster.kubectl("delete", "runschedules", "--all", "-n", operator.runs)
    eventually(lambda: not operator.items("runs"), seconds=60)
    eventually(
        lambda: not [p for p in operator.items("pods") if "guildhall.dev/run" in p["metadata"].get("labels", {})],
        seconds=60,
    )
    events = [item for item in operator.items("events") if item["involvedObject"].get("kind") == "RunSchedule"]
    assert {item["reason"] for item in events} == {"Scheduled"}, json.dumps([item["message"] for item in events])
