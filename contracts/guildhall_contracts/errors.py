"""The closed taxonomy of run errors: what went wrong, whether trying again can help, and who must act."""

from typing import Any, Final, Literal, NamedTuple

from pydantic import Field

from guildhall_contracts.base import Message, Record

ErrorKind = Literal[
    "llm_unavailable",
    "llm_refused",
    "context_overflow",
    "budget_exhausted",
    "tool_denied",
    "workshop_lost",
    "deadline",
    "interrupted",
    "guild_invalid",
    "internal",
]
Actor = Literal["nobody", "user", "guild_author", "platform_team", "provider"]


class ErrorRule(NamedTuple):
    retryable: bool
    actor: Actor


ERROR_RULES: Final[dict[str, ErrorRule]] = {
    "llm_unavailable": ErrorRule(True, "provider"),
    "llm_refused": ErrorRule(False, "guild_author"),
    "context_overflow": ErrorRule(False, "guild_author"),
    "budget_exhausted": ErrorRule(False, "user"),
    "tool_denied": ErrorRule(False, "guild_author"),
    "workshop_lost": ErrorRule(True, "platform_team"),
    "deadline": ErrorRule(False, "user"),
    "interrupted": ErrorRule(False, "nobody"),
    "guild_invalid": ErrorRule(False, "guild_author"),
    "internal": ErrorRule(False, "platform_team"),
}


class ErrorInfo(Record):
    """One error as it is recorded and shown: `message` says what happened, where, and what to do."""

    kind: ErrorKind
    message: Message
    retryable: bool
    actor: Actor
    detail: dict[str, str] = Field(default_factory=dict, max_length=8)


def error_info(
    kind: ErrorKind, message: str, *, retryable: bool | None = None, detail: dict[str, str] | None = None
) -> ErrorInfo:
    """An `ErrorInfo` with the taxonomy's defaults; over-long texts are cut, never refused."""
    rule = ERROR_RULES[kind]
    kept: dict[str, Any] = {key[:40]: value[:8_000] for key, value in list((detail or {}).items())[:8]}
    return ErrorInfo(
        kind=kind,
        message=message[:4_000],
        retryable=rule.retryable if retryable is None else retryable,
        actor=rule.actor,
        detail=kept,
    )
