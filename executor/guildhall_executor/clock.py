"""When the loop wants to be asked again although nothing happens. Pure: the shell waits, the loop looks."""

from collections.abc import Iterator

from guildhall_executor.state import State


def due_milliseconds(state: State) -> int | None:
    """The age of the Run at which something ends by the clock or is warned of; None when nothing does."""
    return min(_moments(state), default=None) if state.ending is None else None


def _moments(state: State) -> Iterator[int]:
    seconds = state.roster.snapshot.budget.seconds
    if seconds is not None:
        yield seconds * 1_000
        if "seconds" not in state.warned:
            yield seconds * 800
    if state.stop is not None:
        yield state.stop.person.until_milliseconds
    for _, _, person in state.for_people():
        yield person.until_milliseconds
