"""Figures about this process. No labels from data: their number is bounded."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from guildhall_api.keeper import Keeper


class Figures(Collector):
    """Read from the keeper when asked, so nothing is counted twice."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def collect(self) -> Iterator[Metric]:
        runs = list(self._keeper.runs.values())
        followed = [run for run in runs if not run.sealed]
        yield GaugeMetricFamily("guildhall_api_runs", "Runs that exist in the cluster", len(runs))
        yield GaugeMetricFamily("guildhall_api_runs_followed", "Runs whose log is followed", len(followed))
        viewers = sum(len(run.channel.viewers) for run in runs)
        yield GaugeMetricFamily("guildhall_api_viewers", "Open streams on live Runs", viewers)
        holes = sum(len(run.intake.holes) for run in followed)
        yield GaugeMetricFamily("guildhall_api_log_holes", "Ranges of events waited for", holes)
        rows = sum(run.intake.unreadable for run in followed)
        yield GaugeMetricFamily("guildhall_api_unreadable", "Unreadable lines of followed logs", rows)


def registry_of(keeper: Keeper) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(Figures(keeper))
    return registry
