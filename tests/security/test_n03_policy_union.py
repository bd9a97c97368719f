"""N3: a second, permissive policy, or the loss of the static one, ends a Run before it starts or while it is on."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.cluster import Cluster, eventually
from support.cluster_fixture import cluster
from support.operator_process import OperatorProcess, condition, installed

__all__ = ["cluster"]
pytestmark = [pytest.mark.cluster, pytest.mark.slow]


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with installed(cluster, tmp_path_factory.mktemp("n03")) as found, cluster.enforced():
        found.start()
        yield found


OPENERS: dict[str, dict[str, Any]] = {
    "everything": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]},
    "one-address": {"podSelector": {}, "egress": [{"to": [{"ipBlock": {"cidr": "127.0.0.1/32"}}]}]},
    "dns": {
        "podSelector": {"matchExpressions": [{"key": "guildhall.dev/run", "operator": "Exists"}]},
        "egress": [{"ports": [{"protocol": "UDP", "port": 53}]}],
    },
    "ingress": {"podSelector": {}, "ingress": [{}]},
    # Labels no manifest of ours carries: the Job controller puts them on every pod.
    "by-job": {"podSelector": {"matchExpressions": [{"key": "job-name", "operator": "Exists"}]}, "egress": [{}]},
    "by-controller": {
        "podSelector": {"matchExpressions": [{"key": "batch.kubernetes.io/controller-uid", "operator": "Exists"}]},
        "ingress": [{}],
    },
}


def policy(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name}, "spec": spec}


def remove(operator: OperatorProcess, name: str) -> None:
    operator.cluster.kubectl("delete", "networkpolicy", name, "-n", operator.runs)


def pods_of(operator: OperatorProcess, name: str) -> list[dict[str, Any]]:
    uid = operator.run(name)["metadata"]["uid"]
    return [pod for pod in operator.items("pods") if pod["metadata"].get("labels", {}).get("guildhall.dev/run") == uid]


@pytest.mark.parametrize("case", OPENERS)
def test_before_a_run(operator: OperatorProcess, case: str) -> None:
    operator.cluster.apply(policy(case, OPENERS[case]), namespace=operator.runs)
    try:
        operator.create(f"before-{case}")
        run = operator.done(f"before-{case}")
    finally:
        remove(operator, case)
    assert (run["status"]["phase"], run["status"]["reason"]) == ("Failed", "IsolationNotEnforced")
    assert f"'{case}'" in condition(run, "Succeeded")["message"]
    assert not pods_of(operator, f"before-{case}")
    assert "attempts" not in run["status"]


@pytest.mark.parametrize("case", ["one-address", "ingress", "by-controller"])
def test_during_a_run(operator: OperatorProcess, case: str) -> None:
    operator.create(f"during-{case}", "sleep=120")
    operator.wait(f"during-{case}", {"Running"})
    operator.cluster.apply(policy(case, OPENERS[case]), namespace=operator.runs)
    try:
        run = operator.done(f"during-{case}", seconds=15)
        assert (run["status"]["phase"], run["status"]["reason"]) == ("Failed", "IsolationNotEnforced")
        assert condition(run, "IsolationVerified")["status"] == "False"
        eventually(
            lambda: all(pod["status"]["phase"] == "Failed" for pod in pods_of(operator, f"during-{case}")), seconds=30
        )
    finally:
        remove(operator, case)


def test_a_policy_that_opens_nothing_stops_nothing(operator: OperatorProcess) -> None:
    """The positive control: the operator does not end Runs for a policy's mere presence."""
    deny = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    others = {"podSelector": {"matchLabels": {"app": "web"}}, "egress": [{}]}
    operator.create("calm", "sleep=6")
    operator.wait("calm", {"Running"})
    operator.cluster.apply(policy("deny", deny), policy("others", others), namespace=operator.runs)
    try:
        run = operator.done("calm")
    finally:
        remove(operator, "deny")
        remove(operator, "others")
    assert (run["status"]["phase"], run["status"]["reason"]) == ("Succeeded", "Completed")


def test_the_static_policy_taken_away(operator: OperatorProcess) -> None:
    operator.create("shut", "sleep=120")
    operator.wait("shut", {"Running"})
    static = operator.cluster.get("networkpolicy", "guildhall-run", "-n", operator.runs)
    remove(operator, "guildhall-run")
    try:
        run = operator.done("shut", seconds=15)
        assert run["status"]["reason"] == "IsolationNotEnforced"
        operator.create("never")
        never = operator.done("never")
        assert never["status"]["reason"] == "PolicyMissing"
        assert not pods_of(operator, "never")
    finally:
        operator.cluster.apply(policy("guildhall-run", static["spec"]), namespace=operator.runs)
    operator.create("again")
    assert operator.done("again")["status"]["phase"] == "Succeeded"
