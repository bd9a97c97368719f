"""`/healthz`, `/readyz` and `/metrics`: red whenever Runs would not be served.

Guards against an operator that answers "ok" while a watch is dead or its queue stands still.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from guildhall_operator.leader import Leader
from guildhall_operator.reconcile import Reconciler
from guildhall_operator.records import text
from guildhall_operator.reflector import Reflector

STUCK_SECONDS: Final = 120.0


@dataclass(slots=True)
class Health:
    """What is looked at. A standby is healthy and ready: it waits for the Lease."""

    reconciler: Reconciler
    leader: Leader
    reflectors: list[Reflector] = field(default_factory=list)
    serving: bool = False

    def problems(self) -> list[str]:
        """Why a restart would help; empty while all is well."""
        if not self.serving:
            return []
        found = [reflector.problem() for reflector in self.reflectors]
        found.append(self.reconciler.echo.problem())
        oldest = self.reconciler.queue.oldest_seconds()
        if oldest > STUCK_SECONDS:
            found.append(f"an object waits for {oldest:.0f} s in the queue")
        if not self.leader.leading:
            found.append("the Lease is lost")
        return [problem for problem in found if problem]

    def unready(self) -> list[str]:
        """Why Runs are not served yet; a standby is ready, so that a rollout can go on."""
        if not self.leader.leading:
            return []
        late = [f"{reflector.path} is not listed yet" for reflector in self.reflectors if not reflector.synced.is_set()]
        return late + ([] if self.serving else ["still starting"])

    def measure(self) -> bytes:
        """The metrics page."""
        metrics, reconciler = self.reconciler.metrics, self.reconciler
        metrics.queue_length.set(len(reconciler.queue))
        metrics.queue_oldest_seconds.set(reconciler.queue.oldest_seconds())
        metrics.leading.set(1 if self.leader.leading else 0)
        around = reconciler.world.around
        metrics.canary.set(0 if around.canary_problem or around.canary_at is None else 1)
        for reflector in self.reflectors:
            metrics.watch_silent_seconds.labels(reflector.path).set(reflector.silent_seconds)
        for (verb, resource), count in reconciler.kube.writes.items():
            metrics.writes.labels(verb, resource).set(count)
        metrics.runs.clear()
        phases = Counter(text(run.status.get("phase"), 20) or "Pending" for run in reconciler.world.store.runs.values())
        for phase, count in phases.items():
            metrics.runs.labels(phase).set(count)
        return generate_latest(metrics.registry)


def _answer(problems: list[str]) -> web.Response:
    return web.json_response({"problems": problems}, status=503 if problems else 200)


def application(health: Health) -> web.Application:
    """The three pages; plain HTTP, nothing on them is secret."""

    def page(make: Callable[[], web.Response]) -> Callable[[web.Request], "object"]:
        async def handler(_: web.Request) -> web.Response:
            return make()

        return handler

    app = web.Application()
    metrics_type = {"Content-Type": CONTENT_TYPE_LATEST}
    app.router.add_get("/healthz", page(lambda: _answer(health.problems())))  # type: ignore[arg-type]
    app.router.add_get("/readyz", page(lambda: _answer(health.unready())))  # type: ignore[arg-type]
    app.router.add_get("/metrics", page(lambda: web.Response(body=health.measure(), headers=metrics_type)))  # type: ignore[arg-type]
    return app


async def serve(health: Health, port: int) -> web.AppRunner:
    """Listens on all addresses; the caller cleans the runner up."""
    runner = web.AppRunner(application(health), access_log=None, handle_signals=False)
    await runner.setup()
    await web.TCPSite(runner, port=port).start()
    return runner
