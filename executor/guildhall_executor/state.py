"""The state of a Run between two inputs: immutable, small, rebuilt by folding the journalled inputs.

It is a tree of role invocations. Every wait belongs to one of them: its model call, or one of the calls of its last
reply; several can be open at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from guildhall_contracts.base import OpId
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.events import PlanItem
from guildhall_contracts.model_api import ToolCall
from guildhall_contracts.policy import CallContext, ToolPolicy, may_execute, needs_approval

from guildhall_executor.effects import Withdraw
from guildhall_executor.messages import Message
from guildhall_executor.rights import Ceiling, Toolset
from guildhall_executor.roster import Roster
from guildhall_executor.trace import Traced

Stage = Literal["new", "approving", "approved", "queued", "running", "delegated", "asking", "done"]
FOR_PEOPLE: Final = frozenset({"approving", "asking"})
"""Stages in which a call waits for a person."""


@dataclass(frozen=True, slots=True)
class PersonWait:
    """Until when a person is waited for: by the Run's age while the executor lives, by the date across attempts."""

    expires_at: str
    until_milliseconds: int


@dataclass(frozen=True, slots=True)
class OpenCall:
    """One call of a role's last reply, kept until every call of that reply has its result.

    `new` waits for its turn, `approving` and `asking` for a person, `queued` for the workspace, `running` for a tool,
    `delegated` for another role. `approved` waits for its turn with a yes in hand.
    """

    id: str  # unique in the Run: the model call's id and the place in its reply
    call: ToolCall
    stage: Stage = "new"
    op: str = ""  # the operation it waits for
    approval: str = ""  # the id of its approval, once one was asked for
    person: PersonWait | None = None
    code: str = ""  # the operation of the code that made this call; empty for a call of the reply itself
    number: int = 0  # of the call within that code
    result: Message | None = None  # set exactly when `done`

    @property
    def has_yes(self) -> bool:
        """Whether a person approved this very call."""
        return self.approval != "" and self.stage in ("approved", "queued")


@dataclass(frozen=True, slots=True)
class ModelWait:
    call_id: str
    op: str


@dataclass(frozen=True, slots=True)
class Note:
    """A message for a role's next model call. `op`: the interrupt that is answered when it is taken in."""

    message: Message
    op: str = ""


@dataclass(frozen=True, slots=True)
class RoleRun:
    """One invocation of a role: its own history and rights, and what it waits for. `op` names it."""

    role: str
    op: str
    history: tuple[Message, ...]
    tools: Toolset
    ceiling: Ceiling = None  # what the chain of callers grants
    caller: str = ""  # the invocation that delegated; empty for the entry role and for handlers
    watches: str = ""  # the invocation a handler was woken for
    triggered: bool = False  # whether this handler has acted
    woken: int = 0  # how often a handler was woken for this invocation
    trace: tuple[Traced, ...] = ()  # its newest calls
    call: str = ""  # the caller's `delegate` call this invocation answers
    depth: int = 0
    calls: tuple[OpenCall, ...] = ()
    inner: tuple[OpenCall, ...] = ()  # calls made by code of this role; each is answered to its code
    wait: ModelWait | None = None
    notes: tuple[Note, ...] = ()
    steps: int = 0
    delegated_in_reply: int = 0
    empty_replies: int = 0
    cut_replies: int = 0
    compactions: int = 0  # in a row, without a reply between them

    @property
    def is_entry(self) -> bool:
        """Whether the Run ends with this invocation."""
        return not self.caller and not self.watches

    @property
    def all_calls(self) -> tuple[OpenCall, ...]:
        return (*self.calls, *self.inner) if self.inner else self.calls


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A person's question to a role at work, answered by a model call beside it from the history as it was then."""

    op: str
    role_op: str
    role: str
    message: str
    history: tuple[Message, ...]
    tools: bytes
    wait: ModelWait


@dataclass(frozen=True, slots=True)
class Stop:
    """The Run stands at its own budget; a person is asked whether to go on. No model call is begun meanwhile."""

    op: str
    role: str
    text: str
    person: PersonWait
    error: ErrorInfo
    held: tuple[OpId, ...] = ()


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
    inquiries: tuple[Inquiry, ...] = ()
    stop: Stop | None = None
    raises: int = 0  # how often a person let the Run go on past its budget
    closed: tuple[Withdraw, ...] = ()  # the last questions and approvals that are over, to be said again
    ending: Ending | None = None
    plan: tuple[PlanItem, ...] = ()
    steps: int = 0
    model_calls: int = 0
    delegations: int = 0
    wakes: int = 0  # of handlers
    workshop_losses: int = 0
    lost_at: int = 0  # the event number up to which operations belong to a loss that is counted
    warned: frozenset[str] = field(default=frozenset())
    items_seen: frozenset[str] = field(default=frozenset())

    def asking(self, call_id: str) -> RoleRun | None:
        """The invocation whose model call this is."""
        for invocation in self.roles.values():
            if invocation.wait is not None and invocation.wait.call_id == call_id:
                return invocation
        return None

    def holding(self, op: str) -> tuple[RoleRun, OpenCall] | None:
        """The open call whose operation this is, and the invocation it belongs to."""
        for invocation in self.roles.values():
            for call in invocation.all_calls:
                if call.op == op:
                    return invocation, call
        return None

    def for_people(self) -> Iterator[tuple[RoleRun, OpenCall, PersonWait]]:
        """Every call that waits for a person."""
        for invocation in self.roles.values():
            for call in invocation.all_calls:
                if call.person is not None and call.stage in FOR_PEOPLE:
                    yield invocation, call, call.person

    @property
    def active(self) -> RoleRun | None:
        """Whom people talk to: the newest invocation but for handlers; the others wait for it, or work beside it."""
        return next((one for one in self.from_leaves() if not one.watches), None)

    def from_leaves(self) -> Iterator[RoleRun]:
        """Every invocation, those that were called before those that called them."""
        return reversed(self.roles.values())

    def policy_of(self, tool: str) -> ToolPolicy | None:
        """The policy of a tool in this Run; None for a name nobody knows."""
        return self.roster.snapshot.policies.get(tool)

    def may(self, tool: str, *, approved: bool = False) -> bool:
        """Policy at call time. A yes counts only where a person can be there to give it."""
        snapshot = self.roster.snapshot
        interactive = snapshot.mode == "interactive"
        context = CallContext(approved=approved and interactive, private=snapshot.private, interactive=interactive)
        return may_execute(self.policy_of(tool), context)

    def asks_first(self, tool: str) -> bool:
        """Whether a person is asked before each call of the tool."""
        policy = self.policy_of(tool)
        return policy is not None and needs_approval(policy)
