"""The gateway's routes. Guards the body: nothing of it is read before the caller is known.

Every answer that is not 2xx is a GatewayError. Handlers only parse, ask and translate.
"""

import ipaddress
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, TypeVar

from guildhall_contracts import limits
from guildhall_contracts.approvals import ApprovalRequest
from guildhall_contracts.base import Record, first_problem
from guildhall_contracts.external import ExternalCall
from guildhall_contracts.model_api import AskedItem, BlobRef, ModelReply, ModelRequest, ReplyLine
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from guildhall_gateway import metrics
from guildhall_gateway.gateway import Gateway
from guildhall_gateway.identity import Caller, Use
from guildhall_gateway.live import LiveCall
from guildhall_gateway.problems import DRAINING, Refusal, Refused, bad_request, refusal, too_large
from guildhall_gateway.runs import RunView

log = logging.getLogger(__name__)

_SECONDS: Final = re.compile(r"[0-9]{1,4}(\.[0-9]{1,3})?")
NDJSON: Final = "application/x-ndjson"
SMALL_BODY_MAX_BYTES: Final = 64 * 1024
APPROVAL_BODY_MAX_BYTES: Final = 2 * limits.TOOL_ARGUMENTS_MAX_BYTES
R = TypeVar("R", bound=Record)
Handler = Callable[[Gateway, Request, RunView], Awaitable[Response]]


def source_ip(request: Request) -> str:
    """The peer's address, IPv4 written as IPv4 even where the socket is IPv6."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def answer(refused: Refusal) -> Response:
    """A refusal on the wire. The unread body's connection is closed with it, and that to a gateway that stops: the next
    one may lead to another."""
    headers = {"Cache-Control": "no-store"}
    wait = refused.error.retry_after_seconds
    if wait is not None:
        headers["Retry-After"] = str(max(1, round(wait)))
    if refused.status in (401, 413, 429) or refused is DRAINING:
        headers["Connection"] = "close"
    return _record(refused.error, refused.status, headers)


def _record(record: Record, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = record.model_dump_json(by_alias=True, exclude_none=True)
    return Response(body, status, headers, media_type="application/json")


async def read_body(request: Request, limit_bytes: int) -> bytes:
    """The body, at most so many bytes. Raises Refused, having discarded as much again so that the caller hears why."""
    body, size = bytearray(), 0
    async for piece in request.stream():
        size += len(piece)
        if size <= limit_bytes:
            body += piece
        elif size > 2 * limit_bytes:
            break
    if size > limit_bytes:
        raise Refused(too_large(limit_bytes))
    return bytes(body)


def parse(kind: type[R], body: bytes) -> R:
    """The record in a body. Raises Refused, whatever the bytes are."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        field, words = first_problem(error)
        raise Refused(bad_request(f"field '{field}': {words}")) from error
    except RecursionError as error:
        raise Refused(bad_request("the body is nested too deeply")) from error


async def _model(gateway: Gateway, request: Request, run: RunView) -> Response:
    wanted = parse(ModelRequest, await read_body(request, limits.MODEL_REQUEST_MAX_BYTES))
    call = await gateway.start_call(run, wanted)
    return StreamingResponse(_lines(gateway, call), media_type=NDJSON, headers={"Cache-Control": "no-store"})


async def _lines(gateway: Gateway, call: LiveCall | ModelReply) -> AsyncIterator[bytes]:
    if isinstance(call, ModelReply):
        yield _line(ReplyLine(reply=call))
        return
    async for line in gateway.calls.follow(call):
        yield _line(line)


def _line(record: Record) -> bytes:
    return json.dumps(record.to_wire(), ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


async def _mailbox(gateway: Gateway, request: Request, run: RunView) -> Response:
    wait = request.query_params.get("waitSeconds", "0")
    if not _SECONDS.fullmatch(wait):
        raise Refused(bad_request("waitSeconds is not a number of seconds"))
    seconds = min(float(wait), float(limits.MAILBOX_WAIT_MAX_SECONDS))
    page = await gateway.courier.poll(run.uid, request.query_params.get("cursor", ""), seconds)
    return _record(page)


async def _put_blob(gateway: Gateway, request: Request, run: RunView) -> Response:
    declared = request.headers.get("content-length")
    size = int(declared) if declared is not None and declared.isdecimal() and len(declared) < 16 else None
    sha256 = request.path_params["sha256"]
    new = await gateway.blobs.put(run.uid, sha256, request.stream(), size)
    _, kept = await gateway.blobs.find(run.uid, sha256)
    return _record(BlobRef(sha256=sha256, size=kept), 201 if new else 200)


async def _ask(gateway: Gateway, request: Request, run: RunView) -> Response:
    question = parse(AskedItem, await read_body(request, SMALL_BODY_MAX_BYTES))
    if question.id != request.path_params["id"]:
        raise Refused(bad_request("the id in the body is not the one in the address"))
    if not await gateway.questions.ask(run.uid, question, gateway.clock()):
        raise Refused(refusal(409, "internal", "too many questions are open in this Run", retryable=False))
    gateway.courier.asked(run.uid)
    gateway.usage.changed(run.uid, now=True)
    return Response(status_code=204)


async def _withdraw(gateway: Gateway, request: Request, run: RunView) -> Response:
    if not await gateway.questions.withdraw(run.uid, request.path_params["id"]):
        raise Refused(refusal(404, "internal", "there is no such question", retryable=False))
    gateway.usage.changed(run.uid, now=True)
    return Response(status_code=204)


async def _approval(request: Request) -> ApprovalRequest:
    wanted = parse(ApprovalRequest, await read_body(request, APPROVAL_BODY_MAX_BYTES))
    if wanted.approval_id != request.path_params["id"]:
        raise Refused(bad_request("the approvalId in the body is not the one in the address"))
    return wanted


async def _ask_approval(gateway: Gateway, request: Request, run: RunView) -> Response:
    refused = await gateway.approvals.ask(await _approval(request), run.uid)
    if refused is not None:
        raise Refused(refusal(409, "tool_denied", refused))
    gateway.usage.changed(run.uid, now=True)
    return Response(status_code=204)


async def _withdraw_approval(gateway: Gateway, request: Request, run: RunView) -> Response:
    if not await gateway.approvals.withdraw(run.uid, request.path_params["id"]):
        raise Refused(refusal(404, "internal", "there is no such approval", retryable=False))
    gateway.usage.changed(run.uid, now=True)
    return Response(status_code=204)


async def _consume_approval(gateway: Gateway, request: Request, run: RunView) -> Response:
    refused = await gateway.approvals.consume(await _approval(request), run.uid)
    gateway.usage.changed(run.uid, now=True)
    if refused is not None:
        raise Refused(refusal(409, "tool_denied", refused))
    return Response(status_code=204)


async def _tools(gateway: Gateway, request: Request, run: RunView) -> Response:
    return _record(await gateway.offered.list_tools(run))


async def _call_tool(gateway: Gateway, request: Request, run: RunView) -> Response:
    call = parse(ExternalCall, await read_body(request, APPROVAL_BODY_MAX_BYTES))
    return _record(await gateway.tools.call(run, request.path_params["name"], call))


async def _ledger(gateway: Gateway, request: Request) -> Response:
    uid = request.path_params["uid"]
    grant = await gateway.ledger.grant(uid)
    if grant is None and gateway.source.run(uid) is None:
        raise Refused(refusal(404, "internal", "the ledger knows no such Run", retryable=False))
    return _record(await gateway.ledger.view(uid, grant.budget if grant else gateway.no_budget))


async def _awaiting(gateway: Gateway, request: Request) -> Response:
    run, identity = (request.query_params.get(name, "")[:64] for name in ("run", "id"))
    if identity and not run:
        raise Refused(bad_request("an id is looked for in a run: give both"))
    if run:
        return _record(await gateway.awaiting.of(run, identity, gateway.clock()))
    wanted = set(request.query_params.getlist("namespace"))
    namespaces = [each for each in gateway.config.run_namespaces if each in wanted]
    return _record(await gateway.awaiting.open(namespaces, gateway.clock()))


async def _get_blob(gateway: Gateway, request: Request) -> Response:
    path, _ = await gateway.blobs.find(request.path_params["uid"], request.path_params["sha256"])
    headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
    return FileResponse(path, media_type="application/octet-stream", headers=headers)


def _guarded(gateway: Gateway, use: Use, handler: Callable[..., Awaitable[Response]]) -> Any:
    """`handler` behind the token check; refusals and surprises become GatewayErrors here and nowhere else."""

    async def endpoint(request: Request) -> Response:
        port = request.client.port if request.client else 0
        header = request.headers.get("authorization")
        caller = await gateway.authenticator.caller(header, source_ip(request), use, port)
        response = answer(caller) if isinstance(caller, Refusal) else await _served(gateway, request, caller, handler)
        if isinstance(caller, Refusal):
            metrics.REFUSED.inc()
        metrics.REQUESTS.labels(handler.__name__.lstrip("_"), str(response.status_code)).inc()
        return response

    return endpoint


async def _served(
    gateway: Gateway, request: Request, caller: Caller, handler: Callable[..., Awaitable[Response]]
) -> Response:
    try:
        return await (handler(gateway, request, caller.run) if caller.run else handler(gateway, request))
    except Refused as refused:
        return answer(refused.refusal)
    except ClientDisconnect:
        return Response(status_code=499)
    except OSError as error:
        log.warning("%s: %s", handler.__name__, error)
        text = "the gateway's storage does not answer; try again"
        return answer(refusal(503, "llm_unavailable", text, retry_after_seconds=2.0))
    except Exception:
        log.exception("%s failed", handler.__name__)
        return answer(refusal(500, "internal", "the gateway failed; its log says why", retryable=True))


async def _unknown(_gateway: Gateway, _request: Request, _run: RunView | None = None) -> Response:
    raise Refused(refusal(404, "internal", "the gateway has no such address", retryable=False))


def make_app(gateway: Gateway) -> Starlette:
    """The ASGI app of the TLS port. A stranger gets the same 401, and is counted, at every address and method."""
    guarded_unknown = _guarded(gateway, "any", _unknown)

    async def unknown(request: Request, _error: Exception) -> Response:
        answered: Response = await guarded_unknown(request)
        return answered

    def route(path: str, method: str, use: Use, handler: Callable[..., Awaitable[Response]]) -> Route:
        return Route(path, _guarded(gateway, use, handler), methods=[method])

    app = Starlette(
        routes=[
            route("/v1/model", "POST", "model", _model),
            route("/v1/mailbox", "GET", "run", _mailbox),
            route("/v1/blobs/{sha256}", "PUT", "run", _put_blob),
            route("/v1/questions/{id}", "PUT", "model", _ask),
            route("/v1/questions/{id}", "DELETE", "run", _withdraw),
            route("/v1/approvals/{id}", "PUT", "model", _ask_approval),
            route("/v1/approvals/{id}", "DELETE", "run", _withdraw_approval),
            route("/v1/approvals/{id}/consume", "POST", "model", _consume_approval),
            route("/v1/tools", "GET", "model", _tools),
            route("/v1/tools/{name}", "POST", "model", _call_tool),
            route("/internal/v1/runs/{uid}/ledger", "GET", "api", _ledger),
            route("/internal/v1/awaiting", "GET", "api", _awaiting),
            route("/internal/v1/runs/{uid}/blobs/{sha256}", "GET", "api", _get_blob),
        ],
        exception_handlers={404: unknown, 405: unknown},
    )
    app.router.redirect_slashes = False  # it would answer before anybody is asked who he is
    return app
