"""A gateway on loopback with a cluster made of records: what the tests change, the gateway sees at once."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
from guildhall_contracts.guild import DEFAULT_BUDGET, Budget
from guildhall_gateway.__main__ import Server, server
from guildhall_gateway.adapters.connections import Reach
from guildhall_gateway.app import make_app
from guildhall_gateway.config import Config
from guildhall_gateway.gateway import Doors, Gateway
from guildhall_gateway.identity import TokenFacts
from guildhall_gateway.live import Timeouts
from guildhall_gateway.runs import ConnectionView, InterventionView, PodView, RunView
from guildhall_gateway.views import ViewCache

API_ACCOUNT = "system:serviceaccount:guildhall:guildhall-api"
TOKEN = "token-of-the-pod"
API_TOKEN = "token-of-the-api"


class Cluster(ViewCache):
    """RunSource, IdentitySource and StatusSink at once, in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: dict[str, TokenFacts] = {API_TOKEN: TokenFacts(API_ACCOUNT, "guildhall", "api-1", "api-pod")}
        self.reviews = 0
        self.run_statuses: list[tuple[str, dict[str, Any]]] = []
        self.item_statuses: list[tuple[str, str]] = []
        self.item_messages: dict[str, str] = {}
        self.item_owners: list[tuple[str, dict[str, str]]] = []
        self.unseen: dict[tuple[str, str], RunView] = {}  # Runs the watch has not brought yet
        self.asked_now: list[str] = []  # names of Runs the gateway asked for
        self.connection_statuses: list[tuple[str, dict[str, Any]]] = []
        self.secrets: dict[tuple[str, str], dict[str, bytes]] = {}
        self.alive = True

    def healthy(self) -> bool:
        return self.alive

    def ready(self) -> bool:
        return True

    async def review(self, token: str) -> TokenFacts | None:
        self.reviews += 1
        return self.tokens.get(token)

    async def write_run(self, run: RunView, status: dict[str, Any]) -> None:
        self.run_statuses.append((run.uid, status))

    async def write_intervention(self, item: InterventionView, status: dict[str, Any]) -> None:
        self.item_statuses.append((item.uid, status["state"]))
        self.item_messages[item.uid] = status.get("message", "")
        self._rewrite(item.uid, state=status["state"], stated=status["time"])

    async def write_owner(self, item: InterventionView, owner: dict[str, str]) -> None:
        found = next((one for one in self.interventions(item.run_uid or "") if one.uid == item.uid), None)
        if found is not None and not found.owned:
            self.item_owners.append((item.uid, owner))
            self._rewrite(item.uid, owned=True)

    def _rewrite(self, uid: str, **fields: Any) -> None:
        """A change of an Intervention that is there still, as the watch would bring it."""
        found = [one for kept in self._interventions.values() for one in kept.values() if one.uid == uid]
        for one in found:
            self.tell("set", replace(one, **fields))

    async def run_now(self, namespace: str, name: str) -> RunView | None:
        self.asked_now.append(name)
        seen = {(run.namespace, run.name): run for run in self.runs()}
        return (seen | self.unseen).get((namespace, name))

    async def write_connection(self, item: ConnectionView, status: dict[str, Any]) -> None:
        self.connection_statuses.append((item.name, status))

    async def secret(self, namespace: str, name: str) -> dict[str, bytes] | None:
        return self.secrets.get((namespace, name))

    def add_run(self, uid: str = "run-1", *, token: str = TOKEN, ip: str = "127.0.0.1", **fields: Any) -> RunView:
        """A running Run with its pod and token."""
        budget = fields.pop("budget", None)
        run = RunView(
            uid=uid,
            namespace="team",
            name=f"name-{uid}",
            attempt=1,
            pod_uid=f"pod-{uid}",
            budget=Budget(**budget) if budget else DEFAULT_BUDGET,
            **fields,
        )
        pod = PodView(f"pod-{uid}", "team", f"podname-{uid}", run=uid, attempt=1, phase="Running", ips=(ip,))
        self.tokens[token] = TokenFacts("system:serviceaccount:team:guildhall-run", "team", pod.name, pod.uid)
        self.tell("set", run)
        self.tell("set", pod)
        return run

    def change_run(self, uid: str = "run-1", **fields: Any) -> RunView:
        found = self.run(uid)
        assert found is not None
        changed = replace(found, **fields)
        self.tell("set", changed)
        return changed

    def change_pod(self, uid: str, **fields: Any) -> None:
        found = self.pod(uid)
        assert found is not None
        self.tell("set", replace(found, **fields))

    def intervene(self, uid: str, run: RunView, **body: Any) -> InterventionView:
        """An Intervention on `run`, as the API server would show it."""
        spec = {"runRef": {"name": run.name, "uid": run.uid}, "author": "ann"} | body
        item = InterventionView(uid, run.namespace, f"i-{uid}", f"2026-01-01T00:00:{len(uid):02d}Z", run.uid, spec)
        self.tell("set", item)
        return item


def config(folder: Path, **fields: Any) -> Config:
    values: dict[str, Any] = {
        "namespace": "guildhall",
        "run_namespaces": ["team"],
        "scenarios_dir": str(folder / "scenarios"),
        "database_url": f"sqlite:///{folder}/gateway.db",
        "blobs_dir": str(folder / "blobs"),
        "providers_dir": str(folder / "keys"),
        "tls": None,
        "api_account": API_ACCOUNT,
        "host": "127.0.0.1",
    }
    (folder / "scenarios").mkdir(exist_ok=True)
    return Config(**(values | fields))


def scenario(folder: Path, name: str, steps: list[dict[str, Any]], **more: Any) -> None:
    """A scenario file for role `coder`; JSON is YAML."""
    (folder / "scenarios").mkdir(exist_ok=True)
    data = {"name": name, "roles": {"coder": steps}} | more
    (folder / "scenarios" / f"{name}.yaml").write_text(json.dumps(data))


SAY_HI: dict[str, Any] = {"reply": {"text": "hi"}, "usage": {"tokens": 10, "outputTokens": 2}}


def block(text: str, origin: str = "person", authority: str = "instruction") -> dict[str, Any]:
    return {"text": text, "origin": origin, "authority": authority}


def request(call_id: str = "c1", model: str = "scripted:hi", **more: Any) -> dict[str, Any]:
    """A small ModelRequest on the wire."""
    body = {
        "callId": call_id,
        "role": "coder",
        "model": model,
        "messages": [{"kind": "user", "content": [block("do it")]}],
        "maxOutputTokens": 100,
    }
    return body | more


@dataclass
class Served:
    """A gateway that answers at `url`."""

    gateway: Gateway
    cluster: Cluster
    url: str
    server: Server
    clients: list[httpx.AsyncClient] = field(default_factory=list)
    stopping: "asyncio.Task[None] | None" = None

    def stop(self, grace_seconds: float) -> "asyncio.Task[None]":
        """The gateway's stop, begun once. Its server answers on until the end of the context, as in the process."""
        if self.stopping is None:
            self.stopping = asyncio.create_task(self.gateway.stop(grace_seconds))
        return self.stopping

    def client(self, token: str | None = TOKEN, source: str = "127.0.0.1") -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        transport = httpx.AsyncHTTPTransport(local_address=source)
        made = httpx.AsyncClient(base_url=self.url, headers=headers, transport=transport, timeout=30, trust_env=False)
        self.clients.append(made)
        return made

    async def model(self, body: dict[str, Any], token: str | None = TOKEN) -> list[dict[str, Any]]:
        """The lines of one model call that was accepted."""
        async with self.client(token) as client, client.stream("POST", "/v1/model", json=body) as response:
            data = await response.aread()
        assert response.status_code == 200, data
        return [json.loads(line) for line in data.splitlines()]


@contextlib.asynccontextmanager
async def serve(
    folder: Path,
    cluster: Cluster | None = None,
    *,
    timeouts: Timeouts | None = None,
    where: Reach | None = None,
    **fields: Any,
) -> AsyncIterator[Served]:
    """A gateway with its files below `folder`."""
    cluster = cluster or Cluster()
    doors = Doors(cluster, cluster, cluster, cluster)
    gateway = Gateway(config(folder, **fields), doors, timeouts, where=where)
    await gateway.start()
    listener = server(make_app(gateway), "127.0.0.1", 0)
    task = asyncio.create_task(listener.serve())
    await until(lambda: listener.started)
    port = listener.servers[0].sockets[0].getsockname()[1]
    served = Served(gateway, cluster, f"http://127.0.0.1:{port}", listener)
    try:
        yield served
    finally:
        for client in served.clients:
            await client.aclose()
        await served.stop(0.2)
        listener.should_exit = True
        await task


async def until(check: Any, seconds: float = 5.0) -> None:
    """Wait until `check()` is true; fails loudly when it never is."""
    async with asyncio.timeout(seconds):
        while not check():  # noqa: ASYNC110  what is waited for knows nothing of tests
            await asyncio.sleep(0.01)
