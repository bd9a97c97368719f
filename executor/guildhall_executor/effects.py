"""What the loop asks the shell to do. Plain data: a test compares it, `perform` carries it out."""

from dataclasses import dataclass
from typing import Literal

from guildhall_contracts.approvals import ApprovalRequest
from guildhall_contracts.errors import ErrorKind
from guildhall_contracts.events import KnownEvent
from guildhall_contracts.model_api import AskedItem

from guildhall_executor.messages import Message, to_bytes
from guildhall_executor.tools.arguments import Arguments
from guildhall_executor.tools.result import ToolResult

PIECE_MESSAGES = 64  # so many go into one write; a whole copy of a long history would be made at every step


@dataclass(frozen=True, slots=True)
class Emit:
    event: KnownEvent


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the gateway; the answer comes back as Replied or ReplyFailed with the same `call_id`."""

    op: str
    call_id: str
    role: str
    model: str
    messages: tuple[Message, ...]
    tools: bytes  # a JSON array, ready made
    max_output_tokens: int

    def pieces(self) -> list[bytes]:
        """The JSON of the contract's ModelRequest in pieces; messages go in as the bytes they already are."""
        head = {
            "callId": self.call_id,
            "role": self.role,
            "model": self.model,
            "maxOutputTokens": self.max_output_tokens,
        }
        opening = to_bytes(head)[:-1] + b',"tools":' + self.tools + b',"messages":['
        bodies = [message.body for message in self.messages]
        pieces = [b",".join(bodies[at : at + PIECE_MESSAGES]) for at in range(0, len(bodies), PIECE_MESSAGES)]
        commas = [piece for body in pieces for piece in (b",", body)][1:]
        return [opening, *commas, b"]}"]

    def body(self) -> bytes:
        return b"".join(self.pieces())


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run a checked and permitted tool call; it comes back as ToolEnded with the same `op`.

    `approval` is used up where the tool executes, right before it runs; refused there, it does not run.
    """

    op: str
    role: str
    tool: str
    arguments: Arguments
    writes: bool
    call_id: str = ""
    approval: ApprovalRequest | None = None
    history: tuple[Message, ...] = ()  # of the role; only code is shown it
    functions: tuple[str, ...] = ()  # tools that code may call

    @property
    def approval_id(self) -> str:
        """The id of a person's yes to exactly this call; empty where policy wants none."""
        return self.approval.approval_id if self.approval is not None else ""


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Put a question to people. It comes back as Answered, or as AskFailed with the same `op`."""

    op: str
    item: AskedItem


@dataclass(frozen=True, slots=True)
class AskApproval:
    """Put a call to people for a yes or no. It comes back as Decided, or as AskFailed with the same `op`."""

    op: str
    request: ApprovalRequest


@dataclass(frozen=True, slots=True)
class Withdraw:
    """A question, or the approval of a call, is not wanted any more: the gateway closes it."""

    op: str
    id: str
    what: Literal["questions", "approvals"] = "questions"


@dataclass(frozen=True, slots=True)
class AnswerCode:
    """The result of call number `id` of the code that runs as operation `op`; the code goes on with it."""

    op: str
    id: int
    result: ToolResult


@dataclass(frozen=True, slots=True)
class StopWork:
    """Give up what is in flight, at once: the model call or tool of one operation, or everything."""

    op: str | None = None


@dataclass(frozen=True, slots=True)
class TakeChanges:
    """Look at the change set a last time; comes back as ChangesTaken within a bounded time."""


@dataclass(frozen=True, slots=True)
class Seal:
    """The Run is over: write its files and its termination message, then end."""

    outcome: str
    result: str
    summary: str
    plan: str
    error_kind: ErrorKind | None
    reason: str
    message: str


Effect = Emit | CallModel | RunTool | AskPerson | AskApproval | Withdraw | AnswerCode | StopWork | TakeChanges | Seal
