"""Takes a secret out of what a server said. Guards a token that is said back in another spelling. Pure, and linear.

Known are the spellings that programs make by themselves: as it is, with JSON's escapes (also in JSON inside JSON),
percent-encoded, as HTML references; in base64 (any alignment, either alphabet, wrapped in lines) or hexadecimal,
escaped or not. THREAT_MODEL.md says which are not.
"""

import base64
import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, Final

from guildhall_contracts.limits import TOKEN_ENCODED_MIN_BYTES, TOKEN_PLACES_MAX_COUNT

MARK: Final = "(token left out)"
PART_CHARS: Final = 16_384
_ESCAPE: Final = re.compile(
    r"\\+(?:(?:u00|x)([0-9A-Fa-f]{2})|u\{0*([0-9A-Fa-f]{1,2})\}|([nrt])|)|%(?:25){0,8}([0-9A-Fa-f]{2})"
    r"|&(?:amp;){0,8}(?:#0*([0-9]{1,3})|#[xX]0*([0-9A-Fa-f]{1,2})|(amp|lt|gt|quot|apos));"
)
_CUT: Final = re.compile(r"[%&]|(?<!\\)\\")  # never inside an escape
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
BACKSLASH: Final = chr(92)
# An escaped line end is a letter to who looks for the token, and nothing to who looks for its base64.
_WRITTEN: Final = {"n": "\x0e", "r": "\x0f", "t": "\x10"}
_BLANK: Final = (" ", "\n", "\r", "\t", *_WRITTEN.values())
_BLANKS: Final = re.compile("[" + "".join(_BLANK) + "]+")
_Spans = list[tuple[int, int]]
_Changes = Callable[[str], Iterable[tuple[int, int, int]]]
_Parts = list[tuple[int, int]]
"""Where each part begins: in the text as it was made, and in the text it was made of."""


class _Flood(Exception):  # noqa: N818  reads as what it is
    """A text that holds the secret oftener than a text may: all of it is left out."""


class Redactor:
    """Knows one secret; `redact` gives values without it. An empty secret is nowhere."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._plain = _letters(_unescaped(secret)[0])
        data = secret.encode()
        data = data if len(data) >= TOKEN_ENCODED_MIN_BYTES else b""
        self._base64 = [core for offset in range(3) if (core := _core(data, offset))]
        self._hex = data.hex()

    def redact(self, value: Any) -> Any:
        """A JSON value with the mark wherever a text or a key held the secret."""
        if not self._secret:
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self.redact(key): self.redact(each) for key, each in value.items()}
        return [self.redact(each) for each in value] if isinstance(value, list) else value

    def _text(self, text: str) -> str:
        try:
            spans = self._spans(text)
        except _Flood:
            return MARK
        pieces, end = [], 0
        for start, stop in _joined(spans):
            pieces += [text[end:start], MARK]
            end = stop
        return "".join((*pieces, text[end:])) if pieces else text

    def _spans(self, text: str) -> _Spans:
        """Where the secret is written. Raises _Flood."""
        spans = _places(text, self._secret)
        if not self._plain:  # nothing but backslashes
            return spans
        plain, parts = _unescaped(text)
        return spans + _mapped(text, parts, self._found(plain), _escapes)

    def _found(self, plain: str) -> _Spans:
        """The same in an unescaped text."""
        letters = _letters(plain)
        spans = _places(letters, self._plain)
        if not self._hex:
            return spans
        spans += self._encoded(letters)
        dense, parts = _in_parts(plain, _starts(plain), _dense)
        if len(dense) == len(plain):
            return spans
        return spans + _mapped(plain, parts, self._encoded(dense), _blanks)

    def _encoded(self, text: str) -> _Spans:
        standard = text.replace("-", "+").replace("_", "/")
        spans = [span for core in self._base64 for span in _places(standard, core)]
        for letter in "ABCDEF":
            text = text.replace(letter, letter.lower())
        return spans + _places(text, self._hex)


def _core(data: bytes, offset: int) -> str:
    """What every base64 has of `data` that begins `offset` bytes into a group of three."""
    text = base64.b64encode(bytes(offset) + data).decode()
    return text[-(-8 * offset // 6) : 8 * (offset + len(data)) // 6]


def _letter(match: re.Match[str]) -> str:
    """What an escape stands for; a backslash, however it is written, stands for nothing: nobody can tell its depth."""
    group = match.lastindex
    if group is None:
        return ""
    told = match[group]
    if group == 3:
        return _WRITTEN[told]
    if group == 7:
        return _NAMED[told]
    found = chr(int(told, 10 if group == 5 else 16))
    return "" if found == BACKSLASH else found


def _starts(text: str) -> Iterable[int]:
    return range(0, len(text), PART_CHARS)


def _cuts(text: str) -> Iterable[int]:
    """Where a text can be cut without cutting an escape."""
    at = 0
    while at < len(text):
        yield at
        match = _CUT.search(text, at + PART_CHARS)
        at = match.start() if match else len(text)


def _in_parts(text: str, starts: Iterable[int], make: Callable[[str], str]) -> tuple[str, _Parts]:
    """`make` of each part, joined; in parts, so that an end can be found again without a number for each letter."""
    at = [*starts, len(text)]
    made, parts, length = [], [], 0
    for start, stop in pairwise(at):
        made.append(make(text[start:stop]))
        parts.append((length, start))
        length += len(made[-1])
    return "".join(made), [*parts, (length, len(text))]


def _unescaped(text: str) -> tuple[str, _Parts]:
    return _in_parts(text, _cuts(text), lambda part: _ESCAPE.sub(_letter, part))


def _letters(plain: str) -> str:
    for letter, written in _WRITTEN.items():
        plain = plain.replace(written, letter)
    return plain


def _dense(text: str) -> str:
    for blank in _BLANK:
        text = text.replace(blank, "")
    return text


def _places(text: str, wanted: str) -> _Spans:
    spans: _Spans = []
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        if len(spans) == TOKEN_PLACES_MAX_COUNT:
            raise _Flood
        spans.append((start, start + len(wanted)))
        start = text.find(wanted, start + len(wanted))
    return spans


def _escapes(part: str) -> Iterable[tuple[int, int, int]]:
    """Each escape of a part: from where to where it is written, and how many letters it stands for."""
    return ((*match.span(), len(_letter(match))) for match in _ESCAPE.finditer(part))


def _blanks(part: str) -> Iterable[tuple[int, int, int]]:
    return ((match.start(), match.end(), 0) for match in _BLANKS.finditer(part))


def _mapped(text: str, parts: _Parts, spans: _Spans, changes: _Changes) -> _Spans:
    """Spans of a text made of `text`, as spans of `text`. Walks again only the parts that hold an end."""
    wanted = sorted({end for start, stop in spans for end in (start, stop - 1)})
    told: dict[int, tuple[int, int]] = {}
    at = 0
    for (made, start), (made_after, after) in pairwise(parts):
        first = at
        while at < len(wanted) and wanted[at] < made_after:
            at += 1
        if at > first:
            told |= _walked(wanted[first:at], made, start, after, changes(text[start:after]))
    return [(told[start][0], told[stop - 1][1]) for start, stop in spans]


def _walked(
    wanted: list[int], made: int, start: int, after: int, changes: Iterable[tuple[int, int, int]]
) -> dict[int, tuple[int, int]]:
    """Where the wanted letters of one part are written; it begins at `made` and `start`, and ends at `after`."""
    told: dict[int, tuple[int, int]] = {}
    left = iter((*wanted, -1))
    letter, at = next(left), start
    for first, last, count in (*changes, (after - start, after - start, 0)):
        while 0 <= letter < made + (start + first - at):
            told[letter] = (at + letter - made, at + letter - made + 1)
            letter = next(left)
        made += start + first - at
        if count and letter == made:
            told[letter] = (start + first, start + last)
            letter = next(left)
        made, at = made + count, start + last
    return told


def _joined(spans: _Spans) -> _Spans:
    """In order, and those that overlap as one."""
    out: _Spans = []
    for start, stop in sorted(spans):
        if out and start < out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], stop)
        else:
            out.append((start, stop))
    return out
