"""What is said of a Run that was found: by memory while it is there, else by history; and where one may look."""

from collections.abc import Iterable
from typing import Any, cast

import pytest
from guildhall_api.live import LiveRun
from guildhall_api.records import StoredRun
from guildhall_api.services import FoundRun, Services, listable
from guildhall_api.source import Act, Person
from support.api_run import UID, run_object

STORED = StoredRun(
    key=1, uid=UID, namespace="team", name="fix", live=True, sealed=False, private=False,
    summary={"phase": "Running"}, detail={}, last_seq=7, unreadable=0, intake={},
)  # fmt: skip


def _live(**changes: Any) -> LiveRun:
    live = LiveRun(run_object(), STORED)
    live.intake.last_seq = 9
    for name, value in changes.items():
        setattr(live, name, value)
    return live


def test_a_run_that_is_gone_is_what_history_says() -> None:
    found = FoundRun(STORED, None)
    assert (found.summary, found.sealed, found.last_seq) == ({"phase": "Running"}, False, 7)


def test_a_run_that_exists_is_what_memory_says() -> None:
    """Its row may be older by a batch, and does not have what the gateway has booked."""
    found = FoundRun(STORED, _live(booked={"calls": 1}))
    assert (found.summary, found.last_seq) == ({"phase": "Running", "usage": {"calls": 1}}, 9)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("live", [None, False, True])
def test_a_run_is_sealed_as_soon_as_either_says_so(stored: bool, live: bool | None) -> None:
    row = StoredRun(**{**vars(STORED), "sealed": stored})
    assert FoundRun(row, None if live is None else _live(sealed=live)).sealed == (stored or bool(live))


async def test_the_namespaces_one_may_list_come_in_the_configurations_order() -> None:
    asked: list[Act] = []

    class Rights:
        async def judged(self, _person: Person, acts: Iterable[Act]) -> dict[Act, bool]:
            asked.extend(acts)
            return {act: act.namespace != "b" for act in asked}

    class Asked:
        auth = Rights()
        config = type("Config", (), {"run_namespaces": ["c", "b", "a"]})

    assert await listable(cast("Services", Asked()), Person("ada"), "guilds") == ["c", "a"]
    assert asked == [Act("list", name, "guilds") for name in ("c", "b", "a")]
