"""The state of a Run between two inputs: immutable, small, rebuilt by folding the journalled inputs."""

from dataclasses import dataclass, field

from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.events import PlanItem
from guildhall_contracts.model_api import ToolCall

from guildhall_executor.messages import Message
from guildhall_executor.roster import Roster


@dataclass(frozen=True, slots=True)
class RoleRun:
    """One invocation of a role: its own history, and the calls of its last reply that are not done yet."""

    role: str
    op: str
    history: tuple[Message, ...]
    call: str = ""  # the caller's `delegate` call this invocation answers; empty for the entry role
    pending: tuple[ToolCall, ...] = ()
    steps: int = 0
    delegated_in_reply: int = 0
    empty_replies: int = 0
    cut_replies: int = 0
    compactions: int = 0  # in a row, without a reply between them


@dataclass(frozen=True, slots=True)
class ModelWait:
    call_id: str
    op: str


@dataclass(frozen=True, slots=True)
class ToolWait:
    op: str
    call: ToolCall


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
class State:
    roster: Roster
    attempt: int = 1
    stack: tuple[RoleRun, ...] = ()
    waiting: ModelWait | ToolWait | None = None
    ending: Ending | None = None
    plan: tuple[PlanItem, ...] = ()
    steps: int = 0
    model_calls: int = 0
    delegations: int = 0
    workshop_losses: int = 0
    warned: frozenset[str] = field(default=frozenset())
    items_seen: tuple[str, ...] = ()
    redirects: tuple[str, ...] = ()  # messages of people for the active role, not yet in its history

    @property
    def top(self) -> RoleRun:
        """The active role; only meaningful while the stack is not empty."""
        return self.stack[-1]
