"""One step's working copy: the state as it becomes, and the effects in order. It lives inside `loop.step` only."""

from dataclasses import replace
from typing import Any

from guildhall_contracts import limits
from guildhall_contracts.base import OpId
from guildhall_contracts.events import KnownEvent

from guildhall_executor import emit
from guildhall_executor.effects import Effect, Emit
from guildhall_executor.inputs import At
from guildhall_executor.messages import Message
from guildhall_executor.state import OpenCall, RoleRun, State

TASK_OP: OpId = "o1"


class Draft:
    """Events get their number here, and an opening its operation's name: `o` and its own number.

    An invocation is named by its operation. `wake` says that one may be able to go on; `loop` asks each of those.
    """

    def __init__(self, state: State, at: At) -> None:
        self.state = state
        self.at = at
        self.effects: list[Effect] = []
        self._seq = at.seq
        self._awake: dict[OpId, None] = {}

    @property
    def next_op(self) -> OpId:
        """The operation the next event would open."""
        return f"o{self._seq + 1}"

    def head(self) -> dict[str, Any]:
        """The envelope of the next event; each call takes a number."""
        self._seq += 1
        return emit.head(self.state.roster.snapshot.run, self.state.attempt, self._seq, self.at.ts)

    @property
    def seq(self) -> int:
        """The number of the last event."""
        return self._seq

    def emit(self, event: KnownEvent) -> None:
        self.effects.append(Emit(event))

    def do(self, effect: Effect) -> None:
        self.effects.append(effect)

    def change(self, **fields: Any) -> None:
        """Replaces fields of the state."""
        self.state = replace(self.state, **fields)

    def role(self, op: OpId) -> RoleRun:
        """An invocation that is at work."""
        return self.state.roles[op]

    def is_at_work(self, op: OpId) -> bool:
        return op in self.state.roles and self.state.ending is None

    def change_role(self, op: OpId, /, **fields: Any) -> None:
        """Replaces fields of an invocation."""
        self.change(roles={**self.state.roles, op: replace(self.state.roles[op], **fields)})

    def change_call(self, op: OpId, id_: str, /, **fields: Any) -> None:
        """Replaces fields of one open call of an invocation, wherever it came from."""
        invocation = self.role(op)
        if any(one.id == id_ for one in invocation.calls):
            self.change_role(op, calls=_changed(invocation.calls, id_, fields))
        else:
            self.change_role(op, inner=_changed(invocation.inner, id_, fields))

    def drop_inner(self, op: OpId, id_: str) -> None:
        """Forgets a call of code."""
        self.change_role(op, inner=tuple(one for one in self.role(op).inner if one.id != id_))

    def call(self, op: OpId, id_: str) -> OpenCall:
        """An open call as it is now."""
        return next(one for one in self.role(op).all_calls if one.id == id_)

    def say(self, op: OpId, *messages: Message) -> None:
        """Adds to an invocation's history."""
        self.change_role(op, history=(*self.role(op).history, *messages))

    def next_call_id(self) -> str:
        """The id of one more model call of this Run."""
        self.change(model_calls=self.state.model_calls + 1)
        return f"c{self.state.model_calls}"

    def first_time(self, item: str) -> bool:
        """Whether a mailbox item was not seen before; the gateway delivers each at least once, from the beginning."""
        seen = self.state.items_seen
        if item in seen or len(seen) >= limits.MAILBOX_ITEMS_SEEN_MAX_COUNT:
            return False
        self.change(items_seen=seen | {item})
        return True

    def begin(self, invocation: RoleRun) -> None:
        self.change(roles={**self.state.roles, invocation.op: invocation})
        self.wake(invocation.op)

    def end(self, op: OpId) -> RoleRun:
        ended = self.role(op)
        self.change(roles={key: value for key, value in self.state.roles.items() if key != op})
        return ended

    def wake(self, op: OpId) -> None:
        self._awake[op] = None

    def next_awake(self) -> OpId | None:
        """Takes the invocation that was woken first; None when all that can go on have."""
        if not self._awake:
            return None
        op = next(iter(self._awake))
        del self._awake[op]
        return op


def _changed(calls: tuple[OpenCall, ...], id_: str, fields: dict[str, Any]) -> tuple[OpenCall, ...]:
    return tuple(replace(one, **fields) if one.id == id_ else one for one in calls)
