"""The chart's tests take the shared cluster fixtures; most need helm only."""

from support.cluster_fixture import cluster, namespace

__all__ = ["cluster", "namespace"]
