"""What the operator counts, for `/metrics`."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class Metrics:
    """One registry of its own, so that two operators in one process do not clash."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.reconciled = Counter(
            "guildhall_operator_reconciles",
            "Objects looked at, by kind and result",
            ["kind", "result"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "guildhall_operator_reconcile_seconds",
            "Time to look at one object",
            buckets=(0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
            registry=self.registry,
        )
        self.writes = Gauge(
            "guildhall_operator_api_writes",
            "Writes to the API server since start, by verb and resource",
            ["verb", "resource"],
            registry=self.registry,
        )
        self.queue_length = Gauge(
            "guildhall_operator_queue_length", "Objects waiting or being looked at", registry=self.registry
        )
        self.queue_oldest_seconds = Gauge(
            "guildhall_operator_queue_oldest_seconds", "Age of the oldest of them", registry=self.registry
        )
        self.runs = Gauge("guildhall_operator_runs", "Runs by phase", ["phase"], registry=self.registry)
        self.watch_silent_seconds = Gauge(
            "guildhall_operator_watch_silent_seconds",
            "Time since a watch last heard anything",
            ["path"],
            registry=self.registry,
        )
        self.leading = Gauge("guildhall_operator_leading", "1 while the Lease is held", registry=self.registry)
        self.canary = Gauge(
            "guildhall_operator_canary_answers", "1 while the canary answers the operator", registry=self.registry
        )
