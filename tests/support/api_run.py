"""Runs, pods, events and a whole api for tests: the api over the stub cluster, spoken to by HTTP without a socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from guildhall_api.app import make_app, make_services, running
from guildhall_api.config import Config
from guildhall_api.gateway import GatewayUnavailable
from guildhall_api.history import History
from guildhall_api.identity import KubernetesIdentity
from guildhall_api.kube import Access, Kube
from guildhall_api.services import Services
from guildhall_api.watch import KubernetesRuns
from guildhall_contracts.awaiting import AwaitingView
from guildhall_contracts.model_api import LedgerTotals, LedgerView
from support.kube_stub import KubeStub

Wire = dict[str, Any]
UID = "0b9ff0d6-6f0c-4c59-8d0a-6d5f9f3f7a11"
POD_UID = "11111111-2222-4333-8444-555555555555"
DIGEST = "a" * 64
ADA = "token-of-ada"


def line(seq: int, type_: str, *, run: str = UID, attempt: int = 1, **fields: Any) -> bytes:
    """One event as an executor writes it."""
    stamp = f"2026-01-05T09:{seq // 600 % 60:02}:{seq // 10 % 60:02}.{seq % 10}00Z"
    event = {"v": 1, "run": run, "attempt": attempt, "seq": seq, "ts": stamp, "type": type_} | fields
    return json.dumps(event, separators=(",", ":")).encode()


def start_line(run: str = UID) -> bytes:
    role = {"name": "coder", "label": "Coder", "kind": "role", "tools": ["read_file", "finish"], "delegates": []}
    return line(
        1, "run.started", run=run, op="o1", source="human", destination="role:coder", guild="g", guildDigest=DIGEST,
        entryRole="coder", roles=[role], task="Fix it", mode="interactive", budget={},
    )  # fmt: skip


def warn_line(seq: int, **more: Any) -> bytes:
    return line(seq, "budget.warned", kind="steps", used=seq, limit=100_000, **more)


def finish_line(seq: int, run: str = UID, **more: Any) -> bytes:
    return line(
        seq, "run.finished", run=run, op=f"o{seq}", parent="o1", source="role:coder", destination="human",
        **({"outcome": "succeeded", "result": "Done."} | more),
    )  # fmt: skip


def run_object(
    name: str = "fix", uid: str = UID, *, phase: str = "Running", pod_uid: str | None = POD_UID, **spec: Any
) -> Wire:
    status: Wire = {"phase": phase, "reason": "Started", "startTime": "2026-01-05T09:00:00Z", "conditions": []}
    if pod_uid is not None:
        status["attempts"] = [{"number": 1, "job": f"{name}-a1", "pod": f"{name}-pod", "podUid": pod_uid}]
    return {
        "apiVersion": "guildhall.dev/v1alpha1", "kind": "Run",
        "metadata": {"name": name, "namespace": "team", "uid": uid, "creationTimestamp": "2026-01-05T09:00:00Z"},
        "spec": {"task": "# Fix it\n\nplease", "guildRef": {"name": "repair"}} | spec, "status": status,
    }  # fmt: skip


def pod_object(
    name: str = "fix-pod", run: str = UID, uid: str = POD_UID, *, state: str = "running", **labels: str
) -> Wire:
    statuses = [{"name": "executor", "state": {state: {}}}]
    return {
        "metadata": {"name": name, "namespace": "team", "uid": uid, "labels": {"guildhall.dev/run": run} | labels},
        "status": {"phase": "Running", "containerStatuses": statuses},
    }  # fmt: skip


class FakeGateway:
    """The gateway as the api sees it: blobs, a ledger and what waits, or silence."""

    def __init__(self) -> None:
        self.waits = AwaitingView()
        self.blobs: dict[str, bytes] = {}
        self.asked_for: tuple[str, ...] | None = None
        self.silent = False

    async def ledger(self, uid: str) -> LedgerView | None:
        if self.silent:
            raise GatewayUnavailable("silent")
        return LedgerView(totals=LedgerTotals(calls=1, tokens=10, cost_micro_usd=5))

    async def blob(self, uid: str, sha256: str) -> bytes | None:
        if self.silent:
            raise GatewayUnavailable("silent")
        return self.blobs.get(sha256)

    async def awaiting(self, namespaces: Collection[str]) -> AwaitingView:
        self.asked_for = tuple(namespaces)
        return self._waiting()

    async def awaiting_in(self, run: str, identity: str = "") -> AwaitingView:
        return self._waiting(run, identity)

    def _waiting(self, run: str = "", identity: str = "") -> AwaitingView:
        if self.silent:
            raise GatewayUnavailable("silent")
        state = "" if identity else "open"
        return AwaitingView(
            questions=[q for q in self.waits.questions if _is(q, run, q.id, identity, state)],
            approvals=[a for a in self.waits.approvals if _is(a, run, a.approval_id, identity, state)],
        )


def _is(each: Any, run: str, own: str, identity: str, state: str) -> bool:
    return (not run or each.run == run) and (not identity or own == identity) and (not state or each.state == state)


def config_for(folder: Path, **changes: Any) -> Config:
    fields: Wire = {
        "namespace": "guildhall", "runNamespaces": ["team"], "gateway": {"url": "http://127.0.0.1:9"},
        "databaseUrl": f"sqlite:///{folder}/api.db", "consoleDir": str(folder / "console"), "cookieSecure": True,
    }  # fmt: skip
    return Config.model_validate(fields | changes)


class Api:
    """A running api: `http` speaks to it as Ada, `stranger` without credentials."""

    def __init__(self, services: Services, gateway: FakeGateway, app: Any) -> None:
        self.services = services
        self.gateway = gateway
        self.app = app
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers={"Authorization": f"Bearer {ADA}"}
        )
        self.stranger = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    async def events(self, run: str = "team.fix") -> list[int]:
        """The stored seqs."""
        answer = await self.http.get(f"/api/runs/{run}/events", params={"limit": 1000})
        return [event["seq"] for event in answer.json()["events"]] if answer.status_code == 200 else []

    async def model(self, run: str = "team.fix") -> Wire:
        answer = await self.http.get(f"/api/runs/{run}/flow")
        assert answer.status_code == 200, answer.text
        wire: Wire = answer.json()["model"]
        return wire


@asynccontextmanager
async def api_over(stub: KubeStub, folder: Path, **changes: Any) -> AsyncIterator[Api]:
    """The api with the stub as its cluster, following it while the block runs."""
    stub.people.setdefault(ADA, {"username": "ada", "groups": ["system:authenticated"]})
    config = config_for(folder, **changes)
    kube, gateway = Kube(Access(stub.url)), FakeGateway()
    identity = KubernetesIdentity(kube, config.sign_in.audiences)
    services = make_services(
        config, KubernetesRuns(kube, config.run_namespaces), identity, gateway, History(config.database_url)
    )
    api = Api(services, gateway, make_app(services))
    try:
        async with running(services):
            await until(lambda: services.keeper.ready)
            yield api
    finally:
        await api.http.aclose()
        await api.stranger.aclose()
        await kube.aclose()


async def until(done: Callable[[], Any], seconds: float = 10) -> None:
    """Wait until `done` is true (it may be a coroutine function). Fails after `seconds`."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        answer = done()
        if asyncio.iscoroutine(answer):
            answer = await answer
        if answer:
            return
        assert loop.time() < end, f"did not happen within {seconds} s"
        await asyncio.sleep(0.02)
