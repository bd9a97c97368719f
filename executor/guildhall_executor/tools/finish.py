"""`finish`: a role says that it is done, and with what."""

import re
from typing import Annotated, Final

from guildhall_contracts import limits
from guildhall_contracts.base import one_line
from pydantic import Field

from guildhall_executor.tools.arguments import Arguments

_RESULT_MAX_CHARS: Final = 16_384
_MARKUP: Final = re.compile(r"^[#>*+\-\s]+|[*_`]+")


class Finish(Arguments):
    result: str = Field(
        min_length=1, max_length=_RESULT_MAX_CHARS, description="What was done and what came out, as Markdown."
    )
    summary: str = Field("", max_length=1_000, description="The same in one plain line.")
    artifacts: list[Annotated[str, Field(min_length=1, max_length=limits.EVENT_TITLE_MAX_CHARS)]] = Field(
        default_factory=list,
        max_length=limits.EVENT_ARTIFACTS_MAX_COUNT,
        description="Paths of files worth looking at, relative to the workspace.",
    )

    def title(self) -> str:
        return "finish"


def summary_line(summary: str, result: str) -> str:
    """One plain line for lists: the summary given, else the first line of the result without its markup."""
    if summary.strip():
        return one_line(summary, limits.SUMMARY_MAX_CHARS)
    first = next((line for line in result.splitlines() if _MARKUP.sub("", line).strip()), "")
    return one_line(_MARKUP.sub("", first), limits.SUMMARY_MAX_CHARS)
