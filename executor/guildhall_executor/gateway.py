"""The client of the one service this process may reach. Guards against a stream that stalls, floods or talks nonsense.

Names come from the hosts file alone, the certificate is checked against the service's name. The token is read again for
every call and the CA for every connection, because both rotate.
"""

import asyncio
import random
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote, urlsplit

from guildhall_contracts import limits
from guildhall_contracts.approvals import ApprovalRequest
from guildhall_contracts.base import Record
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.external import ExternalCall, ExternalResult, ExternalTools
from guildhall_contracts.model_api import (
    AskedItem,
    MailboxPage,
    ModelReply,
)
from pydantic import ValidationError

from guildhall_executor import retry
from guildhall_executor.effects import CallModel
from guildhall_executor.gateway_answer import ERROR_BODY_MAX_BYTES, bounded_body, read_model_answer, refusal
from guildhall_executor.hosts import address_of
from guildhall_executor.http1 import Address, Answer, Body, Http, HttpFault, NoAnswer, Silence
from guildhall_executor.places import Patience, Places
from guildhall_executor.retry import Failure, GiveUp, Pace, Tally, Wait, unavailable
from guildhall_executor.tools.external import as_json
from guildhall_executor.trust import Trust

SHORT_CALLS_AT_ONCE_MAX_COUNT: Final = 3
EXTERNAL_CALLS_AT_ONCE_MAX_COUNT: Final = 4
PAGE_MAX_BYTES: Final = 2 * limits.MIB
TOOLS_MAX_BYTES: Final = 4 * limits.MIB
_JITTER: Final = random.SystemRandom().random
R = TypeVar("R", bound=Record)


def address_from(url: str, hosts_text: str) -> Address | None:
    """Where `url` is, by the hosts file alone; None when its name is not there. Raises ValueError for no sound URL."""
    parsed = urlsplit(url)
    name = parsed.hostname or ""
    ip = address_of(name, hosts_text)
    if ip is None:
        return None
    return Address(ip, parsed.port or (443 if parsed.scheme == "https" else 80), name, parsed.netloc)


class GatewayFileUnusable(Exception):  # noqa: N818  reads as what it says
    """A file the pod should hold to reach the gateway is missing or unsound; the message names it and who must act."""

    def __init__(self, what: str, path: Path, error: OSError) -> None:
        why = f"{type(error).__name__}: {error.strerror or error}"
        super().__init__(f"{what} at {path} cannot be used ({why}); the platform team has to look at the run pod")


class Gateway:
    """The gateway at `url`; every method is total: a value or an ErrorInfo, never an exception.

    Making one raises GatewayFileUnusable.
    """

    def __init__(self, url: str, places: Places, patience: Patience, jitter: Callable[[], float] = _JITTER) -> None:
        self._places = places
        self._patience = patience
        self._jitter = jitter
        self._name = urlsplit(url).hostname
        address = address_from(url, _hosts_text(places.hosts))
        tls = _tls(places.ca) if url.startswith("https:") else None
        self._external_calls = asyncio.Semaphore(EXTERNAL_CALLS_AT_ONCE_MAX_COUNT)
        self._short_calls = asyncio.Semaphore(SHORT_CALLS_AT_ONCE_MAX_COUNT)
        self._http = Http(address, tls, patience.connect_seconds) if address is not None else None

    def close(self) -> None:
        if self._http is not None:
            self._http.close()

    async def _ask(self, method: str, target: str, body: Body, idle_seconds: float) -> Answer | Failure:
        """Sends with the token as it is now. Raises HttpFault."""
        if self._http is None:
            return _unreachable(f"the gateway's name {self._name} is not in the hosts file")
        try:
            token = self._places.token.read_text(encoding="ascii").strip()
        except (OSError, UnicodeError) as error:
            return _unreachable(f"the gateway token cannot be read ({type(error).__name__})")
        headers = [("Authorization", f"Bearer {token}"), ("Content-Type", "application/json")]
        return await self._http.ask(method, target, headers, body, idle_seconds=idle_seconds)

    async def model(
        self, call: CallModel, on_text: Callable[[str], None], on_retry: Callable[[ErrorInfo, float], None]
    ) -> ModelReply | ErrorInfo:
        """The reply to `call`, asked again under its own id where that can help, within bounds."""
        body = call.pieces()
        tally = Tally()
        while True:
            outcome = await self._try_model(call.call_id, body, on_text)
            if isinstance(outcome, ModelReply):
                return outcome
            tally, decision = self._decide(outcome, tally)
            if isinstance(decision, GiveUp):
                return decision.error
            on_retry(outcome.error, decision.seconds)
            await asyncio.sleep(decision.seconds)

    async def _try_model(self, call_id: str, body: Body, on_text: Callable[[str], None]) -> ModelReply | Failure:
        try:
            async with asyncio.timeout(self._patience.model_call_seconds):
                answer = await self._ask("POST", "/v1/model", body, self._patience.stream_idle_seconds)
                if isinstance(answer, Failure):
                    return answer
                try:
                    return await read_model_answer(answer, call_id, on_text)
                finally:
                    answer.close()
        except TimeoutError:
            return unavailable(f"the model call took over {self._patience.model_call_seconds:.0f} seconds")
        except Silence as silence:
            return unavailable(f"model stream stalled: {silence}", stalled=True)
        except NoAnswer as fault:
            return retry.away(f"the gateway cannot be reached: {fault}")
        except HttpFault as fault:
            return unavailable(f"the gateway's answer broke off: {fault}")

    async def mailbox(self, cursor: str, wait_seconds: int) -> MailboxPage | ErrorInfo:
        """The next page; waits up to `wait_seconds` there for something to arrive."""
        target = f"/v1/mailbox?cursor={quote(cursor, safe='')}&waitSeconds={wait_seconds}"
        body = await self._plain("GET", target, (), PAGE_MAX_BYTES, wait_seconds + 15.0)
        if isinstance(body, ErrorInfo):
            return body
        try:
            return MailboxPage.model_validate_json(body)
        except ValidationError:
            return error_info("llm_unavailable", "the gateway's mailbox answered something that is no page")

    async def put_blob(self, sha256: str, data: bytes) -> ErrorInfo | None:
        """Stores `data` under its hash; None when it is there."""
        async with self._short_calls:
            answer = await self._plain("PUT", f"/v1/blobs/{sha256}", (data,), ERROR_BODY_MAX_BYTES, 60.0)
        return answer if isinstance(answer, ErrorInfo) else None

    async def tools(self) -> ExternalTools | ErrorInfo:
        """The external tools this Run may be offered; asked again where that can help."""
        return await self._read(ExternalTools, "GET", "/v1/tools", (), 15.0)

    async def call_tool(self, tool: str, call: ExternalCall) -> ExternalResult | ErrorInfo:
        """What came of an external call; asked again under its own id, by which the gateway makes it once."""
        seconds = limits.EXTERNAL_CALL_MAX_SECONDS + 30.0
        target = f"/v1/tools/{quote(tool, safe='')}"
        async with self._external_calls:
            return await self._read(ExternalResult, "POST", target, (as_json(call),), seconds)

    async def _read(
        self, kind: type[R], method: str, target: str, data: Body, patience_seconds: float
    ) -> R | ErrorInfo:
        tally = Tally()
        while True:
            body = await self._try_plain(method, target, data, TOOLS_MAX_BYTES, patience_seconds)
            if isinstance(body, bytes):
                try:
                    return kind.model_validate_json(body)
                except ValidationError:
                    body = unavailable(f"the gateway answered {target} with something else than was asked for")
            tally, decision = self._decide(body, tally)
            if isinstance(decision, GiveUp):
                return decision.error
            await asyncio.sleep(decision.seconds)

    def _decide(self, failure: Failure, tally: Tally) -> tuple[Tally, Wait | GiveUp]:
        """The failures so far with this one, and what to do about it."""
        now, patience = asyncio.get_running_loop().time(), self._patience
        tally = tally.after(failure, now)
        pace = Pace(
            patience.retry_base_seconds,
            patience.retry_after_max_seconds,
            patience.gateway_away_seconds,
            self._jitter(),
            patience.model_call_seconds,
        )
        return tally, retry.decide(failure, tally, pace, now)

    async def ask_person(self, item: AskedItem) -> ErrorInfo | None:
        """Puts a question to people; None when the gateway has it, which it may have had before."""
        return await self._tell("PUT", f"/v1/questions/{item.id}", item)

    async def withdraw(self, what: str, identity: str) -> ErrorInfo | None:
        """Says that a question or an approval (`what`) is over."""
        return await self._tell("DELETE", f"/v1/{what}/{identity}")

    async def ask_approval(self, request: ApprovalRequest) -> ErrorInfo | None:
        """Puts a call to people for a yes or no."""
        return await self._tell("PUT", f"/v1/approvals/{request.approval_id}", request)

    async def consume(self, request: ApprovalRequest) -> ErrorInfo | None:
        """Uses a yes up; None exactly once, and only for the call it was given for."""
        return await self._tell("POST", f"/v1/approvals/{request.approval_id}/consume", request)

    async def _tell(self, method: str, target: str, record: Record | None = None) -> ErrorInfo | None:
        body = (record.model_dump_json(by_alias=True, exclude_none=True).encode(),) if record is not None else ()
        async with self._short_calls:
            answer = await self._plain(method, target, body, ERROR_BODY_MAX_BYTES, 30.0)
        return answer if isinstance(answer, ErrorInfo) else None

    async def _plain(
        self, method: str, target: str, data: Body, max_bytes: int, patience_seconds: float
    ) -> bytes | ErrorInfo:
        outcome = await self._try_plain(method, target, data, max_bytes, patience_seconds)
        return retry.told(outcome) if isinstance(outcome, Failure) else outcome

    async def _try_plain(
        self, method: str, target: str, data: Body, max_bytes: int, patience_seconds: float
    ) -> bytes | Failure:
        try:
            async with asyncio.timeout(patience_seconds):
                answer = await self._ask(method, target, data, patience_seconds)
                if isinstance(answer, Failure):
                    return answer
                try:
                    body = await bounded_body(answer, max_bytes)
                finally:
                    answer.close()
        except (HttpFault, TimeoutError) as error:
            path = target.partition("?")[0]
            return unavailable(f"the gateway does not answer {path} ({type(error).__name__})")
        return body if 200 <= answer.status < 300 else refusal(answer.status, body, answer.retry_after_seconds)


def _hosts_text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        raise GatewayFileUnusable("the hosts file", path, error) from error


def _tls(ca: Path) -> ssl.SSLContext:
    try:
        return Trust(ca)
    except OSError as error:
        raise GatewayFileUnusable("the gateway's CA file", ca, error) from error


def _unreachable(message: str) -> Failure:
    return Failure(error_info("internal", f"{message}; the platform team has to look at the run pod"))
