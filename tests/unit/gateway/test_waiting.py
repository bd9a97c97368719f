"""An API server that is slow or says no delays the acts it is asked about, and nobody else's."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_gateway import outbox, waiting
from guildhall_gateway.kube import KubeError
from guildhall_gateway.runs import InterventionView, RunView
from guildhall_gateway.waiting import Waiting
from unit.gateway import kit
from unit.gateway.kit import Served
from unit.gateway.test_belonging import QUICK, RUN, act, owner
from unit.gateway.test_mailbox import ABORT, items


@pytest.fixture
async def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    monkeypatch.setattr(limits, "UNKNOWN_WAIT_SECONDS", QUICK)
    async with kit.serve(tmp_path) as made:
        yield made


class Slow:
    """A `run_now` that answers once it may, and knows how many questions are under way."""

    def __init__(self, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may = asyncio.Event()
        self.asked = self.under_way = self.most = 0
        self._answer = served.cluster.run_now
        monkeypatch.setattr(served.cluster, "run_now", self.run_now)

    async def run_now(self, namespace: str, name: str) -> RunView | None:
        self.asked += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.may.wait()
            return await self._answer(namespace, name)
        finally:
            self.under_way -= 1


async def test_acts_on_runs_that_are_not_there_delay_no_cancel_and_no_abort(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(served, monkeypatch)
    run = served.cluster.add_run()
    for number in range(50):
        served.cluster.tell("set", act(f"no-such-{number}", "run-0", f"bogus-{number}"))
    await kit.until(lambda: slow.asked)
    served.cluster.change_run(cancelled=True)
    served.cluster.intervene("abort", run, **ABORT)
    async with asyncio.timeout(2):
        found, _ = await items(served, "", 2)
    assert [item["id"] for item in found] == ["cancel-run-1", "abort"]
    assert not slow.may.is_set(), "control: the API server said nothing all the while"
    assert not any(state == "Refused" for _, state in served.cluster.item_statuses)
    slow.may.set()
    await kit.until(lambda: [state for _, state in served.cluster.item_statuses].count("Refused") == 50)
    assert slow.most == 1, "one question at a time"
    assert served.gateway.courier.waiting._answers == {}


async def test_a_run_that_is_seen_while_the_cluster_is_asked_gets_its_act(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(served, monkeypatch)
    served.cluster.tell("set", act())
    await kit.until(lambda: slow.asked)
    served.cluster.add_run()
    assert [item["id"] for item in (await items(served, "", 1))[0]] == ["i1"], "and does not wait for the answer"
    monkeypatch.setattr(slow, "_answer", nobody)
    slow.may.set()
    served.cluster.tell("set", act("no-such", "run-0", "i22"))
    await kit.until(lambda: ("i22", "Refused") in served.cluster.item_statuses)
    assert ("i1", "Refused") not in served.cluster.item_statuses, "control: an older answer refuses the other alone"
    assert served.gateway.courier.waiting._answers == {}


async def nobody(_namespace: str, _name: str) -> None:
    return None


async def test_an_answer_about_an_act_that_is_gone_is_not_kept(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(served, monkeypatch)
    served.cluster.tell("set", act("no-such", "run-0"))
    await kit.until(lambda: slow.asked)
    (item,) = served.cluster.interventions()
    served.cluster.tell("gone", item)
    slow.may.set()
    served.cluster.tell("set", act("no-such", "run-0", "i22"))
    await kit.until(lambda: ("i22", "Refused") in served.cluster.item_statuses)
    left = served.gateway.courier.waiting
    assert (left._answers, left.waits()) == ({}, [])
    assert [uid for uid, _ in served.cluster.item_statuses] == ["i22"]


async def test_an_act_that_went_while_it_was_taken_in_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNKNOWN_WAIT_SECONDS", QUICK)
    cluster, there = kit.Cluster(), {"here"}
    left = Waiting(cluster, cluster, time.time, lambda uid: uid in there)
    assert [left.may_wait(uid) for uid in ("here", "gone")] == [True, True]
    await kit.until(lambda: not left._timers)
    assert left.waits() == ["here"]


async def test_what_is_too_many_to_wait_for_is_asked_about_at_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNKNOWN_WAIT_SECONDS", 60)
    monkeypatch.setattr(waiting, "PENDING_MAX_COUNT", 2)
    for identity in ("i1", "i2", "i3"):
        served.cluster.tell("set", act("no-such", "run-0", identity))
    await kit.until(lambda: ("i3", "Refused") in served.cluster.item_statuses)
    assert sorted(served.gateway.courier.waiting.waits()) == ["i1", "i2"]


async def test_an_owner_that_is_refused_is_tried_again_and_never_silently_left(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outbox, "RETRY_FIRST_SECONDS", 0.001)
    write, refused = served.cluster.write_owner, {"i1": 2, "i22": 1_000}

    async def refusing(item: InterventionView, reference: dict[str, str]) -> None:
        refused[item.uid] -= 1
        if refused[item.uid] >= 0:
            raise KubeError(422, f"admission refused {item.name}")
        await write(item, reference)

    monkeypatch.setattr(served.cluster, "write_owner", refusing)
    served.cluster.add_run()
    served.cluster.tell("set", act())
    served.cluster.tell("set", act(identity="i22"))
    await kit.until(lambda: served.cluster.item_owners == [("i1", owner(RUN.name, RUN.uid))])

    def said() -> list[Any]:
        return [record.message for record in caplog.records if record.levelno >= logging.ERROR]

    await kit.until(said)
    assert said() == [
        f"owner of an intervention: given up after {outbox.REFUSED_MAX_COUNT} refusals: admission refused n-i22"
    ]
    refused["i22"] = 0
    served.cluster.change_run(stored_seq=1)
    await kit.until(lambda: len(served.cluster.item_owners) == 2)
