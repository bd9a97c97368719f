"""What waits for a person, and a person's answer to it. The gateway's account is the only one acted on.

Guards against a yes by someone who may not give it, or to other arguments than those that were shown.
"""

from collections.abc import Awaitable, Sequence
from itertools import chain
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from guildhall_contracts.api import (
    Accepted,
    AnswerBody,
    ApprovalPage,
    ApprovalView,
    DecideBody,
    QuestionPage,
    QuestionView,
)
from guildhall_contracts.awaiting import AwaitingApproval, AwaitingQuestion, AwaitingView
from guildhall_contracts.intervention import Answer, Approval

from guildhall_api import interventions
from guildhall_api.gateway import GatewayUnavailable
from guildhall_api.live import LiveRun
from guildhall_api.problems import Refused
from guildhall_api.resources import run_id_of
from guildhall_api.routes.answers import refusals
from guildhall_api.services import FoundRun, find_run, find_running, listable, named, services_of
from guildhall_api.source import Act, Person
from guildhall_api.summaries import text

router = APIRouter(tags=["people"])

RunQuery = Annotated[str | None, Query(max_length=320)]
IdQuery = Annotated[str | None, Query(alias="id", max_length=64)]
_STATES: Final = {
    "answered": "It was answered already", "withdrawn": "It was withdrawn", "approved": "It was approved already",
    "denied": "It was denied already", "consumed": "It was approved and used already", "expired": "It has expired",
}  # fmt: skip


def answering(namespace: str) -> list[Act]:
    """What the cluster must allow whoever answers a question."""
    return [Act("create", namespace, "interventions")]


def approving(namespace: str, name: str) -> list[Act]:
    """What the cluster must allow whoever decides an approval of this Run: `approve` is a verb of its own."""
    return [Act("create", namespace, "interventions"), Act("approve", namespace, "runs", name)]


async def _told(asked: Awaitable[AwaitingView]) -> AwaitingView:
    """Raises Refused 503."""
    try:
        return await asked
    except GatewayUnavailable as error:
        raise Refused(
            503, "The gateway cannot be reached", "What waits is known there: try again.", {"Retry-After": "3"}
        ) from error


async def _seen(request: Request, run: str | None, identity: str | None) -> tuple[AwaitingView, dict[str, LiveRun]]:
    """What waits in the Runs the caller may see, and those Runs by uid."""
    services = services_of(request)
    if run is not None:
        found = await find_run(request, run, None)
        runs = {found.stored.uid: found.live} if found.live is not None else {}
        return await _told(services.gateway.awaiting_in(found.stored.uid, identity or "")), runs
    if identity is not None:
        raise Refused(400, "An id is looked for in a Run", "Give `run` as well.")
    person = await services.auth.person(request)
    allowed = await listable(services, person, "runs")
    runs = {uid: live for uid, live in services.keeper.runs.items() if live.namespace in allowed}
    return await _told(services.gateway.awaiting(allowed)) if allowed else AwaitingView(), runs


def _head(live: LiveRun) -> dict[str, Any]:
    label = text(live.shown.get("label"), 253) or live.name
    return {"run": run_id_of(live.namespace, live.name), "uid": live.uid, "label": label}


@router.get("/api/questions", responses=refusals(400, 404, 503), response_model_exclude_none=True)
async def list_questions(request: Request, run: RunQuery = None, question: IdQuery = None) -> QuestionPage:
    """Open questions of the Runs the caller may see, oldest first; with `run` and `id` that one, however it stands."""
    view, runs = await _seen(request, run, question)
    shown = [(runs[each.run], each) for each in view.questions if each.run in runs]
    may = await _may(request, [answering(live.namespace) for live, _ in shown])
    views = [QuestionView(**_head(live), may=may[at], question=each) for at, (live, each) in enumerate(shown)]
    return QuestionPage(questions=views)


@router.get("/api/approvals", responses=refusals(400, 404, 503), response_model_exclude_none=True)
async def list_approvals(request: Request, run: RunQuery = None, approval: IdQuery = None) -> ApprovalPage:
    """Open approvals, oldest first; long arguments are there only for one that is asked for by `run` and `id`."""
    view, runs = await _seen(request, run, approval)
    shown = [(runs[each.run], each) for each in view.approvals if each.run in runs]
    may = await _may(request, [approving(live.namespace, live.name) for live, _ in shown])
    views = [ApprovalView(**_head(live), may=may[at], approval=each) for at, (live, each) in enumerate(shown)]
    return ApprovalPage(approvals=views)


async def _may(request: Request, acts: Sequence[Sequence[Act]]) -> list[bool]:
    """For each thing that waits, whether the caller may do all that acting on it takes."""
    auth = services_of(request).auth
    may = await auth.judged(await auth.person(request), chain.from_iterable(acts))
    return [all(may[act] for act in wanted) for wanted in acts]


async def _allowed(request: Request, run: str, acts: list[Act]) -> tuple[Person, FoundRun]:
    """Who acts, on which Run that goes on. The right to act is asked before the Run is looked for."""
    person = await services_of(request).auth.allow(request, *acts)
    return person, await find_running(request, run)


def _open(found: AwaitingQuestion | AwaitingApproval | None, what: str) -> None:
    """Raises Refused unless it is open."""
    if found is None:
        raise Refused(404, f"No such {what}", f"The gateway knows no such {what} in this Run.")
    if found.state != "open":
        raise Refused(409, f"The {what} is closed", f"{_STATES[found.state]}. Nothing was changed.")


@router.post(
    "/api/answer", status_code=202, responses=refusals(404, 409, 422, 502, 503), response_model_exclude_none=True
)
async def answer(request: Request, body: AnswerBody) -> Accepted:
    """Answer a question. Whatever the words say, they approve nothing."""
    services = services_of(request)
    namespace, _ = named(body.run)
    if not body.text.strip():
        raise Refused(422, "The answer is empty", "Write something, or choose an option.")
    person, found = await _allowed(request, body.run, answering(namespace))
    view = await _told(services.gateway.awaiting_in(found.stored.uid, body.question_id))
    _open(next(iter(view.questions), None), "question")
    act = Answer(question_id=body.question_id, text=body.text)
    made = await interventions.create(
        services.source, interventions.manifest(found, person, act), f"answering {body.run}"
    )
    return await interventions.verdict(services.source, namespace, made)


@router.post(
    "/api/approvals", status_code=202, responses=refusals(404, 409, 422, 502, 503), response_model_exclude_none=True
)
async def decide(request: Request, body: DecideBody) -> Accepted:
    """Approve or deny exactly the arguments whose hash is sent."""
    services = services_of(request)
    namespace, name = named(body.run)
    person, found = await _allowed(request, body.run, approving(namespace, name))
    view = await _told(services.gateway.awaiting_in(found.stored.uid, body.approval_id))
    wanted = next(iter(view.approvals), None)
    _open(wanted, "approval")
    if wanted is not None and wanted.arguments_hash != body.arguments_hash:
        detail = "The hash that was sent is not that of the call that waits: look at its arguments again."
        raise Refused(409, "These are not the arguments that wait", detail)
    act = Approval(approval_id=body.approval_id, arguments_hash=body.arguments_hash, decision=body.decision)
    made = await interventions.create(
        services.source, interventions.manifest(found, person, act), f"deciding in {body.run}"
    )
    return await interventions.verdict(services.source, namespace, made)
