"""R2: an executor that runs out of memory, the real one, killed by the kernel; and its record is complete even so."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cluster import Cluster, eventually
from support.cluster_fixture import cluster
from support.installation import ROOT
from support.operator_process import OperatorProcess, condition, installed

__all__ = ["cluster"]
pytestmark = pytest.mark.cluster
TINY, ENOUGH = {"cpu": "500m", "memory": "20Mi"}, {"cpu": "500m", "memory": "256Mi"}


@pytest.fixture(scope="module", name="operator")
def _operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    built = subprocess.run(
        [sys.executable, ROOT / "images" / "build.py", "--load", "--json"], capture_output=True, text=True, check=True
    )
    executor = json.loads(built.stdout)["executor"]["ref"]
    folder: Path = tmp_path_factory.mktemp("memory")
    with installed(cluster, folder, executor=executor) as found, cluster.enforced():
        yield found


def test_an_executor_without_memory_is_oom_killed_and_sealed(operator: OperatorProcess) -> None:
    operator.start(executorResources=TINY, sealWaitSeconds=120)
    operator.create("starved")
    run = operator.done("starved", seconds=90)
    assert (run["status"]["phase"], run["status"]["reason"]) == ("Failed", "OOMKilled")
    assert "executorResources.memory" in condition(run, "Succeeded")["message"]
    assert len(run["status"]["attempts"]) == 1, "what an agent did is not run again"
    mine = [pod for pod in operator.items("pods") if pod["metadata"]["labels"].get("guildhall.dev/attempt") == "1"]
    states = [
        status["state"]["terminated"]
        for pod in mine
        for status in pod["status"].get("containerStatuses", [])
        if "terminated" in status["state"] and "guildhall.dev/resend" not in pod["metadata"]["labels"]
    ]
    assert {(state["reason"], state["exitCode"]) for state in states} == {("OOMKilled", 137)}, "by the kernel"

    assert operator.stop() == 0
    operator.start(executorResources=ENOUGH, sealWaitSeconds=120)
    operator.create("fed")
    operator.wait("fed", {"Running"})
    eventually(lambda: condition(operator.run("starved"), "Sealed").get("status") == "True", seconds=90)
    assert condition(operator.run("starved"), "Sealed")["reason"] == "Sealed", (
        "the journal said that nothing is missing"
    )
    assert condition(operator.run("fed"), "Succeeded")["status"] == "Unknown", "control: with memory it lives"
