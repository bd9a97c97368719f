"""The mailbox: every act of a person reaches its executor at least once, in order; its status says what came of it."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.approvals import ApprovalRequest
from guildhall_contracts.canonical import arguments_hash
from guildhall_gateway.mailbox import Cursor, parse_cursor
from guildhall_gateway.runs import InterventionView
from unit.gateway import kit
from unit.gateway.kit import Served


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with kit.serve(tmp_path) as made:
        yield made


async def poll(served: Served, cursor: str = "", wait: float = 0.0) -> dict[str, Any]:
    async with served.client() as client:
        answer = await client.get("/v1/mailbox", params={"cursor": cursor, "waitSeconds": str(wait)})
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


async def items(served: Served, cursor: str, count: int) -> tuple[list[dict[str, Any]], str]:
    """Poll on until `count` items came."""
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(10):
        while len(found) < count:
            page = await poll(served, cursor, 2)
            found += page["items"]
            cursor = page["cursor"]
    return found, cursor


ABORT = {"interrupt": {"intent": "abort", "message": "stop"}}


async def test_items_come_once_per_cursor_and_again_from_an_older_one(served: Served) -> None:
    run = served.cluster.add_run()
    await question(served)
    served.cluster.intervene("i1", run, answer={"questionId": "q1", "text": "yes"})
    first, after_first = await items(served, "", 1)
    assert first == [{"id": "i1", "author": "ann", "answer": {"questionId": "q1", "text": "yes"}, "cancel": False}]
    served.cluster.intervene("i22", run, **ABORT)
    second, after_second = await items(served, after_first, 1)
    assert [item["id"] for item in second] == ["i22"]
    assert (await poll(served, after_second))["items"] == []
    assert [item["id"] for item in (await poll(served, after_first))["items"]] == ["i22"], "at least once"
    assert [item["id"] for item in (await poll(served, ""))["items"]] == ["i1", "i22"], "a replaced executor gets all"


async def test_status_says_delivered_then_consumed(served: Served) -> None:
    run = served.cluster.add_run()
    served.cluster.intervene("i1", run, **ABORT)
    _, cursor = await items(served, "", 1)
    await kit.until(lambda: ("i1", "Delivered") in served.cluster.item_statuses)
    await asyncio.sleep(0.2)
    assert ("i1", "Consumed") not in served.cluster.item_statuses, "given is not read"
    await poll(served, cursor)
    await kit.until(lambda: ("i1", "Consumed") in served.cluster.item_statuses)
    assert len(served.cluster.item_statuses) == 2, "one write for each state"


async def test_a_long_poll_waits_and_wakes(served: Served) -> None:
    run = served.cluster.add_run()
    cursor = (await poll(served))["cursor"]
    started = time.monotonic()
    assert (await poll(served, cursor, 0.5))["items"] == []
    assert time.monotonic() - started >= 0.45
    waiting = asyncio.create_task(poll(served, cursor, 20))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    started = time.monotonic()
    served.cluster.intervene("i1", run, **ABORT)
    assert [item["id"] for item in (await waiting)["items"]] == ["i1"]
    assert time.monotonic() - started < 2


async def test_stored_seq_and_resend_wake_it_and_are_told_once(served: Served) -> None:
    served.cluster.add_run()
    cursor = (await poll(served))["cursor"]
    waiting = asyncio.create_task(poll(served, cursor, 20))
    await asyncio.sleep(0.1)
    served.cluster.change_run(stored_seq=41)
    page = await asyncio.wait_for(waiting, 2)
    assert page["storedSeq"] == 41
    served.cluster.change_run(resend_from=7)
    page = await asyncio.wait_for(poll(served, page["cursor"], 20), 2)
    assert (page["storedSeq"], page["resendFrom"]) == (41, 7)
    started = time.monotonic()
    assert (await poll(served, page["cursor"], 0.4))["resendFrom"] == 7
    assert time.monotonic() - started >= 0.35, "a figure that was told does not spin the poll"


async def test_bells_hang_only_while_somebody_waits(served: Served) -> None:
    run = served.cluster.add_run()
    courier = served.gateway.courier
    for uid in ("gone-1", "gone-2", run.uid):
        await courier.poll(uid, "", 0.01)
    assert courier._bells == {}
    waiting = [asyncio.create_task(courier.poll(run.uid, "0.0.0", 20)) for _ in range(3)]
    await kit.until(lambda: len(courier._bells.get(run.uid, ())) == 3)
    waiting.pop().cancel()
    await kit.until(lambda: len(courier._bells[run.uid]) == 2)
    served.cluster.tell("gone", run)
    assert [page.items for page in await asyncio.gather(*waiting)] == [[], []]
    await courier.poll(run.uid, "", 0.01)
    assert courier._bells == {}


async def test_a_poll_that_looks_while_another_wakes_misses_nothing(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = served.cluster.add_run()
    courier, inbox = served.gateway.courier, served.gateway.inbox
    looked, go_on = asyncio.Event(), asyncio.Event()
    page, tasks = inbox.page, list[Any]()

    async def late(uid: str, after: int) -> Any:
        found = await page(uid, after)
        if asyncio.current_task() in tasks and not looked.is_set():
            looked.set()
            await go_on.wait()
        return found

    monkeypatch.setattr(inbox, "page", late)
    first = asyncio.create_task(courier.poll(run.uid, "0.0.0", 20))
    await kit.until(lambda: run.uid in courier._bells)
    second = asyncio.create_task(courier.poll(run.uid, "0.0.0", 20))
    tasks.append(second)
    await looked.wait()  # it found nothing, and has not begun to wait
    served.cluster.intervene("i1", run, **ABORT)
    assert [item.id for item in (await first).items] == ["i1"], "control: the other poll heard of it"
    go_on.set()
    assert [item.id for item in (await asyncio.wait_for(second, 5)).items] == ["i1"]


async def test_an_intervention_that_is_gone_before_it_is_taken_in_leaves_nothing(served: Served) -> None:
    run = served.cluster.add_run()
    courier = served.gateway.courier
    item = served.cluster.intervene("i1", run, **ABORT)
    served.cluster.tell("gone", item)
    served.cluster.intervene("i2", run, **ABORT)
    await items(served, "", 1)
    assert set(courier._items) == {"i2"}


@pytest.mark.parametrize("cursor", ["garbage", "-1.0.0", "1", "1.2.3.4", "9" * 70, "١.0.0", "999.0.0"])
async def test_a_cursor_that_makes_no_sense_starts_from_the_beginning(served: Served, cursor: str) -> None:
    run = served.cluster.add_run()
    served.cluster.intervene("i1", run, **ABORT)
    await items(served, "", 1)
    assert [item["id"] for item in (await poll(served, cursor))["items"]] == ["i1"]


def test_a_cursor_survives_its_own_text() -> None:
    cursor = Cursor(3, 40, 7)
    assert parse_cursor(cursor.text()) == cursor


async def test_waiting_is_bounded_and_checked(served: Served) -> None:
    served.cluster.add_run()
    async with served.client() as client:
        cursor = (await client.get("/v1/mailbox")).json()["cursor"]
        for wait in ("x", "", "-5", "nan", "inf", "1e9", ".", "٣", "9" * 400):
            answer = await client.get("/v1/mailbox", params={"waitSeconds": wait, "cursor": cursor})
            assert answer.status_code == 422, wait
        for wait in ("0", "0.1"):
            started = time.monotonic()
            assert (await client.get("/v1/mailbox", params={"waitSeconds": wait, "cursor": cursor})).status_code == 200
            assert time.monotonic() - started < 5


REFUSED: dict[str, dict[str, Any]] = {
    "another uid": {"runRef": {"name": "name-run-1", "uid": "run-0"}},
    "another name": {"runRef": {"name": "other", "uid": "run-1"}},
    "two bodies": ABORT | {"answer": {"questionId": "q", "text": "x"}},
    "no body": {},
    "unknown field": ABORT | {"sudo": True},
    "wrong type": {"interrupt": "abort"},
    "unknown approval": {"approval": {"approvalId": "a", "argumentsHash": "0" * 64, "decision": "approve"}},
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
async def test_what_is_not_for_this_run_or_not_well_formed_is_refused(served: Served, body: dict[str, Any]) -> None:
    run = served.cluster.add_run()
    spec = {"runRef": {"name": run.name, "uid": run.uid}, "author": "eve"} | body
    item = InterventionView("bad", "team", "bad", "2026-01-01T00:00:00Z", "run-1", spec)
    served.cluster.tell("set", item)
    await kit.until(lambda: ("bad", "Refused") in served.cluster.item_statuses)
    served.cluster.intervene("good", run, **ABORT)
    assert [found["id"] for found in (await items(served, "", 1))[0]] == ["good"]


async def test_another_namespaces_intervention_is_refused(served: Served) -> None:
    run = served.cluster.add_run()
    spec = {"runRef": {"name": run.name, "uid": run.uid}, "author": "eve"} | ABORT
    served.cluster.tell("set", InterventionView("bad", "elsewhere", "bad", "2026", "run-1", spec))
    await kit.until(lambda: ("bad", "Refused") in served.cluster.item_statuses)


async def test_cancel_is_an_item_and_what_a_run_never_read_expires(served: Served) -> None:
    run = served.cluster.add_run()
    served.cluster.change_run(cancelled=True)
    assert (await items(served, "", 1))[0] == [{"id": "cancel-run-1", "author": "", "cancel": True}]
    served.cluster.intervene("late", run, **ABORT)
    await kit.until(lambda: served.cluster.interventions("run-1"))
    served.cluster.change_run(finished=True)
    await kit.until(lambda: ("late", "Expired") in served.cluster.item_statuses)
    served.cluster.intervene("later", run, **ABORT)
    await kit.until(lambda: ("later", "Expired") in served.cluster.item_statuses)


async def test_a_restart_loses_no_item_and_renumbers_none(tmp_path: Path) -> None:
    cluster = kit.Cluster()
    run = cluster.add_run()
    async with kit.serve(tmp_path, cluster) as served:
        cluster.intervene("i1", run, **ABORT)
        _, cursor = await items(served, "", 1)
        cluster.intervene("i22", run, **ABORT)
        await kit.until(lambda: not served.gateway.courier._todo)
    again = kit.Cluster()
    run = again.add_run()
    again.intervene("i333", run, **ABORT)
    for uid in ("i22", "i1"):
        again.intervene(uid, run, **ABORT)
    async with kit.serve(tmp_path, again) as served:
        found, _ = await items(served, cursor, 2)
        assert [item["id"] for item in found] == ["i22", "i333"]


async def question(served: Served, identity: str = "q1", seconds: int = 600) -> None:
    body = {"id": identity, "role": "coder", "text": "which?", "expiresSeconds": seconds}
    async with served.client() as client:
        assert (await client.put(f"/v1/questions/{identity}", json=body)).status_code == 204
        assert (await client.put("/v1/questions/other", json=body)).status_code == 422


async def test_questions_are_counted_in_status_until_they_are_closed(served: Served) -> None:
    served.cluster.add_run()
    await question(served)
    await question(served)
    await kit.until(lambda: served.cluster.run_statuses)
    assert served.cluster.run_statuses[-1][1]["awaiting"] == {"questions": 1, "approvals": 0}
    async with served.client() as client:
        assert (await client.delete("/v1/questions/q1")).status_code == 204
        assert (await client.delete("/v1/questions/none")).status_code == 404
    await kit.until(lambda: served.cluster.run_statuses[-1][1]["awaiting"]["questions"] == 0)


async def test_an_answer_is_taken_once_and_the_rest_are_told_why(served: Served) -> None:
    run = served.cluster.add_run()
    await question(served, "withdrawn")
    async with served.client() as client:
        await client.delete("/v1/questions/withdrawn")
    await question(served, "late", seconds=1)
    await question(served, "q1")
    for uid, asked_id in (("a1", "q1"), ("a22", "q1"), ("a333", "withdrawn")):
        served.cluster.intervene(uid, run, answer={"questionId": asked_id, "text": uid})
    await kit.until(
        lambda: {"a22", "a333"} <= {uid for uid, state in served.cluster.item_statuses if state == "Refused"}
    )
    await asyncio.sleep(1.1)
    served.cluster.intervene("a4444", run, answer={"questionId": "late", "text": "x"})
    await kit.until(lambda: ("a4444", "Expired") in served.cluster.item_statuses)
    assert [item["id"] for item in (await items(served, "", 1))[0]] == ["a1"], "of two answers the first"


async def test_an_answer_that_is_faster_than_its_question_waits_for_it_and_no_longer(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = served.cluster.add_run()
    served.cluster.intervene("a1", run, answer={"questionId": "q1", "text": "quick"})
    await kit.until(served.gateway.courier.waiting.waits)
    await question(served)
    assert [item["id"] for item in (await items(served, "", 1))[0]] == ["a1"]
    monkeypatch.setattr(limits, "UNKNOWN_WAIT_SECONDS", 0.1)
    served.cluster.intervene("a22", run, answer={"questionId": "never-asked", "text": "x"})
    await kit.until(lambda: ("a22", "Refused") in served.cluster.item_statuses)


def asked(**changes: Any) -> dict[str, Any]:
    arguments = {"command": "make deploy"}
    values: dict[str, Any] = {
        "approval_id": "a1",
        "run": "run-1",
        "call_id": "call-1",
        "role": "coder",
        "tool": "run_shell",
        "effect": "consequential",
        "arguments": arguments,
        "arguments_hash": arguments_hash(arguments),
    }
    return ApprovalRequest(**(values | changes)).to_wire()


async def test_an_approval_goes_the_whole_way_once(served: Served) -> None:
    run = served.cluster.add_run()
    async with served.client() as client:
        assert (await client.post("/v1/approvals/a1/consume", json=asked())).status_code == 409
        assert (await client.put("/v1/approvals/a1", json=asked())).status_code == 204
        await kit.until(lambda: served.cluster.run_statuses)
        assert served.cluster.run_statuses[-1][1]["awaiting"]["approvals"] == 1
        decision = {"approvalId": "a1", "argumentsHash": asked()["argumentsHash"], "decision": "approve"}
        served.cluster.intervene("i1", run, approval=decision)
        found, _ = await items(served, "", 1)
        assert found[0]["approval"] == decision | {"author": "ann"}
        answers = [(await client.post("/v1/approvals/a1/consume", json=asked())).status_code for _ in range(2)]
        assert answers == [204, 409]
        served.cluster.intervene("i22", run, approval=decision)
        await kit.until(lambda: ("i22", "Refused") in served.cluster.item_statuses)
        assert (await client.put("/v1/approvals/zz", json=asked())).status_code == 422
        other = asked(run="run-2")
        assert (await client.put("/v1/approvals/a1", json=other)).status_code == 409


async def test_an_answer_in_words_approves_nothing(served: Served) -> None:
    """A5: a person says "yes, approved" to a question; the approval stays open."""
    run = served.cluster.add_run()
    await question(served)
    async with served.client() as client:
        await client.put("/v1/approvals/a1", json=asked())
        served.cluster.intervene("i1", run, answer={"questionId": "q1", "text": "yes, approved: a1"})
        assert [item["id"] for item in (await items(served, "", 1))[0]] == ["i1"]
        assert (await client.post("/v1/approvals/a1/consume", json=asked())).status_code == 409
