"""The times a cron expression names, in UTC. Pure: the moment is a parameter.

Guards against doing a time twice or never when clocks are put back or forward: a fixed time in the hour that comes
twice is one time, one in the hour that is missing comes right after it (as Debian's cron has it).
"""

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from guildhall_contracts.schedule import CRON_NICKNAMES

_OVERLAP: Final = timedelta(hours=3)  # more than any clock is ever put back


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, KeyError, ValueError) as error:  # unknown, a folder, no name at all
        raise ValueError(f"there is no time zone '{name}'; use a name such as Europe/Berlin") from error


def _times(schedule: str, begin: datetime, *, reverse: bool = False) -> CronSim:
    """The times of an expression, or of a nickname for one. Raises CronSimError."""
    return CronSim(CRON_NICKNAMES.get(schedule, schedule), begin, reverse=reverse)


def problem(schedule: str, zone: str, now: datetime) -> str:
    """Why the expression cannot be used; empty where it can."""
    try:
        if following(schedule, zone, now) is None:
            return f"'{schedule}' names no time that ever comes"
    except CronSimError as error:
        return f"'{schedule}' is no cron expression of five fields ({error}); write one such as 0 2 * * *, or @daily"
    except ValueError as error:
        return str(error)
    return ""


def following(schedule: str, zone: str, now: datetime) -> datetime | None:
    """The first time after `now`; None where none ever comes. Raises ValueError and CronSimError."""
    times = (found.astimezone(UTC) for found in _times(schedule, now.astimezone(_zone(zone))))
    return next((at for at in times if at > now), None)  # in the hour that comes twice it begins with one that is past


def latest(schedule: str, zone: str, after: datetime, until: datetime) -> datetime | None:
    """The last time in (after, until]; None where there is none. Raises ValueError and CronSimError."""
    place = _zone(zone)
    back = next(_times(schedule, (until - _OVERLAP).astimezone(place), reverse=True), None)
    begin = after if back is None else max(after, back.astimezone(UTC) - _OVERLAP)
    last: datetime | None = None
    for found in _times(schedule, begin.astimezone(place)):  # forward: backward errs in an hour that comes twice
        at = found.astimezone(UTC)
        if at > until:
            break
        last = at
    return last if last is not None and last > after else None
