"""What happened in a Run: the model, the events, the changes."""

import asyncio
import json
from collections.abc import Awaitable
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from guildhall_contracts.api import ChangesView, EventsPage, Flow
from guildhall_contracts.events import ChangesUpdated, Unreadable, decode_event
from guildhall_contracts.limits import PAGE_DEFAULT_COUNT, PAGE_MAX_COUNT
from guildhall_contracts.model_api import LedgerView
from pydantic import ValidationError

from guildhall_api.blobs import Blobs, result_blob
from guildhall_api.gateway import GatewayUnavailable
from guildhall_api.guard import REPORT_POLICY
from guildhall_api.hub import Cursor, parse_cursor
from guildhall_api.problems import Refused
from guildhall_api.reading import model_bytes, page_json, page_lines, run_wire
from guildhall_api.report import report_html
from guildhall_api.routes.answers import json_bytes, refusals
from guildhall_api.services import FoundRun, Services, find_run, services_of

router = APIRouter(tags=["flow"])

Uid = Annotated[str | None, Query(max_length=64)]
_LEDGER_WAIT_SECONDS: Final = 2.0
_ROWS_MAX_COUNT: Final = 1_000


def cursor_of(text: str | None) -> Cursor:
    """A cursor from a query or header. Raises Refused 400."""
    try:
        return parse_cursor(text) if text else Cursor()
    except ValueError as error:
        raise Refused(400, "This cursor cannot be read", str(error)) from error


async def _ledger(services: Services, uid: str) -> LedgerView | None:
    try:
        return await asyncio.wait_for(services.gateway.ledger(uid), _LEDGER_WAIT_SECONDS)
    except (GatewayUnavailable, TimeoutError):
        return None


async def _flow(request: Request, found: FoundRun, prose: str | None) -> Response:
    services = services_of(request)
    ledger = await _ledger(services, found.stored.uid)
    body = await model_bytes(services.history, found, full=prose == "full")
    rest: dict[str, Any] = {"summary": found.summary}
    if ledger is not None:
        rest["ledger"] = ledger.to_wire()
    return await json_bytes(request, b'{"model":' + body + b"," + json.dumps(rest)[1:].encode("ascii"))


@router.get("/api/runs/{run_id}/flow", response_model=Flow, responses=refusals(404))
async def get_flow(request: Request, run_id: str, uid: Uid = None, prose: Literal["full"] | None = None) -> Response:
    """The model as far as it is stored, and the gateway's ledger while the gateway answers."""
    return await _flow(request, await find_run(request, run_id, uid), prose)


@router.get("/api/run/flow", response_model=Flow, responses=refusals(404))
async def get_watched_flow(
    request: Request, run: Annotated[str, Query(max_length=320)], uid: Uid = None,
    prose: Literal["full"] | None = None,
) -> Response:  # fmt: skip
    """The same for the Run being watched."""
    return await _flow(request, await find_run(request, run, uid), prose)


@router.get("/api/runs/{run_id}/events", response_model=EventsPage, responses=refusals(400, 404))
async def get_events(  # noqa: PLR0913, PLR0917
    request: Request,
    run_id: str,
    uid: Uid = None,
    after: Annotated[str | None, Query(max_length=30)] = None,
    limit: Annotated[int, Query(ge=1, le=PAGE_MAX_COUNT)] = PAGE_DEFAULT_COUNT,
    tail: Annotated[int | None, Query(ge=1, le=PAGE_MAX_COUNT)] = None,
) -> Response:
    """Events as they were written, and the unreadable rows between them."""
    found = await find_run(request, run_id, uid)
    history, key, seen = services_of(request).history, found.stored.key, cursor_of(after)
    if tail is not None:
        lines = await history.last_lines(key, tail)
        seen = Cursor(lines[0][0] - 1 if lines else 0, seen.rows)
    else:
        lines = await page_lines(history, key, seen.seq, limit)
    last = lines[-1][0] if lines else seen.seq
    complete = last >= found.last_seq
    rows = [row for _, row in await history.rows(key, seen.rows, _ROWS_MAX_COUNT)]
    kept = [row for row in rows if complete or row.after < last]
    return await json_bytes(request, page_json(lines, kept, last, end=complete and found.sealed))


@router.get("/api/runs/{run_id}/operations/{op}", response_model=EventsPage, responses=refusals(404))
async def get_operation(request: Request, run_id: str, op: str, uid: Uid = None) -> Response:
    """The events that name one operation: its input, its progress, its output."""
    found = await find_run(request, run_id, uid)
    lines = await services_of(request).history.operation(found.stored.key, op[:20], PAGE_MAX_COUNT)
    if not lines:
        raise Refused(404, "No such operation", f"No stored event of {run_id} names it.")
    none: list[Unreadable] = []
    return await json_bytes(request, page_json(lines, none, lines[-1][0], end=found.sealed))


def _blobs(services: Services, found: FoundRun) -> Blobs:
    return Blobs(services.history, services.gateway, found.stored.key, found.stored.uid)


async def _download(data: Awaitable[bytes | None], name: str, what: str) -> Response:
    """A blob as a file to keep. Raises Refused 404 and 503."""
    try:
        body = await data
    except GatewayUnavailable as error:
        what_now = f"It keeps the {what}: try again."
        raise Refused(503, "The gateway does not answer", what_now, {"Retry-After": "5"}) from error
    if body is None:
        raise Refused(404, f"The {what} is not kept", "The gateway had it as long as its Run was there.")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(body, headers=headers, media_type="application/octet-stream")


async def _omitted(services: Services, found: FoundRun) -> list[str]:
    line = await services.history.last_of(found.stored.key, "changes.updated")
    event = decode_event(line) if line is not None else None
    return list(event.omitted) if isinstance(event, ChangesUpdated) else []


@router.get("/api/runs/{run_id}/changes", responses=refusals(404), response_model_exclude_none=True)
async def get_changes(request: Request, run_id: str, uid: Uid = None) -> ChangesView:
    """The patch so far and the files it touches."""
    services, found = services_of(request), await find_run(request, run_id, uid)
    run = await run_wire(services.history, found)
    sha256, message, patch = run.get("patchSHA256"), "", None
    if sha256 is not None:
        patch, message = await _patch_text(services, found, sha256)
    elif run.get("changedFilesTotal"):
        message = "The patch is larger than what is kept: only the files are listed."
    try:
        return ChangesView.model_validate(
            {
                "patchSHA256": sha256, "patch": patch, "files": run.get("changedFiles", []),
                "omitted": await _omitted(services, found), "message": message,
            }
        )  # fmt: skip
    except ValidationError:
        return ChangesView(message="The list of changes cannot be read.")


async def _patch_text(services: Services, found: FoundRun, sha256: str) -> tuple[str | None, str]:
    try:
        data = await _blobs(services, found).patch(sha256)
    except GatewayUnavailable:
        return None, "The patch is kept by the gateway, which does not answer now: try again in a moment."
    if data is None:
        return None, "The gateway no longer has the patch."
    text = data.decode("utf-8", "replace")
    exact = "\ufffd" not in text
    return text, "" if exact else "Bytes that are no UTF-8 are shown as \ufffd: download the patch to apply it."


@router.get(
    "/api/runs/{run_id}/patch",
    response_class=Response,
    responses={200: {"description": "The patch", "content": {"application/octet-stream": {}}}, **refusals(404, 503)},
)
async def get_patch(request: Request, run_id: str, uid: Uid = None) -> Response:
    """The patch, byte for byte, as a download."""
    services, found = services_of(request), await find_run(request, run_id, uid)
    sha256 = (await run_wire(services.history, found)).get("patchSHA256")
    if sha256 is None:
        raise Refused(404, "There is no patch", "The Run changed nothing, or its patch was too large to keep.")
    return await _download(_blobs(services, found).patch(sha256), f"{found.stored.name}.patch", "patch")


@router.get(
    "/api/runs/{run_id}/operations/{op}/output",
    response_class=Response,
    responses={200: {"description": "The output", "content": {"application/octet-stream": {}}}, **refusals(404, 503)},
)
async def get_output(request: Request, run_id: str, op: str, uid: Uid = None) -> Response:
    """More of what a tool printed than its event shows, as the executor kept it: readable lines, as a download."""
    services, found = services_of(request), await find_run(request, run_id, uid)
    lines = await services.history.operation(found.stored.key, op[:20], PAGE_MAX_COUNT)
    sha256 = next((name for _, line in reversed(lines) if (name := result_blob(line)) is not None), None)
    if sha256 is None:
        raise Refused(
            404, "There is no longer output", f"Operation {op[:20]} shows all there was, or was cut for good."
        )
    return await _download(_blobs(services, found).result(sha256), f"{found.stored.name}-{op[:20]}.txt", "output")


@router.get(
    "/api/runs/{run_id}/report",
    response_class=Response,
    responses={200: {"description": "One HTML file", "content": {"text/html": {}}}, **refusals(404)},
)
async def get_report(request: Request, run_id: str, uid: Uid = None) -> Response:
    """The Run as one self-contained HTML file, as a download."""
    services, found = services_of(request), await find_run(request, run_id, uid)
    model = json.loads(await model_bytes(services.history, found, full=False))
    sha256 = model["run"].get("patchSHA256")
    patch = (await _patch_text(services, found, sha256))[0] if sha256 is not None else None
    text = await asyncio.to_thread(report_html, found.summary, model, patch, services.render)
    headers = {
        "Content-Security-Policy": REPORT_POLICY,
        "Content-Disposition": f'attachment; filename="{found.stored.name}.html"',
    }
    return Response(text, headers=headers, media_type="text/html; charset=utf-8")
