"""The state of a Run from its journalled inputs. Pure: the same lines always give the same state and events."""

from collections.abc import Iterable

from guildhall_contracts.events import KnownEvent

from guildhall_executor.effects import Emit
from guildhall_executor.inputs import At
from guildhall_executor.loop import step
from guildhall_executor.roster import Roster
from guildhall_executor.state import State


def rebuild(roster: Roster, inputs: Iterable[At], last_seq: int) -> tuple[State, list[KnownEvent]]:
    """Folds `inputs`; also gives the events after `last_seq`, which a crash kept from the journal.

    Effects are not performed again: what was in flight is dealt with by the `Resumed` input that follows.
    """
    state = State(roster)
    missing: list[KnownEvent] = []
    for at in inputs:
        state, effects = step(state, at)
        missing += [effect.event for effect in effects if isinstance(effect, Emit) and effect.event.seq > last_seq]
    return state, missing
