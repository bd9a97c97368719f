"""What is stored, on SQLite and PostgreSQL alike: whole batches or nothing, each event once, gone when its time is over."""  # noqa: E501

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from guildhall_api.config import StartError
from guildhall_api.history import History, intake_of
from guildhall_api.hub import Cursor
from guildhall_api.intake import Intake, Taken
from guildhall_api.lines import Line
from guildhall_api.reading import items_after, page_lines
from guildhall_api.records import ListFilter, RunFacts
from guildhall_contracts.events import Unreadable
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from support.api_run import UID, start_line, warn_line
from support.postgres import free_port


@pytest.fixture
async def history(store_url: str) -> AsyncIterator[History]:
    opened = History(store_url)
    await opened.open()
    yield opened
    await opened.close()


def _facts(uid: str = UID, name: str = "fix", *, created: str = "2026-01-05T09:00:00Z", **changes: object) -> RunFacts:
    fields: dict[str, object] = {
        "phase": "Running", "guild": "repair", "search": f"{name} 100% sure", "private": False, "live": True,
        "summary": {"name": name, "uid": uid, "live": True}, "detail": {},
    }  # fmt: skip
    return RunFacts(uid=uid, namespace="team", name=name, created_at=created, **(fields | changes))  # type: ignore[arg-type]


def _read(intake: Intake, *data: bytes) -> tuple[list[Taken], list[Unreadable]]:
    taken, rows = list[Taken](), list[Unreadable]()
    for number, each in enumerate(data):
        stamp = f"2026-01-05T09:00:00.{intake.last_seq * 1000 + number:09}Z ".encode()
        thing = intake.take(Line(stamp + each, len(stamp) + len(each)))
        if isinstance(thing, Unreadable):
            rows.append(thing)
        elif thing is not None:
            taken.append(thing)
    return taken, rows


async def _stored(history: History, uid: str = UID) -> list[int]:
    found = await history.find(uid=uid)
    assert found is not None
    return [seq for seq, _ in await history.lines(found.key, 0, 10_000)]


async def test_what_is_known_of_the_log_survives_with_the_events(history: History) -> None:
    key = await history.put_run(_facts())
    intake = Intake(UID)
    intake.follow("pod", 1)
    taken, rows = _read(intake, start_line(), b"noise", warn_line(2), warn_line(6))
    await history.append(key, intake, taken, rows)
    found = await history.find(uid=UID)
    assert found is not None
    again = intake_of(found)
    assert again == intake
    assert (again.last_seq, again.stored_seq, again.holes, again.unreadable) == (6, 2, [(3, 5)], 1)
    assert await _stored(history) == [1, 2, 6]
    late, _ = _read(again, warn_line(4), warn_line(4), warn_line(6), warn_line(3), warn_line(5))
    await history.append(key, again, late, [])
    assert again.holes == []
    assert await _stored(history) == [1, 2, 3, 4, 5, 6]


async def test_a_failed_batch_changes_nothing(history: History) -> None:
    key = await history.put_run(_facts())
    intake = Intake(UID)
    intake.follow("pod", 1)
    taken, _ = _read(intake, start_line(), warn_line(2))
    broken = [Unreadable(after=0, reason="r", bytes=1, text="t").model_copy(update={"bytes": None})]
    with pytest.raises(SQLAlchemyError):
        await history.append(key, intake, taken, broken)
    found = await history.find(uid=UID)
    assert found is not None
    assert (found.last_seq, found.intake) == (0, {})
    assert await _stored(history) == []
    await history.append(key, intake, taken, [])
    await history.append(key, intake, taken, [])  # the same batch again doubles nothing
    assert await _stored(history) == [1, 2]


async def test_streams_read_rows_where_they_stood(history: History) -> None:
    key = await history.put_run(_facts())
    intake = Intake(UID)
    intake.follow("pod", 1)
    taken, rows = _read(intake, b"early", start_line(), b"mid", b"mid2", warn_line(2), warn_line(3), b"late")
    await history.append(key, intake, taken, rows)

    async def walk(seen: Cursor, limit: int) -> list[str]:
        found: list[str] = []
        while items := await items_after(history, key, seen, limit):
            found += [str(json.loads(item.line).get("seq") or json.loads(item.line)["text"]) for item in items]
            seen = items[-1].at
        return found

    whole = ["early", "1", "mid", "mid2", "2", "3", "late"]
    for limit in (1, 2, 3, 100):
        assert await walk(Cursor(), limit) == whole, limit
    assert await walk(Cursor(1, 2), 100) == ["mid2", "2", "3", "late"]
    assert await walk(Cursor(3, 4), 100) == []


async def test_a_page_is_bounded_in_bytes(history: History) -> None:
    key = await history.put_run(_facts())
    intake = Intake(UID)
    intake.follow("pod", 1)
    big = [
        json.dumps({"v": 1, "run": UID, "attempt": 1, "seq": seq, "ts": "2026-01-05T09:00:00.000Z", "type": "note.taken",  # noqa: E501
                    "text": "x" * 250_000}).encode() for seq in range(1, 31)
    ]  # fmt: skip
    taken, _ = _read(intake, *big)
    await history.append(key, intake, taken, [])
    page = await page_lines(history, key, 0, 1000)
    assert 10 < len(page) < 20
    assert [seq for seq, _ in page] == list(range(1, len(page) + 1))
    assert len(await page_lines(history, key, 0, 5)) == 5


async def test_names_return_and_uids_do_not(history: History) -> None:
    await history.put_run(_facts("uid-old", live=False))
    await history.put_run(_facts("uid-new", created="2026-02-05T09:00:00Z", live=False))
    found = await history.find(name=("team", "fix"))
    assert found is not None
    assert found.uid == "uid-new"
    await history.put_run(_facts("uid-old", live=True))
    found = await history.find(name=("team", "fix"))
    assert found is not None
    assert found.uid == "uid-old"  # the one that exists, whatever its age
    assert await history.find(uid="uid-old", name=("team", "other")) is None


async def test_private_runs_go_with_everything_that_was_theirs(history: History) -> None:
    unread = await history.put_run(_facts("uid-unread", "uid-unread", private=True, expires_at=1_000.0))
    for uid, private in (("uid-private", True), ("uid-open", False)):
        key = await history.put_run(_facts(uid, uid, private=private, expires_at=1_000.0 if private else None))
        intake = Intake(uid)
        intake.follow("pod", 1)
        taken, rows = _read(intake, start_line(uid), b"noise")
        await history.append(key, intake, taken, rows)
        await history.put_blob(key, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", b"x")
        await history.seal(key, {}, 1, b"{}", b"{}")
    assert await history.expire(999.0) == 0
    assert await history.expire(1_001.0) == 1  # not the one that is still read
    await history.seal(unread, {}, 0, b"{}", b"{}")
    assert await history.expire(1_001.0) == 1
    assert await history.find(uid="uid-private") is None
    async with history.engine.connect() as connection:
        for table in ("runs", "events", "unreadables", "blobs", "snapshots"):
            count = (await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar()  # noqa: S608
            assert count == 1, table


async def test_lists_find_text_as_it_is_and_open_no_history(history: History) -> None:
    for number in range(30):
        await history.put_run(_facts(f"uid-{number:02}", f"run-{number:02}", created=f"2026-01-05T09:00:{number:02}Z"))
    async with history.engine.begin() as connection:
        for table in ("events", "unreadables", "snapshots"):
            await connection.execute(text(f"DROP TABLE {table}"))  # a list that opened them would fail
    names: list[str] = []
    before = None
    while page := await history.list_runs(ListFilter(namespaces=["team"], limit=7, before=before)):
        names += [row["name"] for row in page]
        last = int(page[-1]["uid"][4:])
        before = (f"2026-01-05T09:00:{last:02}Z", page[-1]["uid"])
    assert names == [f"run-{number:02}" for number in reversed(range(30))]
    assert len(await history.list_runs(ListFilter(namespaces=["team"], text="100%"))) == 30
    assert await history.list_runs(ListFilter(namespaces=["team"], text="100_")) == []
    assert await history.list_runs(ListFilter(namespaces=[])) == []
    assert await history.list_runs(ListFilter(namespaces=["other"])) == []


async def test_writers_at_once_do_not_disturb_each_other(history: History) -> None:
    async def one(number: int) -> None:
        uid = f"uid-{number}"
        key = await history.put_run(_facts(uid, uid))
        intake = Intake(uid)
        intake.follow("pod", 1)
        for seq in range(1, 11):
            taken, _ = _read(intake, warn_line(seq, run=uid))
            await history.append(key, intake, taken, [])

    await asyncio.gather(*(one(number) for number in range(10)))
    for number in range(10):
        assert await _stored(history, f"uid-{number}") == list(range(1, 11))


async def test_tables_of_another_version_are_refused(tmp_path: Path) -> None:
    opened = History(f"sqlite:///{tmp_path}/a.db")
    await opened.open()
    async with opened.engine.begin() as connection:
        await connection.execute(text("UPDATE versions SET version = 99"))
    with pytest.raises(StartError, match="version 99"):
        await opened.open()
    await opened.close()


async def test_a_postgresql_that_is_away_is_said_as_any_other_fault() -> None:
    """Its driver raises errors of its own while it connects; whoever works on knows SQLAlchemy's alone."""
    history = History(f"postgresql://test@127.0.0.1:{free_port()}/history")
    try:
        with pytest.raises(SQLAlchemyError):
            await history.find(uid="u1")
    finally:
        await history.engine.dispose()
