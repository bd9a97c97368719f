"""Arithmetic with the stamps of events. Pure: the present moment always comes from outside."""

from datetime import datetime, timedelta

from guildhall_contracts.base import Timestamp

from guildhall_executor.state import PersonWait

GRACE_SECONDS = 5
"""A person's act that the gateway took in time is still waited for when it is on its way."""


def _parsed(stamp: Timestamp) -> datetime | None:
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:  # a date that has the form of one and is none
        return None


def later(stamp: Timestamp, seconds: int) -> Timestamp:
    """The stamp `seconds` after another; the same one where the calendar ends."""
    moment = _parsed(stamp)
    if moment is None:
        return stamp
    try:
        moved = moment + timedelta(seconds=seconds)
    except OverflowError:
        return stamp
    return moved.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_between(first: Timestamp, second: Timestamp) -> float:
    """From `first` to `second`; 0 when either is no date."""
    start, end = _parsed(first), _parsed(second)
    return (end - start).total_seconds() if start is not None and end is not None else 0.0


def person_wait(stamp: Timestamp, age_milliseconds: int, seconds: int) -> PersonWait:
    """A wait that begins now and that people can end for `seconds`."""
    return PersonWait(later(stamp, seconds), age_milliseconds + (seconds + GRACE_SECONDS) * 1_000)


def taken_up(wait: PersonWait, stamp: Timestamp, age_milliseconds: int) -> PersonWait:
    """The wait as a later attempt finds it: while no executor lived, time went on for people."""
    left = max(int(seconds_between(stamp, wait.expires_at)), 0)
    return PersonWait(wait.expires_at, age_milliseconds + (left + GRACE_SECONDS) * 1_000)


def seconds_left(wait: PersonWait, age_milliseconds: int) -> int:
    """What is left for people, at least 1."""
    return max((wait.until_milliseconds - age_milliseconds) // 1_000 - GRACE_SECONDS, 1)
