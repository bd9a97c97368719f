"""A1, A2 on the way an external call really goes: by HTTP through the gateway to a server that counts its calls.

One yes, at most one execution, on SQLite and PostgreSQL: no other arguments, call, role or Run, not late, not twice.
"""

import asyncio
import json
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import httpx
import pytest
from guildhall_gateway.approval_store import ApprovalStore
from guildhall_gateway.store import Store
from security.test_a01_approval_arguments import RUN, asked
from support.connections import Bench, bench, frozen, guild_of
from support.postgres import postgres, store, store_url
from unit.gateway import kit

__all__ = ["postgres", "store", "store_url"]

PUBLISH = "notes__publish"
SHOWN = {"text": "push to main", "times": 2}


def code(answer: Any) -> str:
    return str(answer.json().get("error", {}).get("detail", {}).get("code", answer.status_code))


async def test_of_many_at_once_one_is_made(tmp_path: Path, store_url: str) -> None:
    async with bench(tmp_path, database_url=store_url) as made:
        await made.approve(PUBLISH, SHOWN)
        answers = await asyncio.gather(
            *(made.call(PUBLISH, SHOWN, approvalId="a1") for _ in range(6)),
            *(made.call(PUBLISH, SHOWN, call_id=f"other-{n}", approvalId="a1") for _ in range(2) for n in range(3)),
        )
        assert {code(answer) for answer in answers[:6]} == {"200"}
        assert not {"200"} & {code(answer) for answer in answers[6:]}
        assert made.server.told.calls == [("publish", SHOWN)]


async def status(asking: Awaitable[httpx.Response]) -> int:
    """The status of an answer; 0 where the connection was closed instead."""
    try:
        return (await asking).status_code
    except httpx.TransportError:
        return 0


SAME = {
    "key order": '{"times": 2, "text": "push to main"}',
    "number form": '{"text": "push to main", "times": 2.0}',
    "escapes": '{"text": "push\\u0020to main", "times": 2}',
}
OTHER = {
    "one byte": '{"text": "push to maim", "times": 2}',
    "a number": '{"text": "push to main", "times": 3}',
    "a key less": '{"text": "push to main"}',
    "a hidden character": '{"text": "push to\\u200b main", "times": 2}',
    "a bidi override": '{"text": "push to main\\u202e", "times": 2}',
    "a key twice": '{"text": "push to main", "times": 2, "times": 3}',
}


async def raw(made: Bench, arguments: str, role: str = "coder", tool: str = PUBLISH, call_id: str = "c1") -> Any:
    body = f'{{"callId": "{call_id}", "role": "{role}", "arguments": {arguments}, "approvalId": "a1"}}'
    async with made.served.client() as client:
        return await client.post(f"/v1/tools/{tool}", content=body, headers={"Content-Type": "application/json"})


@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
async def test_the_same_meaning_is_what_was_approved(tmp_path: Path, text: str) -> None:
    async with bench(tmp_path) as made:
        await made.approve(PUBLISH, SHOWN)
        assert (await raw(made, text)).status_code == 200
        assert len(made.server.told.calls) == 1


async def test_another_value_role_tool_or_run_was_not(tmp_path: Path) -> None:
    async with bench(tmp_path, guild_of(PUBLISH, "notes__read_note", other=(PUBLISH,))) as made:
        await made.approve(PUBLISH, SHOWN)
        for text in OTHER.values():
            assert code(await raw(made, text)) == "approval_refused", text
        assert code(await raw(made, json.dumps(SHOWN), role="other")) == "approval_refused"
        made.cluster.add_run("run-2", token="t2", **frozen(guild_of(PUBLISH)))
        async with made.served.client("t2") as client:
            body = {"callId": "c1", "role": "coder", "arguments": SHOWN, "approvalId": "a1"}
            assert code(await client.post(f"/v1/tools/{PUBLISH}", json=body)) == "approval_refused"
        assert made.server.told.calls == []
        assert (await raw(made, json.dumps(SHOWN))).status_code == 200, "positive control"
        assert len(made.server.told.calls) == 1


MALFORMED = {
    "NaN": '{"text": "x", "times": NaN}',
    "Infinity": '{"text": "x", "times": 1e999}',
    "a large integer": '{"text": "x", "times": 9007199254740993}',
    "half a character": '{"text": "\\ud800"}',
    "no object": "[1]",
    "cut": '{"text": "x"',
    "very deep": "[" * 50_000 + "]" * 50_000,
}


async def test_malformed_arguments_are_refused_before_anything_else(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        for name, text in MALFORMED.items():
            answer = await raw(made, text)
            assert 400 <= answer.status_code < 500, name
            assert "error" in answer.json(), name
        assert made.server.told.calls == []


async def test_ten_megabytes_of_arguments_are_refused_before_they_are_kept(tmp_path: Path) -> None:
    """A3, where the server is: the gateway neither asks a person about them nor calls with them."""
    async with bench(tmp_path) as made:
        for size in (3_000_000, 10_000_000):  # the second is not even read to its end
            arguments = {"text": "x" * size}
            assert await status(made.call(PUBLISH, arguments)) in (413, 0)
            body = asked(arguments=arguments, run=made.run.uid).to_wire()
            async with made.served.client() as client:
                assert await status(client.put("/v1/approvals/a1", json=body)) in (413, 0)
        assert (await made.call("notes__read_note", {"number": 1})).status_code == 200, "positive control"
        made.server.told.calls.clear()
        assert await made.served.gateway.approvals.open_count(made.run.uid) == 0
        assert made.server.told.calls == []


async def test_a_late_yes_is_none(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        times = [1_000.0]
        approvals = made.served.gateway.approvals
        approvals.clock, approvals._monotonic = (lambda: times[0]), (lambda: times[0])
        approvals._seen = None
        await made.served.gateway.store.write(
            lambda connection: connection.exec_driver_sql("DELETE FROM meta WHERE key = 'latest_time'")
        )
        await made.approve(PUBLISH, SHOWN, expiresSeconds=60)
        times[0] = 1_061.0
        assert code(await raw(made, json.dumps(SHOWN))) == "approval_refused"
        times[0] = 1_001.0  # the clock is set back
        assert code(await raw(made, json.dumps(SHOWN))) == "approval_refused"
        assert made.server.told.calls == []


async def test_a_clock_that_was_set_back_goes_on_from_where_it_was(store: Store) -> None:
    """An hour back must not give an approval an hour more."""
    wall, passed = [10_000.0], [50.0]
    approvals = ApprovalStore(store, lambda: wall[0], lambda: passed[0])
    assert await approvals.ask(asked(expires_seconds=60), RUN) is None
    wall[0] -= 3_600
    passed[0] += 59
    await approvals.expire()
    assert await approvals.open_count(RUN) == 1, "positive control: in time it is still open"
    passed[0] += 2
    await approvals.expire()
    assert await approvals.open_count(RUN) == 0


async def test_answers_of_people_are_no_approval(tmp_path: Path) -> None:
    """A5: prose is data."""
    async with bench(tmp_path) as made:
        made.cluster.intervene("i1", made.run, answer={"questionId": "q1", "text": f"yes, {PUBLISH} is approved"})
        made.cluster.intervene("i2", made.run, interrupt={"intent": "redirect", "message": "approved: a1"})
        assert code(await made.call(PUBLISH, SHOWN)) == "approval_needed"
        assert code(await made.call(PUBLISH, SHOWN, approvalId="a1")) == "approval_refused"
        await made.approve(PUBLISH, SHOWN)
        assert (await made.call(PUBLISH, SHOWN, approvalId="a1")).status_code == 200, "positive control"
        assert len(made.server.told.calls) == 1


async def test_who_is_not_the_run_calls_nothing(tmp_path: Path) -> None:
    """MT-04: from elsewhere the routes answer 401 before they read."""
    async with bench(tmp_path) as made:
        for token in (None, "stranger", kit.API_TOKEN):
            async with made.served.client(token) as client:
                assert (await client.get("/v1/tools")).status_code == 401
                body = {"callId": "c", "role": "coder", "arguments": {"number": 1}}
                assert (await client.post("/v1/tools/notes__read_note", json=body)).status_code == 401
        assert made.server.told.calls == []
        assert (await made.call("notes__read_note", {"number": 1})).status_code == 200, "positive control"
