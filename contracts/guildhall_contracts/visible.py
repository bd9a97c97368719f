"""Characters nobody sees, made visible. Guards a reader against text that hides, reorders or imitates."""

import re
from typing import Final

_HIDDEN: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e0fff\ud800-\udfff]"
)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:04x}}}"


def visible(text: str) -> tuple[str, int]:
    """`text` with control, direction, zero-width, tag and half characters escaped, and how many there were."""
    return _HIDDEN.subn(_escaped, text)
