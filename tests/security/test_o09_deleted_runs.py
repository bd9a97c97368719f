"""O9: a Run deleted while its pod bears SIGTERM and connects in a loop reaches nothing before the pod is gone."""

import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from support.cluster import Cluster, eventually, pod
from support.cluster_fixture import cluster
from support.operator_process import OperatorProcess, installed
from support.standin import IMAGE

__all__ = ["cluster"]
pytestmark = pytest.mark.cluster
LONG_AGO = datetime.fromtimestamp(0, UTC)
STOP_GRACE_SECONDS = 10  # what the operator gives a run pod
KNOCKS = 4  # a dying pod knocks about once a second


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


class Words:
    """What the pod's executor says until its end, each word with the time at which it was said."""

    def __init__(self, operator: OperatorProcess, pod_name: str) -> None:
        self._path = operator.folder / f"{pod_name}.log"
        argv = [str(operator.cluster.bin / "kubectl"), "--kubeconfig", str(operator.cluster.kubeconfig)]
        with self._path.open("w") as out:
            self._process = subprocess.Popen(
                [*argv, "logs", "-f", "--timestamps", "-n", operator.runs, pod_name, "-c", "executor"], stdout=out
            )

    def since(self, moment: datetime) -> list[str]:
        """What came of the knocks since `moment`; why one was refused is left out."""
        lines = [line.split() for line in self._path.read_text().splitlines(keepends=True) if line.endswith("\n")]
        said = [line[1] for line in lines if datetime.fromisoformat(line[0]) > moment]
        return [word for word in said if word in {"reached", "refused"}]

    def all_since(self, moment: datetime) -> list[str]:
        """The same, once the pod has said its last."""
        self._process.wait(30)
        return self.since(moment)


def at_work(operator: OperatorProcess, name: str) -> tuple[str, Words]:
    """A Run that bears SIGTERM and has begun to knock at the canary: its pod and what that says."""
    operator.create(name, f"sleep=300 term=ignore connect={canary(operator)}")
    operator.wait(name, {"Running"})
    pod_name = pod_of(operator, name)
    words = Words(operator, pod_name)
    eventually(lambda: words.since(LONG_AGO))
    return pod_name, words


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
    name, words = at_work(operator, "stubborn")
    asked = time.monotonic()
    cluster.kubectl("delete", "run", "stubborn", "-n", operator.runs)
    assert time.monotonic() - asked < 5, "deleting a Run waits for nothing"
    deleted = datetime.now(UTC)
    eventually(lambda: len(words.since(deleted)) >= KNOCKS, seconds=STOP_GRACE_SECONDS)
    dying = cluster.get("pod", name, "-n", operator.runs)["metadata"]
    assert "deletionTimestamp" in dying, "the pod was meant to bear SIGTERM for its grace period"
    eventually(lambda: cluster.attempt("get", "pod", name, "-n", operator.runs).returncode != 0, seconds=60)
    assert set(words.all_since(LONG_AGO)) == {"refused"}


def test_a_namespace_goes_with_the_operator_down(operator: OperatorProcess, cluster: Cluster) -> None:
    """Last in this file: it takes the run namespace away."""
    name, words = at_work(operator, "orphan")
    operator.kill()
    cluster.kubectl("delete", "namespace", operator.runs, "--wait=false")
    eventually(lambda: "deletionTimestamp" in cluster.get("pod", name, "-n", operator.runs)["metadata"])
    dying = datetime.now(UTC)
    eventually(lambda: cluster.attempt("get", "namespace", operator.runs).returncode != 0, seconds=90)
    assert len(words.all_since(dying)) >= KNOCKS, "it went on knocking while namespace and policy went"
    assert set(words.all_since(LONG_AGO)) == {"refused"}
