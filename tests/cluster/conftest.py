"""The cluster's own tests take the shared fixtures."""

from support.cluster_fixture import cluster, namespace

__all__ = ["cluster", "namespace"]
