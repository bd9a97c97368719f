"""One step's working copy: the state as it becomes, and the effects in order. It lives inside `loop.step` only."""

from dataclasses import replace
from typing import Any

from guildhall_contracts.base import OpId
from guildhall_contracts.events import KnownEvent

from guildhall_executor import emit
from guildhall_executor.effects import Effect, Emit
from guildhall_executor.inputs import At
from guildhall_executor.messages import Message
from guildhall_executor.state import RoleRun, State

TASK_OP: OpId = "o1"


class Draft:
    """Events get their number here, and an opening its operation's name: `o` and its own number."""

    def __init__(self, state: State, at: At) -> None:
        self.state = state
        self.at = at
        self.effects: list[Effect] = []
        self._seq = at.seq

    @property
    def next_op(self) -> OpId:
        """The operation the next event would open."""
        return f"o{self._seq + 1}"

    def head(self) -> dict[str, Any]:
        """The envelope of the next event; each call takes a number."""
        self._seq += 1
        return emit.head(self.state.roster.snapshot.run, self.state.attempt, self._seq, self.at.ts)

    def emit(self, event: KnownEvent) -> None:
        self.effects.append(Emit(event))

    def do(self, effect: Effect) -> None:
        self.effects.append(effect)

    def change(self, **fields: Any) -> None:
        """Replaces fields of the state."""
        self.state = replace(self.state, **fields)

    def change_top(self, **fields: Any) -> None:
        """Replaces fields of the active role's invocation."""
        self.change(stack=(*self.state.stack[:-1], replace(self.state.top, **fields)))

    def say(self, *messages: Message) -> None:
        """Adds to the active role's history."""
        self.change_top(history=(*self.state.top.history, *messages))

    def push(self, invocation: RoleRun) -> None:
        self.change(stack=(*self.state.stack, invocation))

    def pop(self) -> RoleRun:
        top = self.state.top
        self.change(stack=self.state.stack[:-1])
        return top
