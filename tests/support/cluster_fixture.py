"""Fixtures for suites that need a cluster. A conftest.py takes them over by importing them by name."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from support.cluster import Cluster, ClusterError, running


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """The embedded cluster, up; a skip with its own words where this machine cannot have one.

    After `make test` brought one up it is an error if it is gone: a stage of skips must not pass.
    """
    try:
        return running()
    except ClusterError as error:
        if os.environ.get("GUILDHALL_CLUSTER_REQUIRED"):
            raise
        pytest.skip(f"no cluster here: {error}")


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A namespace under Pod Security *restricted*."""
    with cluster.namespace() as name:
        yield name
