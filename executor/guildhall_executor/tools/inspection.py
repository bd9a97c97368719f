"""Arguments of the tools with which a handler role looks at another role at work, and of the one with which it acts."""

from typing import Annotated, Literal

from guildhall_contracts import limits
from guildhall_contracts.base import RoleName
from pydantic import Field

from guildhall_executor.tools.arguments import Arguments

Role = Annotated[RoleName | None, Field(description="The role to look at; without it, the one you were woken for.")]
First = Annotated[int, Field(ge=1, description="The number of the first message to show.")]


class ListRoleMessages(Arguments):
    """A compact index of a role's messages: number, kind, tool, size. Without `first`, the newest."""

    role: Role = None
    first: First | None = None

    def title(self) -> str:
        return f"messages of {self.role or 'the role'}"


class ReadMessageWindow(Arguments):
    """The beginnings of a few neighbouring messages."""

    role: Role = None
    first: First
    count: int = Field(3, ge=1, le=limits.INSPECT_WINDOW_MAX_COUNT)

    def title(self) -> str:
        return f"messages {self.first} to {self.first + self.count - 1} of {self.role or 'the role'}"


class SearchRoleBlocks(Arguments):
    """Where a text stands in a role's messages, letter case ignored."""

    role: Role = None
    text: str = Field(min_length=2, max_length=200)

    def title(self) -> str:
        return self.text


class RecentRoleToolCalls(Arguments):
    """A role's newest calls as hashes: equal hashes mean equal arguments, and equal results."""

    role: Role = None
    count: int = Field(20, ge=1, le=limits.TRACE_KEPT_MAX_COUNT)

    def title(self) -> str:
        return f"calls of {self.role or 'the role'}"


class TriggerInterrupt(Arguments):
    """Say one thing to the role you were woken for, or end the Run. Once."""

    intent: Literal["redirect", "abort"]
    message: str = Field(min_length=1, max_length=limits.EVENT_MESSAGE_MAX_CHARS)

    def title(self) -> str:
        return self.message


Inspection = ListRoleMessages | ReadMessageWindow | SearchRoleBlocks | RecentRoleToolCalls
