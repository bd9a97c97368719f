"""Who is calling. Guards against tokens of other pods, other audiences, other addresses and of Runs that are over.

`decide` is pure; `Authenticator` asks the IdentitySource and the RunSource, caches token reviews for seconds, and
counts those it turned away. A review says only whose token it is: pod, Run and cancellation are looked at every time.
"""

import base64
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from guildhall_contracts import limits

from guildhall_gateway.problems import UNAUTHENTICATED, Refusal, lagging, refusal
from guildhall_gateway.runs import PodView, RunSource, RunView

TOKEN_MAX_BYTES: Final = 16 * 1024
REVIEW_CACHE_SECONDS: Final = 10.0
REVIEW_CACHE_MAX_COUNT: Final = 4_096
LAG_MAX_SECONDS: Final = 30.0
SOURCES_MAX_COUNT: Final = 4_096
WINDOW_SECONDS: Final = 60.0

Peer = tuple[str, int]
"""One connection: the other end's address and port."""

Use = Literal["model", "run", "api", "any"]
"""What a route needs: `model` is dead once the Run is cancelled, `run` lives on until the Run is finished, so that
the mailbox can deliver the cancel and the patch can be kept; `api` is the api's account alone; `any` takes either."""


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """What the issuer vouches for: an account, and the pod the token is bound to."""

    username: str
    namespace: str = ""
    pod_name: str = ""
    pod_uid: str = ""


class IdentitySource(Protocol):
    """Asks the issuer about a token. None: not valid for our audience. Raises OSError when it cannot be asked."""

    async def review(self, token: str) -> TokenFacts | None: ...


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller that may act: the Run its pod works for, or the api's account (`run` None)."""

    run: RunView | None
    pod: PodView | None


def _recorded(pod: PodView, run: RunView) -> Refusal | None:
    if run.pod_uid == pod.uid:
        return None
    newer = pod.attempt > run.attempt
    return lagging("this pod in the Run's status") if run.pod_uid is None or newer else UNAUTHENTICATED


def decide(  # noqa: PLR0911  one return for each thing that can be wrong
    facts: TokenFacts, pod: PodView | None, run: RunView | None, *, source_ip: str, use: Use
) -> Caller | Refusal:
    """Whether the bearer of these facts may call. A 503 means the view lags and the same call may succeed soon."""
    if not facts.pod_uid:
        return UNAUTHENTICATED
    if pod is None:
        return lagging("this pod")
    if pod.namespace != facts.namespace or pod.name != facts.pod_name or pod.run is None:
        return UNAUTHENTICATED
    if pod.phase in ("Succeeded", "Failed"):
        return UNAUTHENTICATED
    if pod.phase != "Running" or not pod.ips:
        return lagging("this pod running")
    if source_ip not in pod.ips:
        return UNAUTHENTICATED
    if run is None:
        return lagging("this pod's Run")
    if run.namespace != pod.namespace or run.finished:
        return UNAUTHENTICATED
    unrecorded = _recorded(pod, run)
    if unrecorded is not None:
        return unrecorded
    if run.cancelled and use == "model":
        return refusal(403, "interrupted", "the Run was cancelled; the gateway makes no more calls for it")
    return Caller(run, pod)


class Turnstile:
    """Counts per source how often it was turned away within a minute; bounded in sources."""

    def __init__(self, per_minute: int = limits.UNAUTHENTICATED_PER_POD_PER_MINUTE_COUNT) -> None:
        self._limit = per_minute
        self._sources: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def spent(self, source: str, now: float) -> bool:
        """Whether `source` has used up its refusals of this minute."""
        since, count = self._sources.get(source, (now, 0))
        return now - since < WINDOW_SECONDS and count >= self._limit

    def count(self, source: str, now: float) -> None:
        since, count = self._sources.pop(source, (now, 0))
        self._sources[source] = (now, 1) if now - since >= WINDOW_SECONDS else (since, count + 1)
        while len(self._sources) > SOURCES_MAX_COUNT:
            self._sources.popitem(last=False)


TOO_MANY = refusal(
    429, "llm_unavailable", "too many unauthenticated requests came from this address", retry_after_seconds=15.0
)


def bearer(header: str | None) -> str | None:
    """The token of an Authorization header, or None for anything else."""
    if header is None or len(header) > TOKEN_MAX_BYTES:
        return None
    scheme, _, token = header.partition(" ")
    good = scheme.lower() == "bearer" and token and token.isascii() and " " not in token and token.isprintable()
    return token if good else None


def plausible(token: str, now: float) -> bool:
    """Whether a token has the form of a JWT that has not expired at `now` (Unix seconds); its signature is not read."""
    parts = token.split(".")
    if len(parts) != 3 or not all(parts):
        return False
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return False
    expires = claims.get("exp") if isinstance(claims, dict) else None
    return isinstance(expires, int | float) and expires > now


class SecondLook:
    """What is still reviewed for a source that used its minute up. Repository code shares its executor's address: it
    must neither lock the executor out when its token rotates nor spend reviews without end."""

    def __init__(self, per_minute: int = limits.REVIEWS_WHEN_SPENT_PER_MINUTE_COUNT) -> None:
        self._trusted = Turnstile(per_minute)
        self._hopeful = Turnstile(per_minute)
        self._peers: OrderedDict[Peer, None] = OrderedDict()
        self._looked: OrderedDict[bytes, float] = OrderedDict()

    def served(self, peer: Peer) -> None:
        """A caller was served on this connection: nobody else of its address can speak on it."""
        self._peers.pop(peer, None)
        self._peers[peer] = None
        while len(self._peers) > SOURCES_MAX_COUNT:
            self._peers.popitem(last=False)

    def due(self, token: str, peer: Peer, now: float, unix_now: float) -> bool:
        """Whether `token` is to be reviewed; counts it."""
        if peer in self._peers and not self._trusted.spent(peer[0], now):
            self._trusted.count(peer[0], now)
            return True
        key, since = _key(token), self._looked.get(_key(token), -WINDOW_SECONDS)
        if now - since < WINDOW_SECONDS or self._hopeful.spent(peer[0], now) or not plausible(token, unix_now):
            return False
        self._hopeful.count(peer[0], now)
        self._looked[key] = now
        self._looked.move_to_end(key)
        while len(self._looked) > SOURCES_MAX_COUNT:
            self._looked.popitem(last=False)
        return True


def _key(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


class Authenticator:
    """Turns a token and a source address into a Caller, or the Refusal to answer with."""

    def __init__(
        self,
        source: IdentitySource,
        runs: RunSource,
        api_account: str,
        run_namespaces: Collection[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._runs = runs
        self._api_account = api_account
        self._run_namespaces = frozenset(run_namespaces)
        self._clock = clock
        self._unix_clock = time.time
        self._reviews: OrderedDict[bytes, tuple[float, TokenFacts]] = OrderedDict()
        self._first_seen: OrderedDict[str, float] = OrderedDict()
        self._turnstile = Turnstile()
        self._second_look = SecondLook()

    async def caller(self, header: str | None, source_ip: str, use: Use, port: int = 0) -> Caller | Refusal:
        """The Caller behind an Authorization header; never raises for what a stranger sends."""
        now, peer = self._clock(), (source_ip, port)
        token = bearer(header)
        facts: TokenFacts | Refusal | None = self._cached(token, now) if token else None
        if facts is None:
            if self._turnstile.spent(source_ip, now) and not self._due(token, peer, now):
                return TOO_MANY
            facts = await self._reviewed(token, now) if token else None
        if isinstance(facts, Refusal):
            return facts
        answer = self._judge(facts, source_ip, use, now) if facts else UNAUTHENTICATED
        if isinstance(answer, Refusal) and answer.status == 401:
            self._turnstile.count(source_ip, now)
        if isinstance(answer, Caller):
            self._second_look.served(peer)
        return answer

    def _due(self, token: str | None, peer: Peer, now: float) -> bool:
        """A token that was good before is looked at again whatever its neighbours do, another one within bounds."""
        if token is None:
            return False
        return _key(token) in self._reviews or self._second_look.due(token, peer, now, self._unix_clock())

    def _judge(self, facts: TokenFacts, source_ip: str, use: Use, now: float) -> Caller | Refusal:
        if use in ("api", "any") and facts.username == self._api_account:
            return Caller(None, None)
        if use == "api":
            return UNAUTHENTICATED
        if facts.namespace not in self._run_namespaces:
            return UNAUTHENTICATED
        pod = self._runs.pod(facts.pod_uid)
        run = self._runs.run(pod.run) if pod and pod.run else None
        answer = decide(facts, pod, run, source_ip=source_ip, use=use)
        if isinstance(answer, Caller):
            self._first_seen.pop(facts.pod_uid, None)
        elif answer.status == 503 and self._lagged_out(facts.pod_uid, now):
            return UNAUTHENTICATED
        return answer

    def _lagged_out(self, pod_uid: str, now: float) -> bool:
        since = self._first_seen.setdefault(pod_uid, now)
        while len(self._first_seen) > SOURCES_MAX_COUNT:
            self._first_seen.popitem(last=False)
        return now - since > LAG_MAX_SECONDS

    def _cached(self, token: str, now: float) -> TokenFacts | None:
        until, facts = self._reviews.get(_key(token), (0.0, None))
        return facts if now < until else None

    async def _reviewed(self, token: str, now: float) -> TokenFacts | Refusal | None:
        try:
            facts = await self._source.review(token)
        except OSError:
            return lagging("the cluster's token review")
        self._reviews.pop(_key(token), None)
        if facts is not None:
            self._reviews[_key(token)] = (now + REVIEW_CACHE_SECONDS, facts)
            while len(self._reviews) > REVIEW_CACHE_MAX_COUNT:
                self._reviews.popitem(last=False)
        return facts
