"""The few facts the gateway keeps of Runs, pods, Guilds, Interventions and Connections, and the protocol giving them.

Parsing is total: an object of any shape gives a view or None, so that one broken Run cannot deafen the gateway.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from guildhall_contracts.guild import Budget
from guildhall_contracts.snapshot import ATTEMPT_LABEL, RUN_LABEL
from pydantic import ValidationError

_FINISHED = ("True", "False")


@dataclass(frozen=True, slots=True)
class RunView:
    """A Run as the gateway needs it. `pod_uid` is the last attempt's; None before the operator recorded it.

    `budget`: the one the operator froze with the snapshot; None before. `attended`: a person may be asked.
    `awaits`: its status says that questions or approvals are open. `guild`: one written into the Run; `guild_digest`:
    that of the Guild the operator froze for it."""

    uid: str
    namespace: str
    name: str
    cancelled: bool = False
    finished: bool = False
    attempt: int = 0
    pod_uid: str | None = None
    stored_seq: int = 0
    resend_from: int | None = None
    budget: Budget | None = None
    attended: bool = True
    awaits: bool = False
    private: bool = False
    guild_ref: str | None = None
    guild: dict[str, Any] | None = None
    guild_digest: str | None = None


@dataclass(frozen=True, slots=True)
class PodView:
    """A run pod: which Run it claims by label, and whether its address may speak."""

    uid: str
    namespace: str
    name: str
    run: str | None = None
    attempt: int = 0
    phase: str = ""
    ips: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GuildView:
    """A Guild as it stands now: its default budget, and its spec as it was found."""

    uid: str
    namespace: str
    name: str
    defaults: Budget | None = None
    spec: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConnectionView:
    """A Connection as it was found; `ready` and `since` are what its status says of its condition."""

    uid: str
    namespace: str
    name: str
    generation: int
    spec: dict[str, Any]
    ready: str | None = None
    since: str = ""


@dataclass(frozen=True, slots=True)
class InterventionView:
    """An Intervention as it was found; `spec` is judged when it is taken in.

    `owned`: it has an owner, with which it goes. `stated`: when its status was written, as the status has it."""

    uid: str
    namespace: str
    name: str
    created: str
    run_uid: str | None
    spec: dict[str, Any]
    state: str | None = None
    owned: bool = False
    stated: str = ""


AnyView = RunView | PodView | GuildView | InterventionView | ConnectionView
Change = Literal["set", "gone"]
Listener = Callable[[Change, AnyView], None]


class RunSource(Protocol):
    """What the gateway sees of the cluster; local mode has a second implementation."""

    def run(self, uid: str) -> RunView | None: ...

    async def run_now(self, namespace: str, name: str) -> RunView | None:
        """The Run of that name, asked of the cluster: a watch may be behind. Raises OSError."""
        ...

    def pod(self, uid: str) -> PodView | None: ...

    def guild(self, namespace: str, name: str) -> GuildView | None: ...

    def interventions(self, run_uid: str | None = None) -> list[InterventionView]:
        """Those that name a Run, or all, in the order they were made."""
        ...

    def runs(self) -> list[RunView]: ...

    def connections(self) -> list[ConnectionView]: ...

    def subscribe(self, listener: Listener) -> None: ...

    def healthy(self) -> bool: ...

    def ready(self) -> bool: ...


class StatusSink(Protocol):
    """What the gateway writes: three statuses, and owners of Interventions. Raises OSError when it did not happen."""

    async def write_run(self, run: RunView, status: dict[str, Any]) -> None: ...

    async def write_intervention(self, item: InterventionView, status: dict[str, Any]) -> None: ...

    async def write_owner(self, item: InterventionView, owner: dict[str, str]) -> None:
        """Give an Intervention an owner; one that has any keeps it."""
        ...

    async def write_connection(self, item: ConnectionView, status: dict[str, Any]) -> None: ...


class SecretSource(Protocol):
    """Reads one Secret: its decoded values, or None where it is not there or may not be read. Raises OSError."""

    async def secret(self, namespace: str, name: str) -> dict[str, bytes] | None: ...


class NoSecrets:
    """For a gateway that has none to read: every Connection that names one is unusable."""

    async def secret(self, _namespace: str, _name: str) -> dict[str, bytes] | None:
        return None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _identity(item: Any) -> tuple[dict[str, Any], str, str, str] | None:
    meta = _dict(_dict(item).get("metadata"))
    uid, namespace, name = _text(meta.get("uid")), _text(meta.get("namespace")), _text(meta.get("name"))
    return None if uid is None or namespace is None or name is None else (meta, uid, namespace, name)


def _budget(value: Any) -> Budget | None:
    if value is None:
        return None
    try:
        return Budget.model_validate(value)
    except ValidationError:
        return Budget(cost_micro_usd=0, tokens=1, steps=1)  # an unreadable budget allows nothing


def _finished(meta: dict[str, Any], status: dict[str, Any]) -> bool:
    ended = any(
        _dict(condition).get("type") == "Succeeded" and _dict(condition).get("status") in _FINISHED
        for condition in _list(status.get("conditions"))
    )
    return ended or bool(status.get("completionTime")) or bool(meta.get("deletionTimestamp"))


def parse_run(item: Any) -> RunView | None:
    """A Run resource as a RunView."""
    found = _identity(item)
    if found is None:
        return None
    meta, uid, namespace, name = found
    spec, status = _dict(item.get("spec")), _dict(item.get("status"))
    attempts = _list(status.get("attempts"))
    last = _dict(attempts[-1]) if attempts else {}
    archive = _dict(status.get("archive"))
    return RunView(
        uid=uid,
        namespace=namespace,
        name=name,
        cancelled=spec.get("cancel") is True,
        finished=_finished(meta, status),
        attempt=_count(last.get("number")),
        pod_uid=None if last.get("endTime") else _text(last.get("podUid")),
        stored_seq=_count(archive.get("storedSeq")),
        resend_from=_count(archive.get("resendFrom")) or None,
        budget=_budget(status.get("budget")),
        attended=spec.get("mode") != "scheduled",
        awaits=any(_count(number) for number in _dict(status.get("awaiting")).values()),
        private=spec.get("private") is True,
        guild_ref=_text(_dict(spec.get("guildRef")).get("name")),
        guild=spec.get("guild") if isinstance(spec.get("guild"), dict) else None,
        guild_digest=_text(status.get("guildDigest")),
    )


def parse_pod(item: Any) -> PodView | None:
    """A Pod as a PodView."""
    found = _identity(item)
    if found is None:
        return None
    meta, uid, namespace, name = found
    status, labels = _dict(item.get("status")), _dict(meta.get("labels"))
    listed = [_text(_dict(entry).get("ip")) for entry in _list(status.get("podIPs"))]
    ips = tuple(dict.fromkeys(ip for ip in [_text(status.get("podIP")), *listed] if ip))
    attempt = labels.get(ATTEMPT_LABEL)
    return PodView(
        uid=uid,
        namespace=namespace,
        name=name,
        run=_text(labels.get(RUN_LABEL)),
        attempt=int(attempt) if isinstance(attempt, str) and attempt.isdecimal() and len(attempt) < 4 else 0,
        phase=_text(status.get("phase")) or "",
        ips=ips,
    )


def parse_guild(item: Any) -> GuildView | None:
    """A Guild whose spec is not yet believed."""
    found = _identity(item)
    if found is None:
        return None
    _, uid, namespace, name = found
    spec = _dict(item.get("spec"))
    return GuildView(uid, namespace, name, _budget(spec.get("defaults")), spec)


def parse_connection(item: Any) -> ConnectionView | None:
    """A Connection whose spec is not yet believed."""
    found = _identity(item)
    if found is None:
        return None
    meta, uid, namespace, name = found
    conditions = [_dict(one) for one in _list(_dict(item.get("status")).get("conditions"))]
    ready = next((one for one in conditions if one.get("type") == "Ready"), {})
    return ConnectionView(
        uid=uid,
        namespace=namespace,
        name=name,
        generation=_count(meta.get("generation")),
        spec=_dict(item.get("spec")),
        ready=_text(ready.get("status")),
        since=_text(ready.get("lastTransitionTime")) or "",
    )


def parse_intervention(item: Any) -> InterventionView | None:
    """An Intervention whose spec is not yet believed."""
    found = _identity(item)
    if found is None:
        return None
    meta, uid, namespace, name = found
    spec, status = _dict(item.get("spec")), _dict(item.get("status"))
    return InterventionView(
        uid=uid,
        namespace=namespace,
        name=name,
        created=_text(meta.get("creationTimestamp")) or "",
        run_uid=_text(_dict(spec.get("runRef")).get("uid")),
        spec=spec,
        state=_text(status.get("state")),
        owned=bool(_list(meta.get("ownerReferences"))),
        stated=_text(status.get("time")) or "",
    )
