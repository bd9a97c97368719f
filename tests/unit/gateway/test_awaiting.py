"""What the api is told of open questions and approvals: arguments whole, lists bounded, only of Runs that go on."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.awaiting import AwaitingView
from guildhall_contracts.canonical import arguments_hash, canonical_json
from guildhall_gateway import approval_store
from guildhall_gateway.awaiting import shared
from guildhall_gateway.store import Store
from sqlalchemy import event, text
from unit.gateway import kit
from unit.gateway.kit import API_TOKEN, Served
from unit.gateway.test_mailbox import asked, items


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with kit.serve(tmp_path) as made:
        yield made


async def look(served: Served, token: str = API_TOKEN, **params: str | list[str]) -> AwaitingView:
    async with served.client(token) as client:
        answer = await client.get("/internal/v1/awaiting", params=params or {"namespace": "team"})
    assert answer.status_code == 200, answer.text
    return AwaitingView.model_validate_json(answer.content)


async def ask(served: Served, identity: str = "q1", token: str = kit.TOKEN, **more: Any) -> None:
    body = {"id": identity, "role": "coder", "text": "Which?", "expiresSeconds": 600} | more
    async with served.client(token) as client:
        assert (await client.put(f"/v1/questions/{identity}", json=body)).status_code == 204


async def want(served: Served, identity: str, arguments: dict[str, Any]) -> None:
    body = asked(approval_id=identity, arguments=arguments, arguments_hash=arguments_hash(arguments))
    async with served.client() as client:
        answer = await client.put(f"/v1/approvals/{identity}", json=body)
    assert answer.status_code == 204, answer.text


async def test_questions_and_approvals_are_told_whole(served: Served) -> None:
    served.cluster.add_run()
    await ask(served, context="Two callers.", options=["Yes", "No"])
    await want(served, "a1", {"b": "\u202e\u200bé", "a": 1.0})
    view = await look(served)
    [question], [approval] = view.questions, view.approvals
    assert (question.run, question.id, question.role, question.text) == ("run-1", "q1", "coder", "Which?")
    assert (question.context, question.options, question.state) == ("Two callers.", ["Yes", "No"], "open")
    assert question.asked_at < question.expires_at
    assert approval.arguments == '{"a":1,"b":"\u202e\u200bé"}', "the RFC 8785 form, every character of it"
    assert approval.arguments_bytes == len(approval.arguments.encode())
    assert approval.arguments_hash == arguments_hash(json.loads(approval.arguments))
    assert await look(served, run="run-1") == view
    assert await look(served, run="run-2") == AwaitingView()


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Served]:
    """Two namespaces with a Run each: `team` has asked 300 things before `other` asked one."""
    async with kit.serve(tmp_path, run_namespaces=["team", "other"]) as served:
        served.cluster.add_run()
        theirs = served.cluster.add_run("run-2", token="other", ip="127.0.0.2")
        served.cluster.tell("set", replace(theirs, namespace="other"))
        rows = [{"run": "run-1", "id": f"q{n}", "at": n} for n in range(300)]
        rows += [{"run": "run-2", "id": "theirs", "at": 1_000}]
        insert = text(
            "INSERT INTO questions (run, id, role, text, expires_at, state, asked_at)"
            " VALUES (:run, :id, 'coder', 'Which?', 9e9, 'open', :at)"
        )
        await served.gateway.store.write(lambda connection: connection.execute(insert, rows))
        yield served


async def test_no_namespace_hides_what_waits_in_another(two: Served) -> None:
    both = await look(two, namespace=["team", "other"])
    assert [each.id for each in both.questions] == [*(f"q{n}" for n in range(limits.AWAITING_MAX_COUNT - 1)), "theirs"]
    assert [each.run for each in (await look(two, namespace="other")).questions] == ["run-2"]
    assert {each.run for each in (await look(two, namespace="team")).questions} == {"run-1"}
    assert len((await look(two, run="run-1")).questions) == limits.AWAITING_MAX_COUNT


async def test_however_much_waits_a_list_takes_few_queries(two: Served) -> None:
    store, queries = two.gateway.store, []
    engine = store._sync or (store._async and store._async.sync_engine)
    event.listen(engine, "before_cursor_execute", lambda *seen: queries.append(seen[2]))
    found = await look(two, namespace=["team", "other"])
    assert len(found.questions) == limits.AWAITING_MAX_COUNT, "control: they are all there"
    asked = [query for query in queries if "FROM questions" in query or "FROM approvals" in query]
    assert 0 < len(asked) <= 6


@pytest.mark.parametrize("namespace", ["", "elsewhere", "team,other", "*", "te\x00am"])
async def test_only_the_namespaces_that_are_named_are_told(two: Served, namespace: str) -> None:
    assert await look(two, namespace=namespace) == AwaitingView()
    async with two.client(API_TOKEN) as client:
        assert (await client.get("/internal/v1/awaiting")).json() == {"questions": [], "approvals": []}


def test_a_list_is_shared_out_evenly() -> None:
    many = [(float(n), "a", f"{n}") for n in range(10)]
    few = [(100.0, "b", "x"), (101.0, "b", "y")]
    assert shared([many, few, []], 4) == [*many[:2], *few]
    assert shared([many, few], 6) == [*many[:4], *few], "what one does not use the others have"
    assert shared([many[:1]] * 300, 256) == many[:1] * 256
    assert shared([], 4) == []


async def test_long_arguments_are_left_out_of_a_list_and_there_by_id(served: Served) -> None:
    served.cluster.add_run()
    long = {"script": "x" * limits.LISTED_ARGUMENTS_MAX_BYTES}
    await want(served, "long", long)
    await want(served, "short", {"a": 1})
    by_id = {each.approval_id: each for each in (await look(served)).approvals}
    assert by_id["short"].arguments == '{"a":1}'
    assert by_id["long"].arguments is None
    assert by_id["long"].arguments_bytes == len(canonical_json(long))
    [one] = (await look(served, run="run-1", id="long")).approvals
    assert one.arguments == canonical_json(long).decode()


async def test_only_what_is_open_in_a_run_that_goes_on_is_listed(served: Served) -> None:
    run = served.cluster.add_run()
    other = served.cluster.add_run("run-2", token="other", ip="127.0.0.2")
    await ask(served)
    await ask(served, "short", expiresSeconds=1)
    async with served.client("other", "127.0.0.2") as client:
        body = {"id": "q2", "role": "coder", "text": "?", "expiresSeconds": 600}
        assert (await client.put("/v1/questions/q2", json=body)).status_code == 204
    await want(served, "a1", {"a": 1})
    await asyncio.sleep(1.05)
    assert {each.id for each in (await look(served)).questions} == {"q1", "q2"}
    assert (await look(served, run="run-1", id="short")).questions[0].state == "expired"
    served.cluster.intervene("i1", run, answer={"questionId": "q1", "text": "this"})
    await items(served, "", 1)
    assert {each.id for each in (await look(served)).questions} == {"q2"}
    assert (await look(served, run="run-1", id="q1")).questions[0].state == "answered"
    served.cluster.change_run(finished=True)
    served.cluster.change_run(other.uid, cancelled=True)
    assert await look(served) == AwaitingView()


async def test_what_a_run_that_is_over_left_open_is_closed(served: Served) -> None:
    """A list that is bounded shows what waits, however much was left open by executors that did not live to say so."""
    served.cluster.add_run()
    served.cluster.add_run("run-2", token="other", ip="127.0.0.2")
    await ask(served)
    await want(served, "a1", {"a": 1})
    served.cluster.change_run("run-2", finished=True)
    served.cluster.change_run(finished=True)
    async with asyncio.timeout(5):
        while (await look(served, run="run-1", id="a1")).approvals[0].state != "withdrawn":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert (await look(served, run="run-1", id="q1")).questions[0].state == "withdrawn"


async def test_an_approval_that_waits_already_is_asked_for_again_when_no_other_may_be(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approval_store, "OPEN_MAX_COUNT", 1)
    served.cluster.add_run()
    await want(served, "a1", {"a": 1})
    await want(served, "a1", {"a": 1})
    body = asked(approval_id="a2", arguments={"a": 1}, arguments_hash=arguments_hash({"a": 1}))
    async with served.client() as client:
        assert (await client.put("/v1/approvals/a2", json=body)).status_code == 409, "control: another one may not"


async def test_only_the_apis_account_may_look(served: Served) -> None:
    served.cluster.add_run()
    await ask(served)
    assert (await look(served)).questions, "control: the api sees it"
    for token in (kit.TOKEN, "garbage", None):
        async with served.client(token) as client:
            answer = await client.get("/internal/v1/awaiting")
            assert answer.status_code in (401, 403)
            assert b"Which?" not in answer.content
    async with served.client(API_TOKEN) as client:
        assert (await client.get("/internal/v1/awaiting", params={"id": "q1"})).status_code == 422


async def test_what_was_lost_with_the_gateway_is_said_by_the_next_one(tmp_path: Path) -> None:
    """Killed between taking an item's acknowledgement and writing its status: the next gateway writes what is true."""
    cluster = kit.Cluster()
    run = cluster.add_run()
    async with kit.serve(tmp_path, cluster) as served:
        cluster.intervene("i1", run, interrupt={"intent": "inquire", "message": "?"})
        _, cursor = await items(served, "", 1)
        async with served.client() as client:
            await client.get("/v1/mailbox", params={"cursor": cursor})
    again = kit.Cluster()
    run = again.add_run(finished=True)
    again.intervene("i1", run, interrupt={"intent": "inquire", "message": "?"})
    async with kit.serve(tmp_path, again) as served:
        again.intervene("i22", run, interrupt={"intent": "inquire", "message": "?"})
        await kit.until(lambda: len(again.item_statuses) == 2)
    assert dict(again.item_statuses) == {"i1": "Consumed", "i22": "Expired"}


async def test_hl05_hl08_open_approvals_outlive_the_gateway_and_each_is_its_own(tmp_path: Path) -> None:
    cluster = kit.Cluster()
    cluster.add_run()
    async with kit.serve(tmp_path, cluster) as served:
        await want(served, "a1", {"command": "make deploy"})
        await want(served, "a2", {"command": "make release"})
    again = kit.Cluster()
    run = again.add_run()
    async with kit.serve(tmp_path, again) as served:
        open_now = {each.approval_id: each for each in (await look(served)).approvals}
        assert set(open_now) == {"a1", "a2"}
        swapped = {"approvalId": "a1", "argumentsHash": open_now["a2"].arguments_hash, "decision": "approve"}
        again.intervene("i1", run, approval=swapped)
        await kit.until(lambda: ("i1", "Refused") in again.item_statuses)
        again.intervene("i22", run, approval=swapped | {"argumentsHash": open_now["a1"].arguments_hash})
        assert [item["id"] for item in (await items(served, "", 1))[0]] == ["i22"]
        assert [each.approval_id for each in (await look(served)).approvals] == ["a2"], "the other one still waits"


async def test_a_call_nobody_wants_any_more_is_asked_about_no_longer_and_a_yes_to_it_is_void(served: Served) -> None:
    run = served.cluster.add_run()
    arguments = {"command": "make deploy"}
    await want(served, "a1", arguments)
    await want(served, "a2", arguments)
    yes = {"approvalId": "a2", "argumentsHash": arguments_hash(arguments), "decision": "approve"}
    served.cluster.intervene("i1", run, approval=yes)
    await items(served, "", 1)
    async with served.client() as client:
        for identity in ("a1", "a2"):
            assert (await client.delete(f"/v1/approvals/{identity}")).status_code == 204
        assert (await client.delete("/v1/approvals/none")).status_code == 404
        used = await client.post("/v1/approvals/a2/consume", json=asked(approval_id="a2", arguments=arguments))
        assert used.status_code == 409
    assert (await look(served)).approvals == []
    served.cluster.intervene("i22", run, approval=yes | {"approvalId": "a1"})
    await kit.until(lambda: ("i22", "Refused") in served.cluster.item_statuses)


async def test_a_database_of_an_older_gateway_gains_the_columns(store_url: str) -> None:
    store = Store(store_url)
    await store.open()
    old = "CREATE TABLE questions (run VARCHAR(64), id VARCHAR(64), role VARCHAR(40), text TEXT, expires_at FLOAT,"
    for statement in (
        "DROP TABLE questions", old + " state VARCHAR(16), PRIMARY KEY (run, id))",
        "INSERT INTO questions VALUES ('run-1', 'q1', 'coder', 'Which?', 4102444800, 'open')",
        "DELETE FROM schema_version WHERE version > 1",
    ):  # fmt: skip
        await store.write(lambda connection, statement=statement: connection.execute(text(statement)))  # type: ignore[misc]
    await store.close()
    store = Store(store_url)
    await store.open()
    rows = await store.read(lambda connection: connection.execute(text("SELECT * FROM questions")).mappings().all())
    await store.close()
    assert [(row["id"], row["kind"], row["options"], row["asked_at"]) for row in rows] == [("q1", "question", "[]", 0)]
