"""Characters nobody sees, made visible. Guards a reader against text that hides, reorders or imitates.

One list for every language of the product: the console's `safe.js` has it by `web/src/contract.js`, and
`tests/golden/visible/cases.json` is read by both. What is a picture's own stays, so that an emoji is an emoji.
"""

import re
from typing import Final

HIDDEN: Final = (
    "0-8 b-1f 7f-9f ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 2028-202e 2060-206f 2800 3164 fe00-fe0f feff "
    "ffa0 fff0-fffb 13430-1343f 1bca0-1bca3 1d173-1d17a e0000-e0fff"
)
"""Controls but tab and line feed, what a renderer may ignore (joiners, fillers, tags, selectors of variants), what sets
direction, annotates or only lays out, and a blank that is no space. Code points in hexadecimal, ranges inclusive."""

PICTURES: Final = (
    "a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b 2328 23cf 23e9-23f3 23f8-23fa 24c2 25aa-25ab 25b6 25c0 "
    "25fb-25fe 2600-2604 260e 2611 2614-2615 2618 261d 2620 2622-2623 2626 262a 262e-262f 2638-263a 2640 2642 "
    "2648-2653 265f-2660 2663 2665-2666 2668 267b 267e-267f 2692-2697 2699 269b-269c 26a0-26a1 26a7 26aa-26ab "
    "26b0-26b1 26bd-26be 26c4-26c5 26c8 26ce-26cf 26d1 26d3-26d4 26e9-26ea 26f0-26f5 26f7-26fa 26fd 2702 2705 "
    "2708-270d 270f 2712 2714 2716 271d 2721 2728 2733-2734 2744 2747 274c 274e 2753-2755 2757 2763-2764 2795-2797 "
    "27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55 3030 303d 3297 3299 1f000-1faff"
)
"""What a selector or a joiner may belong to: emoji, their skin tones, and the symbols of the same blocks."""

_SELECTORS: Final = "\ufe0e\ufe0f"
_JOINER: Final = "\u200d"
_KEYCAP: Final = re.compile("[0-9#*][\ufe0e\ufe0f]\u20e3")


def _class(ranges: str) -> str:
    ends = (one.partition("-") for one in ranges.split())
    return "".join(f"\\U{int(a, 16):08x}-\\U{int(b or a, 16):08x}" for a, _, b in ends)


_HIDDEN: Final = re.compile(f"[{_class(HIDDEN)}\ud800-\udfff]")
_PICTURE: Final = re.compile(f"[{_class(PICTURES)}]")


def visible(text: str) -> tuple[str, int]:
    """`text` with every hidden character and half of a character escaped, and how many there were.

    A single selector after a picture or in a keycap stays, and so does a joiner between two pictures.
    """
    count = 0

    def shown(match: re.Match[str]) -> str:
        nonlocal count
        if _of_emoji(text, match.start()):
            return match.group()
        count += 1
        return _escaped(match.group())

    return _HIDDEN.sub(shown, text), count


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:04x}}}"


def _of_emoji(text: str, at: int) -> bool:
    if text[at] in _SELECTORS:
        return _is_picture(text, at - 1) or _KEYCAP.match(text, max(at - 1, 0)) is not None
    if text[at] != _JOINER or not _is_picture(text, at + 1):
        return False
    return _is_picture(text, at - 2 if text[max(at - 1, 0)] in _SELECTORS else at - 1)


def _is_picture(text: str, at: int) -> bool:
    return 0 <= at < len(text) and _PICTURE.match(text, at) is not None
