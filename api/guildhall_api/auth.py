"""Who asks, and may they: sessions, bearer tokens, proxy headers; the cluster's answers are kept ten seconds at most.

Guards every route; a request that no rule lets through is refused. Tokens are never stored, logged or sent on.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

from starlette.requests import Request

from guildhall_api.config import SignInMode, StartError
from guildhall_api.problems import Refused
from guildhall_api.source import Act, IdentitySource, Person

COOKIE: Final = "guildhall_session"
CACHE_SECONDS: Final = 10.0
ASKED_AT_ONCE_MAX_COUNT: Final = 8
_CACHE_MAX_COUNT: Final = 10_000
_SESSIONS_MAX_COUNT: Final = 10_000
_GOOD_SECONDS: Final = 3_600.0
_TOKEN_MAX_CHARS: Final = 16_384
_FAILURES_PER_MINUTE_MAX_COUNT: Final = 30

Value = TypeVar("Value")
Clock = Callable[[], float]


class Kept(Generic[Value]):
    """A bounded cache whose entries live for `seconds`."""

    def __init__(self, seconds: float, max_count: int, clock: Clock) -> None:
        self._seconds = seconds
        self._max = max_count
        self._clock = clock
        self._entries: OrderedDict[object, tuple[float, Value]] = OrderedDict()

    def get(self, key: object) -> Value | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry[0] <= self._clock():
            del self._entries[key]
            return None
        return entry[1]

    def put(self, key: object, value: Value, seconds: float | None = None) -> None:
        self._entries.pop(key, None)
        self._entries[key] = (self._clock() + (self._seconds if seconds is None else seconds), value)
        while len(self._entries) > self._max:
            self._entries.popitem(last=False)

    def drop(self, key: object) -> None:
        self._entries.pop(key, None)


@dataclass(frozen=True)
class SignedIn:
    """A session as it was opened: `secret` goes into the cookie and nowhere else."""

    person: Person
    secret: str
    expires_at: float


class Auth:
    """Authentication and authorisation of requests."""

    def __init__(self, mode: SignInMode, identity: IdentitySource, clock: Clock = time.time) -> None:
        """Raises StartError where the proxy's secret is needed and there is none."""
        self._mode = mode
        self._identity = identity
        self._clock = clock
        self._people: Kept[Person] = Kept(CACHE_SECONDS, _CACHE_MAX_COUNT, clock)
        self._answers: Kept[bool] = Kept(CACHE_SECONDS, _CACHE_MAX_COUNT, clock)
        self._sessions: Kept[SignedIn] = Kept(mode.session_seconds, _SESSIONS_MAX_COUNT, clock)
        self._good: Kept[bool] = Kept(_GOOD_SECONDS, _CACHE_MAX_COUNT, clock)  # strangers lock none of these out
        self._failures: Kept[int] = Kept(60, _CACHE_MAX_COUNT, clock)
        self._proxy_secret = _proxy_secret(mode)

    async def person(self, request: Request) -> Person:
        """Who asks. Raises Refused 401."""
        found = await self._by_header(request) or self._by_session(request)
        if found is None and self._mode.mode == "none":
            found = await self._identity.person("")
        if found is None:
            raise Refused(
                401, "Not signed in", "Sign in with a token the cluster accepts, or send it as a bearer token."
            )
        return found

    async def _by_header(self, request: Request) -> Person | None:
        if self._mode.mode == "proxy":
            person = self._by_proxy(request)
            if person is not None:
                return person
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return None
        return await self._of_token(token.strip(), request)

    def _by_proxy(self, request: Request) -> Person | None:
        sent = request.headers.getlist(self._mode.secret_header)
        users = request.headers.getlist(self._mode.user_header)
        if len(sent) != 1 or len(users) != 1 or not 0 < len(users[0]) <= 256 or users[0].startswith("system:"):
            return None
        if not hmac.compare_digest(sent[0].encode(), self._proxy_secret.encode()):
            return None
        listed = ",".join(request.headers.getlist(self._mode.groups_header)).split(",")
        groups = [group.strip() for group in listed if group.strip() and not group.strip().startswith("system:")]
        return Person(users[0], groups=(*groups, "system:authenticated"))

    def _by_session(self, request: Request) -> Person | None:
        session = self.session(request)
        return session.person if session is not None else None

    def session(self, request: Request) -> SignedIn | None:
        """The session whose cookie came with the request."""
        secret = request.cookies.get(COOKIE)
        return self._sessions.get(_hashed(secret)) if secret else None

    async def _of_token(self, token: str, request: Request) -> Person:
        client = request.client.host if request.client else ""
        key = _hashed(token)
        if (self._failures.get(client) or 0) >= _FAILURES_PER_MINUTE_MAX_COUNT and not self._good.get(key):
            raise Refused(429, "Too many failed sign-ins", "Wait a minute.", {"Retry-After": "60"})
        person = self._people.get(key)
        if person is None and len(token) <= _TOKEN_MAX_CHARS:
            person = await self._identity.person(token)
        if person is None:
            self._failures.put(client, (self._failures.get(client) or 0) + 1)
            again = "Make a new one: kubectl create token NAME -n NAMESPACE"
            raise Refused(401, "The cluster does not accept this token", again)
        self._people.put(key, person)
        self._good.put(key, value=True)
        return person

    async def sign_in(self, token: str, request: Request) -> SignedIn:
        """Open a session for the owner of `token`. Raises Refused."""
        person = await self._of_token(token.strip(), request)
        now = self._clock()
        seconds = min(self._mode.session_seconds, (token_expiry(token) or float("inf")) - now)
        session = SignedIn(person, secrets.token_urlsafe(32), now + seconds)
        self._sessions.put(_hashed(session.secret), session, seconds)
        return session

    def sign_out(self, request: Request) -> None:
        secret = request.cookies.get(COOKIE)
        if secret:
            self._sessions.drop(_hashed(secret))

    async def may(self, person: Person, act: Act) -> bool:
        """Whether the cluster lets this person do this."""
        key = (person, act)
        known = self._answers.get(key)
        if known is None:
            known = await self._identity.may(person, act)
            self._answers.put(key, known)
        return known

    async def judged(self, person: Person, acts: Iterable[Act]) -> dict[Act, bool]:
        """`may` of each different act, a few asked side by side."""
        room = asyncio.Semaphore(ASKED_AT_ONCE_MAX_COUNT)

        async def one(act: Act) -> bool:
            async with room:
                return await self.may(person, act)

        wanted = list(dict.fromkeys(acts))
        return dict(zip(wanted, await asyncio.gather(*map(one, wanted)), strict=True))

    async def allow(self, request: Request, *acts: Act) -> Person:
        """Who asks, once each of `acts` is allowed. Raises Refused 401 or 403."""
        person = await self.person(request)
        for act in acts:
            if not await self.may(person, act):
                raise Refused(403, "The cluster does not allow this", f"{_shown(person)} may not {_said(act)}.")
        return person


def _proxy_secret(mode: SignInMode) -> str:
    """What the proxy sends to be believed; "" in another mode. Raises StartError."""
    if mode.mode != "proxy":
        return ""
    wanted = f"write what the proxy sends as {mode.secret_header} into it: without a secret anyone could name any user"
    try:
        secret = Path(mode.secret_file or "").read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StartError(f"signIn.secretFile {mode.secret_file} cannot be read: {error}; {wanted}") from error
    if not secret:
        raise StartError(f"signIn.secretFile {mode.secret_file} is empty; {wanted}")
    return secret


def token_expiry(token: str) -> float | None:
    """When a JSON web token says it ends. Only for one the cluster has accepted; it is not verified here."""
    try:
        body = token.strip().split(".")[1]
        value = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))).get("exp")
    except (IndexError, ValueError, AttributeError):
        return None
    return float(value) if isinstance(value, int) else None


def _said(act: Act) -> str:
    named = f"{act.resource}/{act.name}" if act.name else act.resource
    return f"{act.verb} {named} in namespace {act.namespace}"


def _shown(person: Person) -> str:
    return f"'{person.user[:256]}'"


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
