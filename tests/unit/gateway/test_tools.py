"""Calls of external tools through the gateway, against a real MCP server: made once, by rights and approvals alone."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_gateway.tool_store import Before, CallRecord
from support.connections import Bench, bench, connection, guild_of
from unit.gateway import kit

READ, PUBLISH = "notes__read_note", "notes__publish"


def said(answer: Any) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["content"][0]["text"])


def code(answer: Any) -> str:
    return str(answer.json()["error"]["detail"]["code"])


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


async def deleted(made: Bench) -> None:
    made.cluster.tell("gone", made.cluster.connections()[0])


async def test_what_became_of_a_call_the_gateway_died_in_is_unknown_and_it_is_not_made_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        gate = made.server.told.gate = asyncio.Event()
        await made.approve(PUBLISH, {"text": "once"})
        waiting = asyncio.create_task(made.call(PUBLISH, {"text": "once"}, approvalId="a1"))
        await kit.until(lambda: made.server.told.calls)
        tools = made.served.gateway.tools
        task = tools._live.pop((made.run.uid, "c1")).task
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
