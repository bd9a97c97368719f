"""The clock, in the form events carry it."""

from datetime import UTC, datetime


def now_stamp() -> str:
    return _stamp(datetime.now(UTC))


def stamp_of(kubernetes_time: object) -> str | None:
    """A Kubernetes time as an event's stamp; None for anything else."""
    moment = _moment(kubernetes_time)
    return _stamp(moment) if moment is not None else None


def seconds_of(kubernetes_time: object) -> float | None:
    """A Kubernetes time in seconds since 1970; None for anything else."""
    moment = _moment(kubernetes_time)
    return moment.timestamp() if moment is not None else None


def _moment(kubernetes_time: object) -> datetime | None:
    if not isinstance(kubernetes_time, str):
        return None
    try:
        moment = datetime.fromisoformat(kubernetes_time)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
