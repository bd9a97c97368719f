"""What the routes work with; one place wires it (`app`)."""

from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry
from starlette.requests import Request

from guildhall_api.auth import Auth
from guildhall_api.config import Config
from guildhall_api.console import File
from guildhall_api.gateway import GatewayClient
from guildhall_api.history import History
from guildhall_api.keeper import Keeper
from guildhall_api.live import LiveRun
from guildhall_api.markup import Render, plain
from guildhall_api.problems import Refused
from guildhall_api.records import StoredRun
from guildhall_api.resources import split_run_id
from guildhall_api.source import Act, Person, RunSource


@dataclass
class Services:
    """Everything a request may need."""

    config: Config
    source: RunSource
    history: History
    gateway: GatewayClient
    keeper: Keeper
    auth: Auth
    metrics: CollectorRegistry
    console: dict[str, File] = field(default_factory=dict)
    render: Render = plain
    streams: dict[str, int] = field(default_factory=dict)
    closing: bool = False


@dataclass(frozen=True)
class FoundRun:
    """A Run someone may see: its row, and what is known of it in memory while it exists."""

    stored: StoredRun
    live: LiveRun | None

    @property
    def summary(self) -> dict[str, Any]:
        """The row as people see it now."""
        return self.live.shown if self.live is not None else self.stored.summary

    @property
    def sealed(self) -> bool:
        """Whether all there will ever be of its log is stored."""
        return self.stored.sealed or (self.live is not None and self.live.sealed)

    @property
    def last_seq(self) -> int:
        """The newest event that is stored."""
        return self.live.intake.last_seq if self.live is not None else self.stored.last_seq


def services_of(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


def named(run_id: str) -> tuple[str, str]:
    """Namespace and name. Raises Refused 404."""
    found = split_run_id(run_id)
    if found is None:
        raise Refused(404, "No such Run", "A Run's id is <namespace>.<name>.")
    return found


async def listable(services: Services, person: Person, resource: str) -> list[str]:
    """The run namespaces whose `resource` (`runs`, `guilds`) this person may list, in the configuration's order."""
    listing = {name: Act("list", name, resource) for name in services.config.run_namespaces}
    may = await services.auth.judged(person, listing.values())
    return [name for name, act in listing.items() if may[act]]


async def find_run(request: Request, run_id: str, uid: str | None, verb: str = "get") -> FoundRun:
    """The Run, once the caller may `verb` it. The right is asked first, so that 404 says nothing to strangers."""
    services = services_of(request)
    namespace, name = named(run_id)
    await services.auth.allow(request, Act(verb, namespace, "runs", name))
    stored = await services.history.find(uid=uid, name=(namespace, name))
    if stored is None or namespace not in services.config.run_namespaces:
        raise Refused(404, "No such Run", f"Neither the cluster nor the history knows {namespace}.{name}.")
    return FoundRun(stored, services.keeper.runs.get(stored.uid))


async def find_running(request: Request, run_id: str) -> FoundRun:
    """A Run that has not ended. Raises Refused 404 or 409."""
    found = await find_run(request, run_id, None)
    if found.live is None or found.live.over:
        raise Refused(409, "The Run has ended", f"{run_id} is {found.summary.get('phase') or 'over'}.")
    return found
