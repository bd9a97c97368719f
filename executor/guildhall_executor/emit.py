"""LogEvents from what the loop knows: numbered, declared under their operation, cut to the contract's bounds."""

import json
from typing import Any

from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.events import ChangedFile

from guildhall_executor.tools.text import byte_len, head_of

_ERROR_DETAIL_MAX_BYTES = 96 * 1024
_FILES_MAX_BYTES = 192 * 1024


def event_text(text: str) -> str:
    """`text` within an event's bound for prose."""
    return head_of(text, limits.EVENT_TEXT_MAX_BYTES) if len(text) * 4 > limits.EVENT_TEXT_MAX_BYTES else text


def tool_output(text: str) -> tuple[str, int]:
    """`text` within an event's bound for tool output, and the bytes that did not fit."""
    if len(text) * 4 <= limits.EVENT_TOOL_OUTPUT_MAX_BYTES:
        return text, 0
    kept = head_of(text, limits.EVENT_TOOL_OUTPUT_MAX_BYTES)
    return kept, byte_len(text) - byte_len(kept)


def ascii_len(text: str) -> int:
    """Bytes of `text` in an ASCII-escaped line."""
    return len(json.dumps(text))


def bounded_error(error: ErrorInfo) -> ErrorInfo:
    """`error` with details that fit into one event beside everything else."""
    room = _ERROR_DETAIL_MAX_BYTES
    kept: dict[str, str] = {}
    for name, text in error.detail.items():
        value = text
        while ascii_len(value) > room and value:
            value = value[: len(value) // 2]
        kept[name] = value
        room -= ascii_len(value)
    return error.model_copy(update={"detail": kept}) if kept != error.detail else error


def bounded_files(files: list[ChangedFile]) -> list[ChangedFile]:
    """As many files as one event can name."""
    kept: list[ChangedFile] = []
    room = _FILES_MAX_BYTES
    for file in files[: limits.EVENT_CHANGED_FILES_MAX_COUNT]:
        room -= ascii_len(file.path) + 120
        if room < 0:
            break
        kept.append(file)
    return kept


def head(run: str, attempt: int, seq: int, ts: str) -> dict[str, Any]:
    """The envelope every event shares."""
    return {"run": run, "attempt": attempt, "seq": seq, "ts": ts}
