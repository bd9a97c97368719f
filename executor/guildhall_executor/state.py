"""The state of a Run between two inputs: immutable, small, rebuilt by folding the journalled inputs.

It is a tree of role invocations. Every wait belongs to one of them: its model call, or one of the calls of its last
reply; several can be open at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from guildhall_contracts.base import OpId
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.events import PlanItem
from guildhall_contracts.model_api import ToolCall

from guildhall_executor.messages import Message
from guildhall_executor.rights import Ceiling, Toolset
from guildhall_executor.roster import Roster

Stage = Literal["new", "queued", "running", "delegated", "done"]


@dataclass(frozen=True, slots=True)
class OpenCall:
    """One call of a role's last reply, kept until every call of that reply has its result.

    `new` waits for its turn, `queued` for the workspace, `running` for a tool, `delegated` for another role.
    """

    id: str  # unique in the Run: the model call's id and the place in its reply
    call: ToolCall
    stage: Stage = "new"
    op: str = ""  # the operation it waits for
    code: str = ""  # the operation of the code that made this call; empty for a call of the reply itself
    number: int = 0  # of the call within that code
    result: Message | None = None  # set exactly when `done`


@dataclass(frozen=True, slots=True)
class ModelWait:
    call_id: str
    op: str


@dataclass(frozen=True, slots=True)
class RoleRun:
    """One invocation of a role: its own history and rights, and what it waits for. `op` names it."""

    role: str
    op: str
    history: tuple[Message, ...]
    tools: Toolset
    ceiling: Ceiling = None  # what the chain of callers grants
    caller: str = ""  # the invocation that delegated; empty for the entry role
    call: str = ""  # the caller's `delegate` call this invocation answers
    depth: int = 0
    calls: tuple[OpenCall, ...] = ()
    inner: tuple[OpenCall, ...] = ()  # calls made by code of this role; each is answered to its code
    wait: ModelWait | None = None
    steps: int = 0
    delegated_in_reply: int = 0
    empty_replies: int = 0
    cut_replies: int = 0
    compactions: int = 0  # in a row, without a reply between them


@dataclass(frozen=True, slots=True)
class Ending:
    """How the Run ends, decided once; the first decision stands."""

    outcome: str
    result: str = ""
    summary: str = ""
    artifacts: tuple[str, ...] = ()
    error: ErrorInfo | None = None
    reason: str = ""
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class Queued:
    """A call that waits until the workspace is free to be written to."""

    role_op: str
    id: str


@dataclass(frozen=True, slots=True)
class State:
    roster: Roster
    attempt: int = 1
    roles: dict[OpId, RoleRun] = field(default_factory=dict)  # those at work, in the order they began
    writer: str = ""  # the operation that writes to the workspace now
    queue: tuple[Queued, ...] = ()  # those that want to, in the order asked
    ending: Ending | None = None
    plan: tuple[PlanItem, ...] = ()
    steps: int = 0
    model_calls: int = 0
    delegations: int = 0
    workshop_losses: int = 0
    lost_at: int = 0  # the event number up to which operations belong to a loss that is counted
    warned: frozenset[str] = field(default=frozenset())
    items_seen: frozenset[str] = field(default=frozenset())
    redirects: tuple[str, ...] = ()  # messages of people for the active role, not yet in its history

    def asking(self, call_id: str) -> RoleRun | None:
        """The invocation whose model call this is."""
        for invocation in self.roles.values():
            if invocation.wait is not None and invocation.wait.call_id == call_id:
                return invocation
        return None

    def holding(self, op: str) -> tuple[RoleRun, OpenCall] | None:
        """The open call whose operation this is, and the invocation it belongs to."""
        for invocation in self.roles.values():
            for call in (*invocation.calls, *invocation.inner):
                if call.op == op:
                    return invocation, call
        return None

    @property
    def active(self) -> RoleRun | None:
        """Whom people talk to: the newest invocation; the others wait for it, or work beside it."""
        return next(reversed(self.roles.values()), None)

    def from_leaves(self) -> Iterator[RoleRun]:
        """Every invocation, those that were called before those that called them."""
        return reversed(self.roles.values())
