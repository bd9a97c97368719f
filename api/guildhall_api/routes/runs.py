"""Lists of Runs, one Run, and what a person needs to choose the next: the configuration."""

from itertools import chain
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from guildhall_contracts.api import Config as ConsoleConfig
from guildhall_contracts.api import GuildView, RunDetail, RunPage, RunSummary, ToolFace
from guildhall_contracts.conditions import Condition, Phase
from guildhall_contracts.guild import GuildSpec, ResolvedRole
from guildhall_contracts.limits import PAGE_DEFAULT_COUNT, PAGE_MAX_COUNT
from guildhall_contracts.policy import BUILT_IN_TOOLS
from guildhall_contracts.run import RunSpec
from pydantic import ValidationError

from guildhall_api import VERSION
from guildhall_api.labels import REASON_TEXTS, TOOL_LABELS
from guildhall_api.problems import Refused
from guildhall_api.records import ListFilter
from guildhall_api.resources import Resource
from guildhall_api.routes.answers import refusals
from guildhall_api.routes.people import answering, approving
from guildhall_api.services import FoundRun, find_run, listable, services_of
from guildhall_api.source import Act
from guildhall_api.summaries import conditions_of, part, text

router = APIRouter(tags=["runs"])

May = Literal["cancel", "interrupt", "answer", "approve"]


@router.get("/api/config", responses=refusals(503), response_model_exclude_none=True)
async def get_config(request: Request) -> ConsoleConfig:
    """Labels, limits, Guilds: everything the console shows besides Runs."""
    services = services_of(request)
    person = await services.auth.person(request)
    guilds_in = await listable(services, person, "guilds")
    found = [guild for (namespace, _), guild in sorted(services.keeper.guilds.items()) if namespace in guilds_in]
    return ConsoleConfig(
        version=VERSION, user=person.user, namespaces=await listable(services, person, "runs"),
        guilds=[view for guild in found if (view := _guild_view(guild)) is not None], tools=_tools(),
        reasons=dict(REASON_TEXTS), images=services.config.images,
        isolation_required=services.config.isolation_required, sign_in=services.config.sign_in.mode,
    )  # fmt: skip


def _tools() -> list[ToolFace]:
    return [ToolFace(name=name, label=TOOL_LABELS[name], effect=tool.effect) for name, tool in BUILT_IN_TOOLS.items()]


def _guild_view(guild: Resource) -> GuildView | None:
    conditions = part(guild, "status", "conditions") or []
    accepted = next((each for each in conditions if part(each, "type") == "Accepted"), None)
    try:
        return GuildView(
            namespace=guild["metadata"]["namespace"], name=guild["metadata"]["name"],
            accepted=part(accepted, "status") == "True", message=text(part(accepted, "message"), 1_024),
            digest=part(guild, "status", "digest"), spec=GuildSpec.model_validate(guild["spec"]),
            roles=[ResolvedRole.model_validate(role) for role in part(guild, "status", "roles") or []],
        )  # fmt: skip
    except (ValidationError, KeyError):
        return None


@router.get("/api/runs", responses=refusals(400), response_model_exclude_none=True)
async def list_runs(  # noqa: PLR0913, PLR0917
    request: Request,
    namespace: Annotated[str | None, Query(max_length=63)] = None,
    phase: Phase | None = None,
    guild: Annotated[str | None, Query(max_length=253)] = None,
    q: Annotated[str | None, Query(max_length=200)] = None,
    live: bool | None = None,
    limit: Annotated[int, Query(ge=1, le=PAGE_MAX_COUNT)] = PAGE_DEFAULT_COUNT,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> RunPage:
    """Runs the caller may list, newest first."""
    services = services_of(request)
    person = await services.auth.person(request)
    allowed = await listable(services, person, "runs")
    if namespace is not None and namespace not in allowed:
        raise Refused(403, "The cluster does not allow this", f"You may not list runs in namespace {namespace}.")
    wanted = ListFilter(
        namespaces=[namespace] if namespace is not None else allowed, phase=phase, guild=guild, text=q, live=live,
        before=_parsed(cursor) if cursor else None, limit=limit + 1,
    )  # fmt: skip
    found = [RunSummary.model_validate(each) for each in await services.history.list_runs(wanted)]
    more = len(found) > limit
    page = found[:limit]
    return RunPage(runs=page, next=f"{page[-1].created_at}~{page[-1].uid}" if more else None)


def _parsed(cursor: str) -> tuple[str, str]:
    created_at, tilde, uid = cursor.partition("~")
    if not tilde or not created_at or not uid:
        raise Refused(400, "This cursor cannot be read", "Pass `next` of the page before, unchanged.")
    return created_at, uid


@router.get("/api/runs/{run_id}", responses=refusals(404), response_model_exclude_none=True)
async def get_run(request: Request, run_id: str, uid: Annotated[str | None, Query(max_length=64)] = None) -> RunDetail:
    """One Run: its row, its spec, its conditions, and what the caller may do."""
    found = await find_run(request, run_id, uid)
    return RunDetail(
        summary=RunSummary.model_validate(found.summary), spec=_spec(found), conditions=_conditions(found),
        last_seq=found.last_seq, sealed=found.sealed, may=await _may(request, found),
    )  # fmt: skip


def _spec(found: FoundRun) -> RunSpec | None:
    spec = found.live.resource.get("spec") if found.live is not None else found.stored.detail.get("spec")
    try:
        return RunSpec.model_validate(spec)
    except ValidationError:
        return None


def _conditions(found: FoundRun) -> list[Condition]:
    if found.live is None:
        return [Condition.model_validate(each) for each in found.stored.detail.get("conditions", [])]
    return conditions_of(found.live.resource)


def acts_of(namespace: str, name: str) -> dict[May, list[Act]]:
    """What the cluster must allow for each thing a person may do to a Run."""
    return {
        "cancel": [Act("patch", namespace, "runs", name)], "interrupt": answering(namespace),
        "answer": answering(namespace), "approve": approving(namespace, name),
    }  # fmt: skip


async def _may(request: Request, found: FoundRun) -> list[May]:
    if found.live is None or found.live.over:
        return []
    auth = services_of(request).auth
    wanted = acts_of(found.stored.namespace, found.stored.name)
    may = await auth.judged(await auth.person(request), chain.from_iterable(wanted.values()))
    return [name for name, acts in wanted.items() if all(may[act] for act in acts)]
