"""`delegate`: give a piece of work to another role and wait for its summary."""

from guildhall_contracts import limits
from pydantic import Field

from guildhall_executor.tools.arguments import Arguments


class Delegate(Arguments):
    role: str = Field(min_length=1, max_length=limits.ROLE_NAME_MAX_CHARS, description="The role to give the work to.")
    brief: str = Field(
        min_length=1,
        max_length=limits.TASK_MAX_BYTES // 4,
        description="Everything that role needs to know: it sees nothing else of this conversation.",
    )

    def title(self) -> str:
        return f"delegate to {self.role}"
