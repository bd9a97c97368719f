"""What tests read over a kept connection is what kubectl reads."""

import json

import pytest
from support import reads
from support.cluster import Cluster, ClusterError
from support.cluster_fixture import cluster

__all__ = ["cluster"]
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
