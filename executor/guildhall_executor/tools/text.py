"""Bytes of the workspace as text to show. Guards against control codes, hidden characters and size.

Marks of our own begin with `[guildhall: `; a file that contains one was copied from what we showed, not from a file.
"""

import re
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.visible import visible

SHOWN_MAX_BYTES: Final = limits.EVENT_TOOL_OUTPUT_MAX_BYTES - 1_024  # the status line and marks need room too
LINE_MAX_BYTES: Final = 4_096

_STRING_MAX_CHARS: Final = 4_096  # of a window's title, a link's address

# A string (title, link) goes with its sequence only if it ends, on its line: what follows one that does not end is
# what the command said, and only the two characters that began it go.
_ESCAPE_SEQUENCE: Final = re.compile(
    rf"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\r\n]{{0,{_STRING_MAX_CHARS}}}(?:\x07|\x1b\\)|[ -/]*[0-~])"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_MARK: Final = re.compile(r"\[guildhall: [^\]\n]{0,200}\]")


def mark(text: str) -> str:
    """A remark of ours inside content, recognisable when it is written back (`has_mark`)."""
    return f"[guildhall: {text}]"


def has_mark(text: str) -> bool:
    return _MARK.search(text) is not None


def decoded(data: bytes) -> str:
    """UTF-8 with every other byte as `\\xNN`, so that nothing is lost from sight."""
    return data.decode("utf-8", "backslashreplace")


def _last_redraw(line: str) -> str:
    """What a terminal would still show of a line that was drawn over with carriage returns."""
    parts = [part for part in line.split("\r") if part]
    return parts[-1] if parts else ""


def terminal_text(data: bytes) -> str:
    """Output of a command as plain lines: escape sequences gone, redraws collapsed, hidden characters escaped."""
    text = _ESCAPE_SEQUENCE.sub("", decoded(data)).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(_last_redraw(line) for line in text.split("\n"))
    return visible(_without_backspaces(text))[0]


def _without_backspaces(text: str) -> str:
    """Overstrikes and spinners: a backspace takes the character before it. Linear in the text."""
    if "\b" not in text:
        return text
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


def byte_len(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def head_of(text: str, max_bytes: int) -> str:
    """The longest beginning of `text` within `max_bytes` of UTF-8."""
    return text.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore")


def tail_of(text: str, max_bytes: int) -> str:
    data = text.encode("utf-8", "replace")
    return data[max(len(data) - max_bytes, 0) :].decode("utf-8", "ignore")


def head_and_tail(text: str, max_bytes: int, omitted_before: int = 0) -> tuple[str, int]:
    """`text` with its middle cut to fit, and the bytes left out, of which `omitted_before` are missing already."""
    size = byte_len(text)
    if size <= max_bytes:
        return text, omitted_before
    head, tail = head_of(text, max_bytes // 2), tail_of(text, max_bytes // 2)
    omitted = size - byte_len(head) - byte_len(tail) + omitted_before
    return f"{head}\n{mark(f'{omitted} bytes left out here')}\n{tail}", omitted


def bounded_lines(lines: list[str], max_bytes: int = SHOWN_MAX_BYTES) -> tuple[list[str], int]:
    """As many whole lines as fit, and how many did not; a line over `LINE_MAX_BYTES` is cut with a mark."""
    kept: list[str] = []
    room = max_bytes
    for line in lines:
        size = byte_len(line)
        if size > LINE_MAX_BYTES:
            line = head_of(line, LINE_MAX_BYTES) + mark(f"{size - LINE_MAX_BYTES} bytes of this line left out")  # noqa: PLW2901
            size = byte_len(line)
        if size + 1 > room:
            break
        kept.append(line)
        room -= size + 1
    return kept, len(lines) - len(kept)
