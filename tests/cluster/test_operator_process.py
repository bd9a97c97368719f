"""The operator as a process: killed at any point, replaced, doubled; each Run still has one Job and one end."""

import re
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cluster import Cluster, eventually
from support.cluster_fixture import cluster
from support.operator_process import OperatorProcess, condition, free_port, installed

__all__ = ["cluster"]
pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    folder: Path = tmp_path_factory.mktemp("process")
    with installed(cluster, folder) as found, cluster.enforced():
        yield found


@pytest.fixture(autouse=True)
def at_rest(operator: OperatorProcess) -> Iterator[None]:
    yield
    operator.kill()


def jobs(operator: OperatorProcess, name: str) -> list[dict[str, Any]]:
    uid = operator.run(name)["metadata"]["uid"]
    return [job for job in operator.items("jobs") if job["metadata"]["labels"].get("guildhall.dev/run") == uid]


def pods(operator: OperatorProcess, name: str) -> list[dict[str, Any]]:
    uid = operator.run(name)["metadata"]["uid"]
    return [p for p in operator.items("pods") if p["metadata"].get("labels", {}).get("guildhall.dev/run") == uid]


def ended_well(operator: OperatorProcess, name: str) -> None:
    run = operator.done(name, seconds=90)
    assert (run["status"]["phase"], run["status"]["reason"]) == ("Succeeded", "Completed")
    assert len(run["status"]["attempts"]) == 1
    assert len(pods(operator, name)) == 1
    assert condition(run, "IsolationVerified")["status"] == "True"
    operator.api_stored(name, 3)
    eventually(lambda: condition(operator.run(name), "Sealed").get("status") == "True", seconds=30)


def test_killed_before_a_run_is_created(operator: OperatorProcess) -> None:
    operator.create("k1", "sleep=1")
    operator.start()
    ended_well(operator, "k1")


def test_killed_when_the_job_has_just_been_made(operator: OperatorProcess) -> None:
    operator.start()
    operator.create("k2", "sleep=3")
    eventually(lambda: jobs(operator, "k2"), pause=0.02)
    operator.kill()
    operator.start()
    ended_well(operator, "k2")


def test_killed_while_the_executor_runs(operator: OperatorProcess) -> None:
    operator.start()
    operator.create("k3", "sleep=10")
    operator.wait("k3", {"Running"})
    operator.kill()
    operator.start()
    ended_well(operator, "k3")


def test_killed_before_the_executor_ends(operator: OperatorProcess) -> None:
    operator.start()
    operator.create("k4", "sleep=4")
    operator.wait("k4", {"Running"})
    operator.kill()
    eventually(lambda: all(pod["status"]["phase"] == "Succeeded" for pod in pods(operator, "k4")), seconds=40)
    assert operator.run("k4")["status"]["phase"] == "Running"
    operator.start()
    ended_well(operator, "k4")


def test_killed_before_a_run_is_sealed(operator: OperatorProcess) -> None:
    operator.start()
    operator.create("k5")
    operator.done("k5")
    operator.kill()
    operator.api_stored("k5", 3)
    operator.start()
    eventually(lambda: condition(operator.run("k5"), "Sealed").get("status") == "True", seconds=30)
    eventually(lambda: not pods(operator, "k5"), seconds=40)


def test_a_restart_over_finished_runs_writes_nothing(operator: OperatorProcess, cluster: Cluster) -> None:
    def writes() -> int:
        account = f"system:serviceaccount:{operator.control}:guildhall-operator"
        found = [item for item in cluster.writes(operator.runs) if item["user"]["username"] == account]
        return len([item for item in found if item["objectRef"]["resource"] != "leases"])

    operator.start()
    operator.create("r1")
    ended_well(operator, "r1")
    eventually(lambda: not pods(operator, "r1"), seconds=40)
    operator.kill()
    before = writes()
    operator.start()
    operator.create("r2")
    ended_well(operator, "r2")
    assert writes() > before, "the positive control: a Run that is not finished does cost writes"
    eventually(lambda: not pods(operator, "r2"), seconds=40)
    operator.kill()
    before = writes()
    operator.start()
    eventually(lambda: 'guildhall_operator_runs{phase="Succeeded"}' in operator.page("/metrics")[1])
    operator.kill()
    assert writes() == before


def run_of(item: dict[str, Any]) -> str:
    """The Run whose Job an accepted request made; empty for any other request."""
    is_job = (item["verb"], item["objectRef"]["resource"]) == ("create", "jobs")
    made = is_job and item["responseStatus"]["code"] == 201
    return str(item["objectRef"].get("name", "")).rpartition("-a1")[0][:-37] if made else ""


def started(operator: OperatorProcess, name: str) -> int:
    uid = operator.run(name)["metadata"]["uid"]
    events = [item for item in operator.items("events") if item["involvedObject"].get("uid") == uid]
    return sum(item.get("count") or 1 for item in events if item["reason"] == "Started")


def test_two_operators_are_one(operator: OperatorProcess, cluster: Cluster, tmp_path: Path) -> None:
    operator.start()
    shutil.copy(operator.folder / "kubeconfig", tmp_path / "kubeconfig")
    second = replace(operator, folder=tmp_path, port=free_port(), process=None)
    second.launch()
    try:
        eventually(lambda: second.page("/readyz")[0] == 200, seconds=30)
        for number in range(3):
            operator.create(f"two-{number}", "sleep=2")
        for number in range(3):
            ended_well(operator, f"two-{number}")
        assert "serving Runs" not in second.log()
        assert second.page("/healthz")[0] == 200
        rolled = [f"roll-{number}" for number in range(5)]
        for name in rolled[:2]:
            operator.create(name, "sleep=1")
        operator.process.terminate()  # type: ignore[union-attr]
        for name in rolled[2:]:
            operator.create(name, "sleep=1")  # whoever serves by now
        assert operator.stop() == 0
        eventually(lambda: "serving Runs" in second.log(), seconds=20)
        for name in rolled:
            ended_well(operator, name)
        made = Counter(run_of(item) for item in cluster.writes(operator.runs))
        assert {name: made[name] for name in rolled} == dict.fromkeys(rolled, 1), "one Job each, by whichever operator"
        assert {name: started(operator, name) for name in rolled} == dict.fromkeys(rolled, 1), "and one history"
        assert "guildhall_operator_leading 1.0" in second.page("/metrics")[1]
    finally:
        second.kill()


def test_an_operator_that_loses_its_lease_stops(operator: OperatorProcess) -> None:
    operator.start()
    process = operator.process
    assert process is not None
    stolen = '{"spec":{"holderIdentity":"somebody-else","leaseDurationSeconds":30}}'
    operator.cluster.kubectl("patch", "lease", "guildhall-operator", "-n", operator.runs, "--type=merge", "-p", stolen)
    eventually(lambda: process.poll() is not None, seconds=30)
    assert process.returncode not in {0, -signal.SIGKILL}
    freed = '{"spec":{"holderIdentity":""}}'
    operator.cluster.kubectl("patch", "lease", "guildhall-operator", "-n", operator.runs, "--type=merge", "-p", freed)


def test_ready_within_ten_seconds(operator: OperatorProcess) -> None:
    """No right is missing and nothing is retried; the Lease is free."""
    operator.start(seconds=10)
    log = re.sub(r"(?m)^\S+ \S+ ", "", operator.log())  # without its times, whose milliseconds may be 403
    assert "403" not in log
    assert "Forbidden" not in log
