"""The times a cron expression names, where clocks are put forward and back above all."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from guildhall_contracts.schedule import CRON_NICKNAMES
from guildhall_operator import cron
from hypothesis import given, settings
from hypothesis import strategies as st

BERLIN = "Europe/Berlin"


def utc(month: int, day: int, hour: int, minute: int = 0, year: int = 2026) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


def times(schedule: str, zone: str, begin: datetime, count: int) -> list[datetime]:
    found: list[datetime] = []
    at = begin
    for _ in range(count):
        following = cron.following(schedule, zone, at)
        assert following is not None
        found.append(following)
        at = following
    return found


def test_a_time_is_read_in_its_zone() -> None:
    assert cron.following("30 9 * * 1", BERLIN, utc(1, 1, 0)) == utc(1, 5, 8, 30)
    assert cron.following("30 9 * * 1", BERLIN, utc(7, 1, 0)) == utc(7, 6, 7, 30)
    assert cron.following("30 9 * * 1", "America/New_York", utc(7, 1, 0)) == utc(7, 6, 13, 30)


@pytest.mark.parametrize(("word", "fields"), CRON_NICKNAMES.items())
def test_a_word_is_short_for_five_fields(word: str, fields: str) -> None:
    assert cron.problem(word, BERLIN, utc(1, 1, 0)) == ""
    assert times(word, BERLIN, utc(1, 1, 0), 3) == times(fields, BERLIN, utc(1, 1, 0), 3)
    until = utc(6, 1, 0, year=2027)
    assert cron.latest(word, BERLIN, utc(1, 1, 0), until) == cron.latest(fields, BERLIN, utc(1, 1, 0), until)


@pytest.mark.parametrize("said", ["@reboot", "@every 1h", "0 2 * *", "99 2 * * *"])
def test_what_is_no_expression_is_told_what_one_is(said: str) -> None:
    assert "0 2 * * *, or @daily" in cron.problem(said, BERLIN, utc(1, 1, 0))


def test_the_hour_that_is_missing() -> None:
    """At 01:00 UTC on 29 March clocks in Berlin go from 02:00 to 03:00: 02:30 never comes, its job does, once."""
    assert times("30 2 * * *", BERLIN, utc(3, 28, 12), 2) == [utc(3, 29, 1), utc(3, 30, 0, 30)]
    assert cron.latest("30 2 * * *", BERLIN, utc(3, 28, 12), utc(3, 29, 12)) == utc(3, 29, 1)


def test_the_hour_that_comes_twice() -> None:
    """At 01:00 UTC on 25 October clocks in Berlin go from 03:00 to 02:00: 02:30 comes twice, its job once."""
    assert times("30 2 * * *", BERLIN, utc(10, 24, 12), 2) == [utc(10, 25, 0, 30), utc(10, 26, 1, 30)]
    assert cron.latest("30 2 * * *", BERLIN, utc(10, 25, 0, 30), utc(10, 25, 12)) is None, "done the first time"
    for again in (utc(10, 25, 1), utc(10, 25, 1, 15), utc(10, 25, 1, 45)):
        assert cron.following("30 2 * * *", BERLIN, again) == utc(10, 26, 1, 30), "and in the second hour it is past"
    assert cron.latest("30 2 * * *", BERLIN, utc(10, 24, 3, 30), utc(10, 25, 1)) == utc(10, 25, 0, 30), "nor is it lost"
    assert len(times("*/30 * * * *", BERLIN, utc(10, 24, 23, 40), 6)) == 6
    every = times("*/30 * * * *", BERLIN, utc(10, 24, 23, 40), 6)
    assert {b - a for a, b in pairwise(every)} == {timedelta(minutes=30)}, "what has no fixed time"


SCHEDULES = st.sampled_from(
    ["30 2 * * *", "*/20 * * * *", "0 3 * * *", "5 1-3 * * *", "0 2 * * 0", "15 */2 * * *", "0 0 1 * *", "45 1 29 3 *"]
)
MOMENTS = st.builds(
    lambda base, minutes: base + timedelta(minutes=minutes),
    st.sampled_from([utc(3, 28, 0), utc(10, 24, 0), utc(12, 31, 0), utc(2, 27, 0)]),
    st.integers(0, 4 * 1440),
)


@settings(max_examples=300, deadline=None)
@given(schedule=SCHEDULES, zone=st.sampled_from([BERLIN, "Etc/UTC", "America/St_Johns", "Australia/Lord_Howe"]),
       after=MOMENTS, minutes=st.integers(0, 5 * 1440))  # fmt: skip
def test_the_latest_time_is_the_last_of_those_that_follow(
    schedule: str, zone: str, after: datetime, minutes: int
) -> None:
    until = after + timedelta(minutes=minutes)
    found, at = None, after
    while (at := cron.following(schedule, zone, at) or until + timedelta(1)) <= until:
        found = at
    assert cron.latest(schedule, zone, after, until) == found


@pytest.mark.parametrize(
    ("schedule", "zone", "says"),
    [
        ("61 * * * *", "Etc/UTC", "'61 * * * *' is no cron expression"),
        ("0 0 31 2 *", "Etc/UTC", "'0 0 31 2 *'"),
        ("* * * *", "Etc/UTC", "five fields"),
        ("* * * * *", "Mars/Olympus", "no time zone 'Mars/Olympus'"),
        ("* * * * *", "Europe", "no time zone"),
        ("* * * * *", "../../etc/passwd", "no time zone"),
    ],
)
def test_what_cannot_be_used_is_said(schedule: str, zone: str, says: str) -> None:
    assert says in cron.problem(schedule, zone, utc(1, 1, 0))


def test_what_can_be_used() -> None:
    assert cron.problem("0 0 29 2 *", BERLIN, utc(1, 1, 0)) == "", "four years may pass"
