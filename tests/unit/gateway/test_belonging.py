"""An Intervention ends with a clear state: taken in and owned by its Run, or refused in words that stay a while."""

import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_gateway import outbox
from guildhall_gateway.belonging import Named, is_of, named, no_such_run, owner_wait_seconds
from guildhall_gateway.runs import InterventionView, RunView
from hypothesis import given
from hypothesis import strategies as st
from unit.gateway import kit
from unit.gateway.kit import Served
from unit.gateway.test_mailbox import ABORT, items

NOW = 1_800_000_000.0
RUN = RunView("run-1", "team", "name-run-1")
QUICK = 0.2


def stamp(unix: float) -> str:
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def act(name: str = "name-run-1", uid: str = "run-1", identity: str = "i1", **fields: Any) -> InterventionView:
    spec = {"runRef": {"name": name, "uid": uid}, "author": "ann"} | ABORT
    return InterventionView(identity, "team", f"n-{identity}", "2026-01-01T00:00:00Z", uid, spec, **fields)


def owner(name: str = "name-run-1", uid: str = "run-1") -> dict[str, str]:
    return {"apiVersion": "guildhall.dev/v1alpha1", "kind": "Run", "name": name, "uid": uid}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNKNOWN_WAIT_SECONDS", QUICK)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with kit.serve(tmp_path) as made:
        yield made


KEPT = limits.REFUSED_KEPT_SECONDS


@pytest.mark.parametrize(
    ("fields", "run", "seconds"),
    [
        ({}, RUN, 0.0),
        ({"state": "Consumed"}, RUN, 0.0),
        ({"state": "Refused", "stated": stamp(NOW)}, RUN, 0.0),
        ({"owned": True}, RUN, None),
        ({"owned": True, "state": "Refused", "stated": stamp(0)}, None, None),
        ({}, None, None),
        ({"state": "Delivered"}, None, 0.0),
        ({"state": "Expired"}, None, 0.0),
        ({"state": "Refused", "stated": stamp(NOW)}, None, KEPT),
        ({"state": "Refused", "stated": stamp(NOW - 100)}, None, KEPT - 100),
        ({"state": "Refused", "stated": stamp(NOW - KEPT)}, None, 0.0),
        ({"state": "Refused", "stated": stamp(NOW - KEPT - 9_999)}, None, 0.0),
        ({"state": "Refused", "stated": stamp(NOW + 9_999)}, None, KEPT),
        ({"state": "Refused", "stated": "some day"}, None, 0.0),
        ({"state": "Refused", "stated": stamp(NOW)}, replace(RUN, name="other"), KEPT),
        ({"state": "Refused", "stated": stamp(NOW)}, replace(RUN, namespace="elsewhere"), KEPT),
    ],
)
def test_when_an_intervention_gets_its_owner(fields: dict[str, Any], run: RunView | None, seconds: float) -> None:
    assert owner_wait_seconds(act(**fields), run, NOW) == seconds


@given(spec=st.dictionaries(st.sampled_from(["runRef", "x"]), st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "uid"]), inner)), max_size=2),
    stated=st.text(max_size=32))  # fmt: skip
def test_a_spec_and_a_time_of_any_shape_are_judged(spec: dict[str, Any], stated: str) -> None:
    item = replace(act(state="Refused", stated=stated), spec=spec)
    found, wait = named(item), owner_wait_seconds(item, None, NOW)
    assert (found is None) == (wait is None)
    assert wait is None or 0 <= wait <= KEPT
    assert not is_of(item, RUN) or found == Named(RUN.name, RUN.uid)
    assert no_such_run(item, None).state == "Refused"


def test_the_words_fit_a_status_and_say_what_to_do_whatever_the_names() -> None:
    item = replace(act("n" * limits.NAME_MAX_CHARS, "u" * 64), namespace="s" * 63)
    for namesake in (None, RUN):
        message = no_such_run(item, namesake).message
        assert len(message) < limits.STATUS_MESSAGE_MAX_CHARS
        assert message.endswith("this one is removed after 10 minutes"), "nothing is cut"
        for word in ("n" * limits.NAME_MAX_CHARS, "u" * 64, "s" * 63, "kubectl get run"):
            assert word in message


async def test_an_act_is_owned_by_the_run_it_names_and_by_nothing_else(served: Served) -> None:
    run = served.cluster.add_run()
    served.cluster.tell("set", act())
    assert [item["id"] for item in (await items(served, "", 1))[0]] == ["i1"]
    await kit.until(lambda: served.cluster.item_owners)
    served.cluster.change_run(finished=True)
    served.cluster.tell("set", act(identity="late"))
    await kit.until(lambda: ("late", "Expired") in served.cluster.item_statuses)
    await kit.until(lambda: len(served.cluster.item_owners) == 2)
    assert served.cluster.item_owners == [("i1", owner()), ("late", owner(run.name, run.uid))]


async def test_an_act_on_a_run_that_is_not_there_is_refused_in_words_and_kept(served: Served) -> None:
    served.cluster.add_run()
    began = time.monotonic()
    served.cluster.tell("set", act("no-such", "run-0"))
    await kit.until(lambda: ("i1", "Refused") in served.cluster.item_statuses)
    assert time.monotonic() - began >= QUICK
    said = served.cluster.item_messages["i1"]
    assert "there is no Run no-such with uid run-0 in namespace team" in said
    assert "kubectl get run" in said
    served.cluster.tell("set", act(identity="i22"))
    await kit.until(lambda: served.cluster.item_owners)
    assert served.cluster.item_owners == [("i22", owner())], "control: another is owned; this one stays to be read"
    assert (await items(served, "", 1))[0][0]["id"] == "i22"
    assert served.gateway.courier.waiting.waits() == []


async def test_once_it_could_be_read_it_is_left_to_the_cluster(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REFUSED_KEPT_SECONDS", 2)
    served.cluster.tell("set", act("no-such", "run-0"))
    await kit.until(lambda: ("i1", "Refused") in served.cluster.item_statuses)
    await kit.until(lambda: served.cluster.item_owners)
    (item,) = served.cluster.interventions()
    assert time.time() >= datetime.fromisoformat(item.stated).timestamp() + 2
    assert served.cluster.item_owners == [("i1", owner("no-such", "run-0"))]


async def test_a_uid_of_an_earlier_run_is_told_apart(served: Served) -> None:
    served.cluster.add_run()
    served.cluster.tell("set", act(uid="run-0"))
    await kit.until(lambda: ("i1", "Refused") in served.cluster.item_statuses)
    assert "runRef.uid is of an earlier Run name-run-1" in served.cluster.item_messages["i1"]


async def test_a_uid_under_another_name_reaches_nobody(served: Served) -> None:
    served.cluster.add_run()
    served.cluster.tell("set", act("other"))
    await kit.until(lambda: ("i1", "Refused") in served.cluster.item_statuses)
    assert "there is no Run of that name" in served.cluster.item_messages["i1"]
    served.cluster.change_run(stored_seq=1)  # looks at its Interventions again
    served.cluster.tell("set", act(identity="i22"))
    assert [item["id"] for item in (await items(served, "", 1))[0]] == ["i22"]
    assert served.cluster.item_owners == [("i22", owner())]


async def test_a_run_that_is_seen_a_moment_later_gets_its_act(served: Served) -> None:
    served.cluster.tell("set", act())
    await kit.until(served.gateway.courier.waiting.waits)
    served.cluster.add_run()
    await kit.until(lambda: not served.gateway.courier.waiting.waits())
    assert [item["id"] for item in (await items(served, "", 1))[0]] == ["i1"]
    await kit.until(lambda: served.cluster.item_owners)
    assert ("i1", "Refused") not in served.cluster.item_statuses


async def test_a_run_that_is_over_when_it_is_seen_has_its_act_expired(served: Served) -> None:
    served.cluster.tell("set", act())
    await kit.until(served.gateway.courier.waiting.waits)
    served.cluster.add_run(finished=True)
    await kit.until(lambda: ("i1", "Expired") in served.cluster.item_statuses)
    assert served.gateway.courier.waiting.waits() == []


async def test_a_run_that_went_before_it_was_seen_leaves_its_act_refused(served: Served) -> None:
    served.cluster.unseen["team", "name-run-1"] = RUN
    served.cluster.tell("set", act())
    await kit.until(lambda: len(served.cluster.asked_now) == 2)
    assert served.cluster.item_statuses == [], "control: the cluster has it, and it waited on"
    served.cluster.unseen.clear()
    await kit.until(lambda: ("i1", "Refused") in served.cluster.item_statuses)


async def test_a_watch_that_is_far_behind_has_no_act_refused(served: Served) -> None:
    served.cluster.unseen["team", "name-run-1"] = RUN
    served.cluster.tell("set", act())
    await kit.until(lambda: len(served.cluster.asked_now) == 2)
    served.cluster.tell("set", act("no-such", "run-0", "i22"))
    await kit.until(lambda: ("i22", "Refused") in served.cluster.item_statuses)
    assert [uid for uid, _ in served.cluster.item_statuses] == ["i22"], "control: the other one was refused"
    served.cluster.add_run()
    assert [item["id"] for item in (await items(served, "", 1))[0]] == ["i1"]


async def test_a_cluster_that_does_not_answer_has_no_act_refused(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "RETRY_FIRST_SECONDS", 0.05)
    asked = 0
    answer = served.cluster.run_now

    async def silent(namespace: str, name: str) -> RunView | None:
        nonlocal asked
        asked += 1
        if asked < 3:
            raise OSError("connection refused")
        return await answer(namespace, name)

    monkeypatch.setattr(served.cluster, "run_now", silent)
    served.cluster.tell("set", act("no-such", "run-0"))
    await kit.until(lambda: asked == 2)
    assert served.cluster.item_statuses == []
    await kit.until(lambda: ("i1", "Refused") in served.cluster.item_statuses)


async def test_what_has_an_owner_is_left_to_the_cluster(served: Served) -> None:
    served.cluster.tell("set", act(owned=True))
    served.cluster.tell("set", act("no-such", "run-0", "i22"))
    await kit.until(lambda: ("i22", "Refused") in served.cluster.item_statuses)
    assert [uid for uid, _ in served.cluster.item_statuses] == ["i22"]
    served.cluster.add_run()
    assert [item["id"] for item in (await items(served, "", 1))[0]] == ["i1"], "its Run was only late"
    assert served.cluster.item_owners == []


async def test_the_next_gateway_goes_by_what_the_status_says(tmp_path: Path) -> None:
    cluster = kit.Cluster()
    now = time.time()
    left = {"long": KEPT + 1, "soon": KEPT - 1.5, "fresh": 5, "read": 5, "given": 5}
    for identity, ago in left.items():
        state = {"read": "Consumed", "given": "Delivered"}.get(identity, "Refused")
        cluster.tell("set", act("gone", "run-0", identity, state=state, stated=stamp(now - ago)))
    cluster.tell("set", act("gone", "run-0", "never-seen"))
    async with kit.serve(tmp_path, cluster):
        await kit.until(lambda: len(cluster.item_owners) == 4)
        await kit.until(lambda: ("never-seen", "Refused") in cluster.item_statuses)
    assert {uid for uid, _ in cluster.item_owners} == {"long", "read", "given", "soon"}
    assert cluster.item_owners[-1][0] == "soon", "its ten minutes ran on while no gateway did"
    assert all(reference == owner("gone", "run-0") for _, reference in cluster.item_owners)
    assert [uid for uid, _ in cluster.item_statuses] == ["never-seen"]


async def test_an_act_that_is_gone_is_not_looked_at_again(served: Served) -> None:
    served.cluster.tell("set", act("no-such", "run-0"))
    waiting = served.gateway.courier.waiting
    await kit.until(lambda: waiting._timers)
    (item,) = served.cluster.interventions()
    served.cluster.tell("gone", item)
    assert (waiting._timers, waiting.waits()) == ({}, [])
