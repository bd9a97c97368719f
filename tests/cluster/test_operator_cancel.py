"""Cancel at every moment of a Run that can be reached: it ends Cancelled, and no pod of it is left alive."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.cluster import Cluster, eventually
from support.cluster_fixture import cluster
from support.operator_process import SHORT_WAITS, OperatorProcess, condition, installed

__all__ = ["cluster"]
pytestmark = [pytest.mark.cluster, pytest.mark.slow]
UNREACHABLE_IMAGE = "127.0.0.1:9/nothing:1"
PATIENT = {**SHORT_WAITS, "guildSeconds": 300, "imagePullSeconds": 300, "mountSeconds": 300, "cancelGraceSeconds": 2}
KEPT = {"storage": {"size": "16Mi"}}
CLAIM = {"claim": {"name": "shared"}}

Moment = tuple[dict[str, Any], Callable[[dict[str, Any]], bool]]


def reason(run: dict[str, Any]) -> str:
    return str(run.get("status", {}).get("reason", ""))


def phase(run: dict[str, Any]) -> str:
    return str(run.get("status", {}).get("phase", ""))


MOMENTS: dict[str, Moment] = {
    "pending": ({"guildRef": {"name": "comes-late"}}, lambda run: phase(run) in {"", "Pending"}),
    "suspended": ({"suspend": True}, lambda run: reason(run) == "Suspended"),
    "holder": ({"task": "sleep=300", "workspace": CLAIM}, lambda run: phase(run) == "Running"),
    "queued": ({"workspace": CLAIM}, lambda run: reason(run) == "WorkspaceBusy"),
    "mounting": ({"workspace": {"archive": {"configMap": "not-there"}}}, lambda run: reason(run) == "MountFailed"),
    "pulling": ({"image": UNREACHABLE_IMAGE}, lambda run: reason(run) == "ImagePullFailed"),
    "running": ({"task": "sleep=300"}, lambda run: phase(run) == "Running"),
    "deaf": ({"task": "sleep=300 term=ignore"}, lambda run: phase(run) == "Running"),
    "between": ({"task": "sleep=300", "workspace": KEPT}, lambda run: phase(run) == "Running"),
    "ended": ({"task": "sleep=0"}, lambda run: phase(run) == "Succeeded"),
    "sealed": ({"task": "sleep=0"}, lambda run: condition(run, "Sealed").get("status") == "True"),
}
STAYS = {"ended", "sealed"}


@pytest.fixture(scope="module", name="operator")
def _operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    """Every Run of the table, each brought to its moment and then cancelled with all others at once."""
    folder: Path = tmp_path_factory.mktemp("cancel")
    with installed(cluster, folder) as found, cluster.enforced():
        found.start(waits=PATIENT, maxConcurrentRuns=20)
        found.claim("shared")
        for name, (body, _) in MOMENTS.items():
            if name != "queued":
                found.create(name, **body)
        reach(found, "holder")
        found.create("queued", **MOMENTS["queued"][0])
        reach(found, "sealed", stored=True)
        for name in MOMENTS:
            reach(found, name)
        found.patch("between", suspend=True)
        eventually(lambda: reason(found.run("between")) == "Suspended", seconds=40)
        for name in MOMENTS:
            found.patch(name, cancel=True)
        yield found


def reach(operator: OperatorProcess, name: str, *, stored: bool = False) -> None:
    if stored:
        operator.done(name)
        operator.api_stored(name, 3)
    eventually(lambda: MOMENTS[name][1](operator.run(name)), seconds=60)


def alive(operator: OperatorProcess, uid: str) -> list[str]:
    """Pods that can still do something."""
    mine = [pod for pod in operator.items("pods") if pod["metadata"].get("labels", {}).get("guildhall.dev/run") == uid]
    return [pod["metadata"]["name"] for pod in mine if pod["status"]["phase"] not in {"Succeeded", "Failed"}]


@pytest.mark.parametrize("name", MOMENTS)
def test_cancelled(operator: OperatorProcess, name: str) -> None:
    """OP-17: no pod of it is alive a minute later."""
    began = time.monotonic()
    run = operator.done(name, seconds=60)
    expected = ("Succeeded", "Completed") if name in STAYS else ("Cancelled", "Cancelled")
    assert (phase(run), reason(run)) == expected, json.dumps(run["status"])
    uid = run["metadata"]["uid"]
    eventually(lambda: not alive(operator, uid), seconds=60)
    assert time.monotonic() - began < 60
    if name in {"pending", "suspended", "queued"}:
        assert not [job for job in operator.items("jobs") if job["metadata"]["labels"]["guildhall.dev/run"] == uid]


def test_what_was_cancelled_stays_so(operator: OperatorProcess) -> None:
    back = operator.cluster.attempt(
        "patch", "run", "running", "-n", operator.runs, "--type=merge", "-p", '{"spec":{"cancel":false}}'
    )
    assert back.returncode != 0
    assert "stays cancelled" in back.stderr


def test_deleting_a_run_or_its_job_leaves_no_pod(operator: OperatorProcess) -> None:
    """OP-17 by the other ways: the object deleted, and the Job deleted without a word about its pod."""
    operator.create("deleted", "sleep=300 term=ignore")
    operator.create("job-deleted", "sleep=300")
    runs = {name: operator.wait(name, {"Running"}) for name in ("deleted", "job-deleted")}
    job = runs["job-deleted"]["status"]["attempts"][0]["job"]
    operator.cluster.kubectl("delete", "run", "deleted", "-n", operator.runs, "--wait=false")
    operator.cluster.kubectl("delete", "job", job, "-n", operator.runs, "--cascade=orphan", "--wait=false")
    eventually(lambda: not alive(operator, runs["deleted"]["metadata"]["uid"]), seconds=60)
    operator.patch("job-deleted", cancel=True)
    operator.done("job-deleted", seconds=60)
    eventually(lambda: not alive(operator, runs["job-deleted"]["metadata"]["uid"]), seconds=60)
