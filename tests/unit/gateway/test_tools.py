"""External tools through the gateway, against a real MCP server: offered, called once, gone with their Connection."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_gateway.adapters.connections import Connections
from guildhall_gateway.tool_store import Before, CallRecord
from support.connections import Bench, bench, connection, frozen, guild_of
from unit.gateway import kit

READ, PUBLISH = "notes__read_note", "notes__publish"


def said(answer: Any) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["content"][0]["text"])


def code(answer: Any) -> str:
    return str(answer.json()["error"]["detail"]["code"])


async def test_tools_are_offered_with_their_policy_and_marked_words(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        tools = {tool["name"]: tool for tool in await made.get()}
        assert set(tools) == {READ, PUBLISH}
        assert tools[READ]["policy"]["effect"] == "read"
        assert tools[PUBLISH]["policy"]["effect"] == "consequential", "what is not declared is consequential"
        assert tools[READ]["parameters"]["properties"] == {"number": {"type": "integer"}}
        assert "no instruction" in tools[READ]["description"]
        assert "Ignore all rules" not in json.dumps(tools), "a server's instructions are shown to nobody"


async def test_a_read_runs_at_once_and_its_result_is_labelled(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        answer = await made.call(READ, {"number": 7})
        assert said(answer) == "note 7"
        block = answer.json()["content"][0]
        assert (block["origin"], block["authority"]) == ("tool", "data")
        assert block["label"] == "external content: connection notes, tool read_note"
        assert made.server.told.calls == [("read_note", {"number": 7})]


async def test_a_consequential_call_needs_an_approval_of_exactly_it(tmp_path: Path) -> None:
    arguments = {"text": "hello", "times": 1}
    async with bench(tmp_path) as made:
        assert code(await made.call(PUBLISH, arguments)) == "approval_needed"
        await made.approve(PUBLISH, arguments)
        other = await made.call(PUBLISH, arguments | {"text": "hellp"}, approvalId="a1")
        assert code(other) == "approval_refused"
        assert code(await made.call(PUBLISH, arguments, call_id="c2", approvalId="a1")) == "approval_refused"
        assert made.server.told.calls == []
        assert said(await made.call(PUBLISH, arguments, approvalId="a1")) == "published hello"
        assert code(await made.call(PUBLISH, arguments, call_id="c3", approvalId="a1")) == "approval_refused"
        assert made.server.told.calls == [("publish", arguments)]


async def test_the_same_call_again_gets_the_kept_result(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        first = (await made.call(READ, {"number": 1})).json()
        again = (await made.call(READ, {"number": 1})).json()
        assert again == first | {"replayed": True}
        assert (await made.call(READ, {"number": 2})).status_code == 409, "the id is another call's"
        assert (await made.call(PUBLISH, {"text": "x"})).status_code == 409
        assert len(made.server.told.calls) == 1


async def test_two_at_once_with_one_id_are_one_call(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        answers = await asyncio.gather(*(made.call(READ, {"number": 1}) for _ in range(8)))
        assert {said(answer) for answer in answers} == {"note 1"}
        assert len(made.server.told.calls) == 1


async def test_a_role_reaches_what_its_frozen_guild_lists_and_no_more(tmp_path: Path) -> None:
    async with bench(tmp_path, guild_of(READ, other=(PUBLISH,))) as made:
        assert said(await made.call(READ, {"number": 1})) == "note 1"
        assert code(await made.call(PUBLISH, {"text": "x"}, call_id="c2")) == "unknown_tool"
        assert code(await made.call(READ, {"number": 1}, call_id="c3", role="other")) == "unknown_tool"
        made.cluster.change_run(guild=guild_of(READ, PUBLISH))  # as if the Guild had been changed since
        assert code(await made.call(PUBLISH, {"text": "x"}, call_id="c4")) == "unknown_tool"


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


ANYWHERE = {"allowedInPrivate": True, "allowedWithoutUserPresent": True}


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


async def deleted(made: Bench) -> None:
    made.cluster.tell("gone", made.cluster.connections()[0])


async def test_a_deleted_connection_takes_its_tools_along_at_once(tmp_path: Path) -> None:
    kit.scenario(tmp_path, "hi", [kit.SAY_HI, kit.SAY_HI])
    async with bench(tmp_path) as made:
        spec = {"name": READ, "description": "d", "parameters": {}}
        local = {"name": "read_file", "description": "d", "parameters": {}}
        shown = made.served.gateway.tools.shown
        request = kit.request(tools=[spec, local])
        from guildhall_contracts.model_api import ModelRequest

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


async def test_what_became_of_a_call_the_gateway_died_in_is_unknown_and_it_is_not_made_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        gate = made.server.told.gate = asyncio.Event()
        await made.approve(PUBLISH, {"text": "once"})
        waiting = asyncio.create_task(made.call(PUBLISH, {"text": "once"}, approvalId="a1"))
        await kit.until(lambda: made.server.told.calls)
        tools = made.served.gateway.tools
        _, task = tools._live.pop((made.run.uid, "c1"))
        again = await made.call(PUBLISH, {"text": "once"}, approvalId="a1")
        assert again.json()["outcome"] == "unknown"
        assert "Look before you repeat it" in said(again)
        gate.set()
        assert (await waiting).json()["outcome"] == "unknown", "one call has one outcome"
        await task
        assert len(made.server.told.calls) == 1
        assert (await made.call(PUBLISH, {"text": "once"}, approvalId="a1")).json()["outcome"] == "unknown"


async def test_a_cancelled_run_s_call_is_cut(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        made.server.told.gate = asyncio.Event()
        await made.approve(PUBLISH, {"text": "x"})
        waiting = asyncio.create_task(made.call(PUBLISH, {"text": "x"}, approvalId="a1"))
        await kit.until(lambda: made.server.told.calls)
        made.cluster.change_run(cancelled=True)
        assert (await waiting).json()["outcome"] == "unknown"
        assert (await made.call(READ, {"number": 1}, call_id="c2")).status_code == 403
        made.server.told.gate.set()


async def test_a_new_connection_with_the_old_name_is_not_the_old_one(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        assert said(await made.call(READ, {"number": 1})) == "note 1"
        await deleted(made)
        made.cluster.tell("set", connection(made.server.url, uid="connection-2", tools={}))
        while (answer := await made.call(READ, {"number": 1}, call_id="c2")).status_code == 503:  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # its server was not asked yet
        assert code(answer) == "approval_needed"


async def test_what_was_for_a_run_is_deleted_when_it_is_over(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        assert said(await made.call(READ, {"number": 1})) == "note 1"
        store = made.served.gateway.store
        assert made.run.uid in await store.runs_with_content()
        made.cluster.change_run(finished=True)
        async with asyncio.timeout(5):
            while await made.served.gateway.tools._store.guild(made.run.uid) is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert made.run.uid not in await store.runs_with_content()


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


@pytest.mark.parametrize(("alive", "words"), [(True, "another gateway makes it"), (False, "was restarted")])
async def test_why_an_outcome_is_not_known_is_said_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alive: bool, words: str
) -> None:
    async with bench(tmp_path) as made:
        store = made.served.gateway.tools._store

        async def before(call: CallRecord) -> Before:
            return Before(call.request_sha256, None, elsewhere=alive)

        monkeypatch.setattr(store, "before", before)
        monkeypatch.setattr(limits, "EXTERNAL_CALL_MAX_SECONDS", 0.1)
        answer = await made.call(READ, {"number": 1})
        assert answer.json()["outcome"] == "unknown"
        assert words in said(answer)
        assert made.server.told.calls == []
