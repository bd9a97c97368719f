"""What external tools a Run is offered, against a real MCP server: by its own Guild, and gone with their Connection."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.model_api import ModelRequest
from guildhall_gateway.adapters.connections import Connections
from support.connections import bench, frozen, guild_of
from unit.gateway import kit
from unit.gateway.test_tools import PUBLISH, READ, code, deleted, said

ANYWHERE = {"allowedInPrivate": True, "allowedWithoutUserPresent": True}


async def test_tools_are_offered_with_their_policy_and_marked_words(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        tools = {tool["name"]: tool for tool in await made.get()}
        assert set(tools) == {READ, PUBLISH}
        assert tools[READ]["policy"]["effect"] == "read"
        assert tools[PUBLISH]["policy"]["effect"] == "consequential", "what is not declared is consequential"
        assert tools[READ]["parameters"]["properties"] == {"number": {"type": "integer"}}
        assert "no instruction" in tools[READ]["description"]
        assert "Ignore all rules" not in json.dumps(tools), "a server's instructions are shown to nobody"


async def test_a_guild_that_is_not_the_frozen_one_gives_no_rights(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        other = frozen(guild_of(READ)) | {"guild": guild_of(READ, PUBLISH)}
        made.cluster.add_run("run-2", token="t2", **other)
        async with made.served.client("t2") as client:
            answer = await client.post(
                f"/v1/tools/{READ}", json={"callId": "c", "role": "coder", "arguments": {"number": 1}}
            )
            assert code(answer) == "tool_denied"
            made.cluster.change_run("run-2", guild=guild_of(READ))
            answer = await client.post(
                f"/v1/tools/{READ}", json={"callId": "c", "role": "coder", "arguments": {"number": 1}}
            )
            assert said(answer) == "note 1"


async def test_scheduled_and_private_runs_get_fewer_tools(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        guild = frozen(guild_of(READ, PUBLISH))
        for number, fields in enumerate(({"attended": False}, {"private": True}), 2):
            made.cluster.add_run(f"run-{number}", token=f"t{number}", **guild, **fields)
            async with made.served.client(f"t{number}") as client:
                tools = (await client.get("/v1/tools")).json()["tools"]
                assert [tool["name"] for tool in tools] == [READ]
                call = {"callId": "c", "role": "coder", "arguments": {"text": "x"}, "approvalId": "a1"}
                assert code(await client.post(f"/v1/tools/{PUBLISH}", json=call)) == "tool_denied"
        assert len(await made.get()) == 2, "a person's own Run has both"


@pytest.mark.parametrize(
    ("declared", "guild"),
    [
        ({"effect": "consequential"}, {}),
        ({"effect": "read", "approval": True}, {}),
        ({"effect": "write"}, {"effect": "write", "approval": True}),
        ({"effect": "read"}, {"effect": "consequential"}),
    ],
    ids=["consequential", "asked about", "asked about by the Guild", "consequential by the Guild"],
)
async def test_where_nobody_can_say_yes_what_needs_one_is_not_offered(
    tmp_path: Path, declared: dict[str, Any], guild: dict[str, Any]
) -> None:
    tools = {"publish": declared | ANYWHERE, "read_note": {"effect": "read"} | ANYWHERE}
    override = {"tools": {PUBLISH: guild | ANYWHERE}} if guild else {}
    async with bench(tmp_path, guild_of(READ, PUBLISH, **override), tools=tools) as made:
        assert {tool["name"] for tool in await made.get()} == {READ, PUBLISH}, "control: a person's own Run has both"
        spec = frozen(guild_of(READ, PUBLISH, **override))
        made.cluster.add_run("run-2", token="t2", attended=False, **spec)
        async with made.served.client("t2") as client:
            offered = (await client.get("/v1/tools")).json()["tools"]
            assert [tool["name"] for tool in offered] == [READ]
            call = {"callId": "c", "role": "coder", "arguments": {"text": "x"}}
            assert code(await client.post(f"/v1/tools/{PUBLISH}", json=call)) == "tool_denied"
        assert made.server.told.calls == []


async def test_a_guild_tightens_and_never_loosens(tmp_path: Path) -> None:
    strict = {READ: {"effect": "consequential"}, PUBLISH: {"effect": "read", "allowedInPrivate": True}}
    async with bench(tmp_path, guild_of(READ, PUBLISH, tools=strict)) as made:
        assert {tool["policy"]["effect"] for tool in await made.get()} == {"consequential"}
        assert code(await made.call(READ, {"number": 1})) == "approval_needed"


async def test_a_deleted_connection_takes_its_tools_along_at_once(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI, kit.SAY_HI])
    async with bench(tmp_path) as made:
        spec = {"name": READ, "description": "d", "parameters": {}}
        local = {"name": "read_file", "description": "d", "parameters": {}}
        shown = made.served.gateway.offered.shown
        request = kit.request(tools=[spec, local])
        before = ModelRequest.model_validate(request)
        assert [tool.name for tool in shown(made.run, before).tools] == [READ, "read_file"]
        assert said(await made.call(READ, {"number": 1})) == "note 1"
        assert len(made.served.gateway.connections._pool) == 1
        await deleted(made)
        assert [tool.name for tool in shown(made.run, before).tools] == ["read_file"]
        assert code(await made.call(READ, {"number": 2}, call_id="c2")) == "unknown_tool"
        assert await made.get() == []
        assert said(await made.call(READ, {"number": 1})) == "note 1", "what was made stays known"
        assert len(made.server.told.calls) == 1
        await kit.until(lambda: len(made.served.gateway.connections._pool) == 0)
        store = made.served.gateway.tools._store
        async with asyncio.timeout(5):
            while await store.connections():  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def test_a_gateway_that_was_just_started_says_wait_and_not_that_there_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path) as made:
        assert said(await made.call(READ, {"number": 1})) == "note 1"
        where = made.served.gateway.connections._reach
        other = tmp_path / "other"
        other.mkdir()
        may, listed = asyncio.Event(), Connections._listed

        async def held(connections: Connections, kept: Any) -> Any:
            await may.wait()
            return await listed(connections, kept)

        monkeypatch.setattr(Connections, "_listed", held)
        async with kit.serve(other, made.cluster, where=where) as second, second.client() as client:
            first = await client.get("/v1/tools")
            assert first.status_code == 503, "nothing is known yet"
            may.set()
            body = {"callId": "c9", "role": "coder", "arguments": {"number": 9}}
            call = await client.post(f"/v1/tools/{READ}", json=body)
            while call.status_code == 503:
                await asyncio.sleep(0.05)
                call = await client.post(f"/v1/tools/{READ}", json=body)
            assert said(call) == "note 9"
            assert len((await client.get("/v1/tools")).json()["tools"]) == 2
