"""What the security tests act on: the cluster, a namespace of their own, and the chart's rules in force."""

from collections.abc import Iterator

import pytest
from support.cluster import Cluster
from support.cluster_fixture import cluster, namespace
from support.fence import QUEUE, Fence, fence

__all__ = ["cluster", "namespace"]


@pytest.fixture(scope="session")
def rules(cluster: Cluster) -> Iterator[Fence]:
    """The chart's CRDs, RBAC and admission policies, without its pods."""
    allowed = {"runtimeClasses": ["sandboxed"], "priorities": ["low"]}
    with fence(cluster, {"allowed": allowed, "admission": {"queueControllers": [QUEUE]}}) as made:
        yield made
