"""The clock, in the form events carry it."""

from datetime import UTC, datetime


def now_stamp() -> str:
    return _stamp(datetime.now(UTC))


def stamp_of(kubernetes_time: object) -> str | None:
    """A Kubernetes time as an event's stamp; None for anything else."""
    if not isinstance(kubernetes_time, str):
        return None
    try:
        moment = datetime.fromisoformat(kubernetes_time)
    except ValueError:
        return None
    return _stamp(moment) if moment.tzinfo is not None else None


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
