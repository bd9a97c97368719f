"""`ask_human`: a question to whoever watches the Run. The answer is what a person said, and permits nothing."""

from typing import Annotated

from guildhall_contracts import limits
from guildhall_contracts.base import one_line
from pydantic import Field

from guildhall_executor.tools.arguments import Arguments


class AskHuman(Arguments):
    question: str = Field(
        min_length=1, max_length=limits.QUESTION_TEXT_MAX_CHARS, description="What you need to know, as Markdown."
    )
    context: str = Field(
        "",
        max_length=limits.QUESTION_TEXT_MAX_CHARS,
        description="What a person has to know to answer, who has seen nothing of your work.",
    )
    options: list[Annotated[str, Field(min_length=1, max_length=limits.EVENT_TITLE_MAX_CHARS)]] = Field(
        default_factory=list,
        max_length=limits.QUESTION_OPTIONS_MAX_COUNT,
        description="Answers to choose from, if there are some; a person may still answer in other words.",
    )
    timeout_seconds: int = Field(
        limits.QUESTION_DEFAULT_SECONDS,
        ge=10,
        le=limits.QUESTION_MAX_SECONDS,
        description="If nobody answers for so long you are told so, and have to decide without.",
    )

    def title(self) -> str:
        return one_line(self.question, limits.EVENT_TITLE_MAX_CHARS)
