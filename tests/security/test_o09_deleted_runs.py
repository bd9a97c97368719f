"""O9: a Run deleted while its pod bears SIGTERM and connects in a loop reaches nothing before the pod is gone."""

import subprocess
import time
from collections.abc import Iterator

import pytest
from support.cluster import Cluster, eventually, pod
from support.cluster_fixture import cluster
from support.operator_process import OperatorProcess, installed
from support.standin import IMAGE

__all__ = ["cluster"]
pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with installed(cluster, tmp_path_factory.mktemp("o09")) as found, cluster.enforced():
        found.start()
        yield found


def pod_of(operator: OperatorProcess, name: str) -> str:
    uid = operator.run(name)["metadata"]["uid"]
    found = [
        item for item in operator.items("pods") if item["metadata"].get("labels", {}).get("guildhall.dev/run") == uid
    ]
    return str(found[0]["metadata"]["name"])


def follow(operator: OperatorProcess, name: str) -> subprocess.Popen[str]:
    """The pod's log until its end."""
    argv = [str(operator.cluster.bin / "kubectl"), "--kubeconfig", str(operator.cluster.kubeconfig)]
    return subprocess.Popen(
        [*argv, "logs", "-f", "-n", operator.runs, name, "-c", "executor"], stdout=subprocess.PIPE, text=True
    )


def canary(operator: OperatorProcess) -> str:
    return str(operator.config["gateway"]["clusterIp"])


def test_the_canary_answers_whoever_is_not_shut_in(operator: OperatorProcess, cluster: Cluster) -> None:
    """The positive control: the same words from a pod without the label are answered."""
    script = f"nc -w 2 {canary(operator)} 8444 < /dev/null | grep -q canary && echo reached"
    free = pod("free", ["sh", "-c", script])
    free["spec"]["containers"][0]["image"] = IMAGE
    cluster.apply(free, namespace=operator.runs)
    eventually(lambda: cluster.get("pod", "free", "-n", operator.runs)["status"]["phase"] == "Succeeded")
    assert cluster.kubectl("logs", "free", "-n", operator.runs).strip() == "reached"


def test_a_deleted_run_reaches_nothing_until_its_pod_is_gone(operator: OperatorProcess, cluster: Cluster) -> None:
    operator.create("stubborn", f"sleep=300 term=ignore connect={canary(operator)}")
    operator.wait("stubborn", {"Running"})
    name = pod_of(operator, "stubborn")
    log = follow(operator, name)
    time.sleep(2)
    deleted = time.monotonic()
    cluster.kubectl("delete", "run", "stubborn", "-n", operator.runs)
    assert time.monotonic() - deleted < 5, "deleting a Run waits for nothing"
    time.sleep(3)
    still = cluster.attempt("get", "pod", name, "-n", operator.runs)
    assert still.returncode == 0, "the pod was meant to bear SIGTERM for its grace period"
    eventually(lambda: cluster.attempt("get", "pod", name, "-n", operator.runs).returncode != 0, seconds=60)
    words = log.communicate(timeout=30)[0].split()
    assert words.count("refused") >= 5
    assert "reached" not in words


def test_a_namespace_goes_with_the_operator_down(operator: OperatorProcess, cluster: Cluster) -> None:
    """Last in this file: it takes the run namespace away."""
    operator.create("orphan", f"sleep=300 term=ignore connect={canary(operator)}")
    operator.wait("orphan", {"Running"})
    log = follow(operator, pod_of(operator, "orphan"))
    operator.kill()
    cluster.kubectl("delete", "namespace", operator.runs, "--wait=false")
    eventually(lambda: cluster.attempt("get", "namespace", operator.runs).returncode != 0, seconds=90)
    words = log.communicate(timeout=30)[0].split()
    assert "refused" in words
    assert "reached" not in words
