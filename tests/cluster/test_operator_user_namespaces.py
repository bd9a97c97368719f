"""`hostUsers: false` on a real node: where its runtime can, a Run works; where it cannot, the Run says so and ends."""

from pathlib import Path

import pytest
from support.cluster import Cluster, eventually
from support.cluster_fixture import cluster
from support.operator_process import condition, installed

__all__ = ["cluster"]
pytestmark = [pytest.mark.cluster, pytest.mark.slow]


def _can(cluster: Cluster) -> bool:
    """Whether every node says that its default runtime makes user namespaces."""
    nodes = cluster.get("nodes")["items"]
    handlers = [one for node in nodes for one in node["status"].get("runtimeHandlers", []) if not one.get("name")]
    return len(handlers) == len(nodes) and all(one.get("features", {}).get("userNamespaces") for one in handlers)


def test_a_run_in_a_user_namespace_works_or_says_why_not(cluster: Cluster, tmp_path: Path) -> None:
    with installed(cluster, tmp_path) as operator, cluster.enforced():
        waits = operator.config.get("waits", {}) | {"unschedulableSeconds": 8}
        operator.start(hostUsers=False, waits=waits)
        operator.create("userns")
        if _can(cluster):
            assert operator.done("userns")["status"]["phase"] == "Succeeded"
            return
        eventually(lambda: operator.run("userns").get("status", {}).get("reason") == "Unschedulable", seconds=40)
        run = operator.done("userns", seconds=60)
        assert (run["status"]["phase"], run["status"]["reason"]) == ("Failed", "Unschedulable")
        message = condition(run, "Succeeded")["message"]
        assert "does not support user namespaces" in message
        assert "runs.hostUsers" in message
        operator.stop()
        operator.start()
        operator.create("plain")
        assert operator.done("plain")["status"]["phase"] == "Succeeded", "control: without it the same node does"
