"""LogEvents from what the loop knows: numbered, declared under their operation, cut to the contract's bounds.

Guards against text that makes an event too large to say: a line is ASCII, and one character can take twelve bytes.
"""

import json
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.events import ChangedFile, KnownEvent, encode_event

from guildhall_executor.tools.text import byte_len, head_of

LIST_MAX_BYTES: Final = 192 * limits.KIB  # of the longest list in an event, as ASCII
_ARTIFACTS_MAX_BYTES: Final = 128 * limits.KIB
_OMITTED_MAX_BYTES: Final = 64 * limits.KIB
_ERROR_DETAIL_MAX_BYTES: Final = 96 * limits.KIB
_CUT_MIN_CHARS: Final = 256  # no name, hash or id of the contract is longer
_CUTS_MAX_COUNT: Final = 8


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
    return len(json.dumps(text)) + 5 * text.count("\x7f")


def bounded_texts(texts: Sequence[str], max_bytes: int = LIST_MAX_BYTES) -> list[str]:
    """`texts`; where they are over `max_bytes` of ASCII together, each is cut to its share."""
    if sum(map(ascii_len, texts)) <= max_bytes:
        return list(texts)
    share = max_bytes // len(texts)
    return [_ascii_head(text, share) for text in texts]


def _ascii_head(text: str, max_bytes: int) -> str:
    """The longest beginning of `text` within `max_bytes` of an ASCII-escaped line."""
    lengths = range(1, len(text) + 1)
    return text[: bisect_right(lengths, max_bytes, key=lambda length: ascii_len(text[:length]))]


def bounded_artifacts(paths: Sequence[str]) -> list[str]:
    """As many paths as fit beside a result; half a path would name another file."""
    sizes = accumulate(ascii_len(path) + 1 for path in paths)
    return [path for path, size in zip(paths, sizes, strict=True) if size <= _ARTIFACTS_MAX_BYTES]


def bounded_omitted(omitted: Sequence[str]) -> list[str]:
    """What a patch leaves out, within its part of the room that `bounded_files` shares with it."""
    return bounded_texts(omitted, _OMITTED_MAX_BYTES)


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


def bounded_files(files: list[ChangedFile], omitted: Sequence[str] = ()) -> list[ChangedFile]:
    """As many files as one event can name beside `omitted`."""
    kept: list[ChangedFile] = []
    room = LIST_MAX_BYTES - sum(map(ascii_len, omitted))
    for file in files[: limits.EVENT_CHANGED_FILES_MAX_COUNT]:
        room -= ascii_len(file.path) + 120
        if room < 0:
            break
        kept.append(file)
    return kept


def line_of(event: KnownEvent) -> bytes:
    """`event` as its line. One that is too large in spite of all bounds is cut, never refused."""
    for cuts in range(_CUTS_MAX_COUNT):
        try:
            return encode_event(event)
        except ValueError:
            event = _cut_down(event, 16_384 >> cuts, 200 >> cuts)
    return encode_event(event)


def _cut_down(event: KnownEvent, max_chars: int, max_count: int) -> KnownEvent:
    """`event` with shorter texts and lists; it says so where it has a field for that."""
    value = _shorter(event.model_dump(by_alias=False), max(max_chars, _CUT_MIN_CHARS), max(max_count, 1))
    marks = {name: True for name in ("text_cut", "arguments_cut") if name in value}
    return type(event).model_validate(value | marks)


def _shorter(value: Any, max_chars: int, max_count: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= max_chars else value[: max_chars - 1] + "…"
    if isinstance(value, list):
        return [_shorter(item, max_chars, max_count) for item in value[:max_count]]
    if isinstance(value, dict):
        pairs = ((name[:_CUT_MIN_CHARS], item) for name, item in value.items())
        return {name: _shorter(item, max_chars, max_count) for name, item in pairs}
    return value


def head(run: str, attempt: int, seq: int, ts: str) -> dict[str, Any]:
    """The envelope every event shares."""
    return {"run": run, "attempt": attempt, "seq": seq, "ts": ts}
