"""What the loop asks the shell to do. Plain data: a test compares it, `perform` carries it out."""

from dataclasses import dataclass

from guildhall_contracts.errors import ErrorKind
from guildhall_contracts.events import KnownEvent

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
    """Run a checked and permitted tool call; it comes back as ToolEnded with the same `op`."""

    op: str
    role: str
    tool: str
    arguments: Arguments
    writes: bool
    history: tuple[Message, ...] = ()  # of the role; only code is shown it
    functions: tuple[str, ...] = ()  # tools that code may call
    call_id: str = ""  # unique in the Run; the gateway makes an external call once for it
    approval_id: str = ""  # a person's yes to exactly this call, where policy wants one


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


Effect = Emit | CallModel | RunTool | AnswerCode | StopWork | TakeChanges | Seal
