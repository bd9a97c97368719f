"""What tests read and write over a kept connection is what kubectl reads and writes."""

import json
from typing import Any

import pytest
from support import reads, writes
from support.cluster import Cluster, ClusterError
from support.cluster_fixture import cluster, namespace
from support.writes import Who

__all__ = ["cluster", "namespace"]
pytestmark = pytest.mark.cluster
SAME = [
    ("namespaces", "default"),
    ("service", "kubernetes"),
    ("svc", "-n", "default"),
    ("services", "-n", "kube-system", "-l", "k8s-app=kube-dns"),
    ("-n", "kube-system", "deployments"),
    ("pods", "-n", "kube-system", "-l", "no=such"),
]


@pytest.mark.parametrize("words", SAME)
def test_answers_are_those_of_kubectl(cluster: Cluster, words: tuple[str, ...]) -> None:
    there = json.loads(cluster.kubectl("get", *words, "-o", "json"))
    found = cluster.get(*words)
    assert found.get("items", [found]) == there.get("items", [there])


def test_a_refusal_has_the_words_of_kubectl(cluster: Cluster) -> None:
    asked = ("configmap", "not-there", "-n", "default")
    with pytest.raises(ClusterError) as refused:
        cluster.get(*asked)
    assert cluster.attempt("get", *asked).stderr.strip() in str(refused.value)


def test_what_it_cannot_ask_is_left_to_kubectl() -> None:
    assert reads.question(["pod", "a", "-n", "b"]) == reads.Question("pods", "a", "b", "")
    for words in (["node", "node1"], ["pods,jobs"], ["pod/a"], ["pods", "-A"], ["crd"], ["pod", "a", "b"]):
        assert reads.question(words) is None


def secret(**changes: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "made"}, "stringData": {"a": "b"}, **changes}


WRITTEN = {
    "made": secret(),
    "a field nobody knows": secret(surplus=True),
    "a wrong type": secret(stringData=7),
    "a name that is none": secret(metadata={"name": "UPPER"}),
    "no name": secret(metadata={}),
}


@pytest.mark.parametrize("case", WRITTEN)
@pytest.mark.parametrize("user", [None, "nobody-special"])
def test_what_is_written_ends_as_by_kubectl(cluster: Cluster, namespace: str, case: str, user: str | None) -> None:
    dry = writes.create(cluster.kubeconfig, WRITTEN[case], namespace, Who(user), dry=True, lax=False)
    assert dry is not None
    who = [f"--as={user}"] if user else []
    words = ["create", "-n", namespace, "--dry-run=server", "-o", "json", "-f", "-", *who]
    by_kubectl = cluster.attempt(*words, stdin=json.dumps(WRITTEN[case]))
    assert dry.returncode == by_kubectl.returncode, (dry.stderr, by_kubectl.stderr)
    if dry.returncode == 0:
        assert json.loads(dry.stdout)["metadata"]["name"] == "made"
    else:
        told = dry.stderr.partition("): ")[2].strip()
        assert told in by_kubectl.stderr or by_kubectl.stderr.partition("invalid: ")[2].strip() in told


def test_a_patch_is_one(cluster: Cluster, namespace: str) -> None:
    cluster.apply(secret(), namespace=namespace)
    where = f"{namespace}/secret/made"
    for change in ({"data": {"a": "Yw=="}}, [{"op": "add", "path": "/data/d", "value": "ZQ=="}]):
        done = writes.patch(cluster.kubeconfig, where, change, Who(), dry=False)
        assert done is not None
        assert done.returncode == 0, done.stderr
    assert cluster.get("secret", "made", "-n", namespace)["data"] == {"a": "Yw==", "d": "ZQ=="}
    refused = writes.patch(cluster.kubeconfig, where, {"data": {"a": "!"}}, Who("nobody-special"), dry=True)
    assert refused is not None
    assert "Forbidden" in refused.stderr


def test_what_it_cannot_write_is_left_to_kubectl(cluster: Cluster, namespace: str) -> None:
    for odd in (secret(kind="Node"), secret(metadata=[]), secret(metadata={"namespace": "other"}), secret(kind=7)):
        assert writes.create(cluster.kubeconfig, odd, namespace, Who(), dry=True, lax=True) is None
