"""A gateway with a Connection to a real MCP server on loopback: what tests of external tools act on."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from guildhall_contracts.canonical import arguments_hash, digest
from guildhall_contracts.guild import GuildSpec
from guildhall_gateway.adapters.connections import Reach
from guildhall_gateway.adapters.guard import origin_of
from guildhall_gateway.adapters.target import Times
from guildhall_gateway.runs import ConnectionView, RunView
from support.mcp_server import Running, mcp_server
from unit.gateway import kit

QUICK = Times(connect=3.0, call=3.0, relist=0.2, idle=60.0)
TOOLS = {"read_note": {"effect": "read", "allowedInPrivate": True, "allowedWithoutUserPresent": True}}


def guild_of(*tools: str, other: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """A Guild: role `coder` with the tools, role `other` with others."""
    roles = [
        {"name": name, "prompt": "p", "model": "m", "tools": [*listed, "finish"]}
        for name, listed in (("coder", tools), ("other", other))
    ]
    return {"entryRole": "coder", "models": {"m": "scripted:x"}, "roles": roles} | more


def frozen(guild: dict[str, Any]) -> dict[str, Any]:
    """The fields of a Run whose Guild the operator froze."""
    return {"guild": guild, "guild_digest": digest(GuildSpec.model_validate(guild))}


def connection(
    url: str, name: str = "notes", uid: str = "connection-1", generation: int = 1, **spec: Any
) -> ConnectionView:
    return ConnectionView(uid, "team", name, generation, {"kind": "mcp", "url": url, "tools": TOOLS} | spec)


@dataclass
class Bench:
    """The gateway, the server, and shortcuts of an executor."""

    served: kit.Served
    server: Running
    run: RunView

    @property
    def cluster(self) -> kit.Cluster:
        return self.served.cluster

    async def get(self) -> list[dict[str, Any]]:
        async with self.served.client() as client:
            answer = await client.get("/v1/tools")
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["tools"]
        return found

    async def call(
        self, tool: str, arguments: Any, call_id: str = "c1", role: str = "coder", **more: Any
    ) -> httpx.Response:
        async with self.served.client() as client:
            body = {"callId": call_id, "role": role, "arguments": arguments} | more
            return await client.post(f"/v1/tools/{tool}", json=body)

    async def approve(
        self, tool: str, arguments: dict[str, Any], call_id: str = "c1", approval_id: str = "a1", **other: Any
    ) -> None:
        """Ask for an approval as an executor would, and let a person give it by an Intervention."""
        shown = arguments_hash(arguments)
        body = {
            "approvalId": approval_id,
            "run": self.run.uid,
            "callId": call_id,
            "role": "coder",
            "tool": tool,
            "effect": "consequential",
            "arguments": arguments,
            "argumentsHash": shown,
        } | other
        async with self.served.client() as client:
            answer = await client.put(f"/v1/approvals/{approval_id}", json=body)
        assert answer.status_code == 204, answer.text
        decision = {"approvalId": approval_id, "argumentsHash": shown, "decision": "approve"}
        self.cluster.intervene(f"i-{approval_id}", self.run, approval=decision)
        await kit.until(lambda: any(uid == f"i-{approval_id}" for uid, _ in self.cluster.item_statuses) or _taken(self))

    async def ready(self, tools: int = 2, name: str = "notes") -> dict[str, Any]:
        """The Connection's status once it is connected and lists so many tools."""

        def found() -> dict[str, Any] | None:
            said = [status for one, status in self.cluster.connection_statuses if one == name]
            good = bool(said) and said[-1]["conditions"][0]["status"] == "True" and len(said[-1]["tools"]) == tools
            return said[-1] if good else None

        await kit.until(lambda: found() is not None)
        status = found()
        assert status is not None
        return status


def _taken(bench: Bench) -> bool:
    return not bench.served.gateway.courier._todo


@contextlib.asynccontextmanager
async def bench(
    folder: Path,
    guild: dict[str, Any] | None = None,
    *,
    server: Running | None = None,
    database_url: str | None = None,
    tools: dict[str, Any] | None = None,
    offers: int = 2,
    **run: Any,
) -> AsyncIterator[Bench]:
    """A Run of `guild` beside the Connection `notes`, which declares `tools` and whose server lists `offers`."""
    async with contextlib.AsyncExitStack() as stack:
        running = server or await stack.enter_async_context(mcp_server())
        where = Reach(frozenset({origin_of(running.url)}), (), QUICK)
        database = {"database_url": database_url} if database_url else {}
        served = await stack.enter_async_context(kit.serve(folder, where=where, **database))
        view = served.cluster.add_run(**frozen(guild or guild_of("notes__read_note", "notes__publish")), **run)
        served.cluster.tell("set", connection(running.url, tools=tools or TOOLS))
        made = Bench(served, running, view)
        await made.ready(offers)
        yield made
