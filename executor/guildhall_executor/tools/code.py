"""`run_code`: a short Python program of the model, in an interpreter that reaches only the tools of its role."""

from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.base import one_line
from pydantic import Field

from guildhall_executor.tools.arguments import Arguments

DESCRIPTION: Final = (
    "Run Python that you wrote, for work on data: loops over files, counting, comparing, computing. It runs apart from "
    "the workspace, without files, network or packages; the standard library is partly there. Your own tools are "
    "functions with the tools' names and parameters, and return a dict: text, error_code (None when it worked), "
    "exit_code. `messages` holds the latest messages of your conversation. What you print and the value of the last "
    "expression, which has to be JSON, come back."
)


class RunCode(Arguments):
    code: str = Field(min_length=1, max_length=limits.CODE_MAX_BYTES, description="Python source.")
    timeout_seconds: int = Field(
        limits.CODE_WALL_DEFAULT_SECONDS,
        ge=1,
        le=limits.CODE_WALL_MAX_SECONDS,
        description="The code is stopped after this long; the time your tools take is not counted.",
    )

    def title(self) -> str:
        return one_line(self.code.strip().split("\n", 1)[0], limits.EVENT_TITLE_MAX_CHARS)
