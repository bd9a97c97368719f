"""The operator on a real cluster, with stand-ins for the containers: how Runs start, end and leave nothing behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cluster import Cluster, eventually
from support.cluster_fixture import cluster
from support.operator_process import OperatorProcess, condition, installed

__all__ = ["cluster"]
pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    folder: Path = tmp_path_factory.mktemp("operator")
    with installed(cluster, folder) as found:
        found.start()
        yield found


def test_a_run_goes_from_created_to_succeeded(operator: OperatorProcess) -> None:
    operator.create("plain", "sleep=2")
    run = operator.done("plain")
    status = run["status"]
    assert (status["phase"], status["reason"]) == ("Succeeded", "Completed")
    assert condition(run, "IsolationVerified")["status"] == "True"
    attempt = status["attempts"][0]
    assert attempt["podUid"]
    assert attempt["node"]
    assert status["guildDigest"]
    assert status["startTime"] <= status["completionTime"]
    assert not run["metadata"].get("finalizers")
    assert not run["metadata"].get("annotations")
    assert "403" not in operator.log()


def test_a_sealed_run_keeps_its_status_and_nothing_else(operator: OperatorProcess) -> None:
    operator.create("sealed", "outcome=succeeded")
    operator.done("sealed")
    uid = operator.run("sealed")["metadata"]["uid"]
    mine = lambda kind: [  # noqa: E731
        item for item in operator.items(kind) if item["metadata"].get("labels", {}).get("guildhall.dev/run") == uid
    ]
    assert mine("jobs")
    assert mine("persistentvolumeclaims")
    operator.api_stored("sealed", 3)
    eventually(lambda: condition(operator.run("sealed"), "Sealed").get("status") == "True")
    eventually(lambda: not mine("jobs") and not mine("pods") and not mine("persistentvolumeclaims"), seconds=40)
