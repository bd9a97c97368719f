"""What the security tests act on: the cluster, a namespace of their own, and the chart's rules in force."""

import os
from collections.abc import Iterator

import pytest
from support.cluster import Cluster
from support.cluster_fixture import cluster, namespace
from support.fence import QUEUE, Fence, fence
from support.inpod import RunningPod, SharedRun
from support.installation import Installation

__all__ = ["cluster", "namespace"]


@pytest.fixture(scope="session")
def rules(cluster: Cluster) -> Iterator[Fence]:
    """The chart's CRDs, RBAC and admission policies, without its pods."""
    allowed = {"runtimeClasses": ["sandboxed"], "priorities": ["low"]}
    with fence(cluster, {"allowed": allowed, "admission": {"queueControllers": [QUEUE]}}) as made:
        yield made


@pytest.fixture(scope="session")
def shared_run(installation: Installation) -> Iterator[SharedRun]:
    """One waiting Run for every file of this worker that looks around inside a pod and breaks nothing there."""
    shared = SharedRun(installation, f"waiting-{os.environ.get('PYTEST_XDIST_WORKER', 'gw')}")
    yield shared
    shared.close()


@pytest.fixture(scope="module")
def shared_pod(shared_run: SharedRun) -> RunningPod:
    return shared_run.pod()
