"""Runs that wait: for a place, a workspace, a group or a quota; why is said, and they start by themselves, in order."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cluster import RESTRICTED, Cluster, eventually
from support.cluster_fixture import cluster
from support.operator_process import OperatorProcess, condition, installed

__all__ = ["cluster"]
pytestmark = [pytest.mark.cluster, pytest.mark.slow]
PLACES = 2


@pytest.fixture(scope="module", name="operator")
def _operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    folder: Path = tmp_path_factory.mktemp("queue")
    with installed(cluster, folder) as found, cluster.enforced():
        found.start(maxConcurrentRuns=PLACES)
        yield found


@pytest.fixture(autouse=True)
def _nothing_left(operator: OperatorProcess) -> Iterator[None]:
    yield
    operator.cluster.kubectl("delete", "runs", "--all", "-n", operator.runs, "--wait=true", "--timeout=60s")
    eventually(lambda: not operator.items("pods"), seconds=60)


def queued(operator: OperatorProcess, name: str) -> dict[str, Any]:
    return condition(operator.run(name), "Queued")


def jobs_of(operator: OperatorProcess, name: str) -> list[str]:
    uid = operator.run(name)["metadata"]["uid"]
    return [
        job["metadata"]["name"]
        for job in operator.items("jobs")
        if job["metadata"]["labels"].get("guildhall.dev/run") == uid
    ]


def test_runs_over_the_limit_wait_with_reason_and_position_and_go_in_order(operator: OperatorProcess) -> None:
    names = [f"in-order-{number}" for number in range(5)]
    for name in names[:PLACES]:
        operator.create(name, "sleep=4")
    for name in names[:PLACES]:
        eventually(lambda name=name: jobs_of(operator, name), seconds=30)
    for name in names[PLACES:]:
        operator.create(name, "sleep=1")
    eventually(lambda: queued(operator, names[-1]).get("reason") == "ConcurrencyLimit")
    assert "position" in queued(operator, names[-1])["message"]
    assert f"{PLACES} Runs at a time" in queued(operator, names[-1])["message"]
    ended = [operator.done(name, seconds=60) for name in names]
    assert {run["status"]["reason"] for run in ended} == {"Completed"}
    jobs = {job["metadata"]["labels"]["guildhall.dev/run"]: job for job in operator.items("jobs")}
    made = [jobs[run["metadata"]["uid"]]["metadata"]["creationTimestamp"] for run in ended]
    assert made == sorted(made), "let in, in order; which pod of two starts first is the kubelet's affair"
    assert made[-1] >= min(run["status"]["completionTime"] for run in ended[:PLACES]), "control: it did wait"


def test_a_cancelled_queue_starts_nothing(operator: OperatorProcess) -> None:
    """SQ-04."""
    names = [f"many-{number}" for number in range(10)]
    for name in names:
        operator.create(name, "sleep=300")
    running = names[:PLACES]
    for name in running:
        operator.wait(name, {"Running"})
    operator.cluster.kubectl(
        "patch", "run", *names, "-n", operator.runs, "--type=merge", "-p", '{"spec":{"cancel":true}}'
    )
    for name in names:
        assert operator.done(name, seconds=60)["status"]["reason"] == "Cancelled"
    made = {name: jobs_of(operator, name) for name in names}
    assert all(made[name] for name in running), "control: those that ran had one"
    assert not any(made[name] for name in names[PLACES:])


def test_one_run_of_a_group_at_a_time(operator: OperatorProcess) -> None:
    operator.create("group-a", "sleep=3", concurrencyGroup="main")
    operator.wait("group-a", {"Preparing", "Running"})
    operator.create("group-b", concurrencyGroup="main")
    operator.create("other", concurrencyGroup="another")
    eventually(lambda: queued(operator, "group-b").get("reason") == "WorkspaceBusy")
    assert "concurrencyGroup 'main'" in queued(operator, "group-b")["message"]
    other, second = operator.done("other"), operator.done("group-b")
    first = operator.run("group-a")
    assert second["status"]["startTime"] >= first["status"]["completionTime"]
    assert other["status"]["startTime"] <= first["status"]["completionTime"], "control: another group did not wait"


def test_a_quota_of_one_pod(operator: OperatorProcess) -> None:
    """SQ-01."""
    operator.cluster.kubectl("create", "quota", "one-pod", "-n", operator.runs, "--hard=pods=1")
    try:
        names = ["quota-0", "quota-1"]
        operator.create(names[0], "sleep=5")
        operator.wait(names[0], {"Running"})
        operator.create(names[1])
        eventually(lambda: queued(operator, names[1]).get("reason") == "QuotaExceeded", seconds=30)
        assert "exceeded quota: one-pod" in queued(operator, names[1])["message"]
        runs = [operator.done(name, seconds=120) for name in names]
        assert {run["status"]["reason"] for run in runs} == {"Completed"}
        assert runs[1]["status"]["startTime"] >= runs[0]["status"]["completionTime"], "waiting is no run time"
    finally:
        operator.cluster.kubectl("delete", "quota", "one-pod", "-n", operator.runs)


def test_a_quota_that_wants_every_limit(operator: OperatorProcess) -> None:
    """SQ-02: each container says what it needs, init containers included."""
    hard = "limits.cpu=20,limits.memory=20Gi,requests.cpu=10,requests.memory=20Gi,requests.ephemeral-storage=50Gi"
    operator.cluster.kubectl("create", "quota", "all-limits", "-n", operator.runs, f"--hard={hard}")
    try:
        operator.create("limited")
        assert operator.done("limited")["status"]["reason"] == "Completed"
        plain = {"containers": [{"name": "c", "image": "busybox", "securityContext": dict(RESTRICTED)}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "unlimited"}, "spec": plain}
        refused = operator.cluster.attempt("apply", "-f", "-", "-n", operator.runs, stdin=json.dumps(pod))
        assert "must specify" in refused.stderr, "control: the quota does refuse what says nothing"
    finally:
        operator.cluster.kubectl("delete", "quota", "all-limits", "-n", operator.runs)


def test_an_unschedulable_run_says_so_and_asks_for_no_more(operator: OperatorProcess) -> None:
    """SQ-07: no second pod, and no larger one."""
    memory = {"cpu": "1", "memory": "900Gi"}
    operator.create("huge", resources=memory)
    run = operator.wait("huge", {"Queued"})
    assert run["status"]["reason"] == "Unschedulable"
    operator.create("small")
    assert operator.done("small")["status"]["reason"] == "Completed", "control: what fits is not held up"
    assert len(operator.run("huge")["status"]["attempts"]) == 1
    (pod,) = [pod for pod in operator.items("pods") if pod["status"]["phase"] == "Pending"]
    asked = next(item for item in pod["spec"]["initContainers"] if item["name"] == "workshop")["resources"]
    assert asked["limits"]["memory"] == memory["memory"]
