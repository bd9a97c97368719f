"""Takes a secret out of what a server said. Guards a token that is said back in another spelling. Pure, and linear.

Known are the spellings that programs make by themselves: as it is, with JSON's escapes (also in JSON inside JSON),
percent-encoded, as HTML references; in base64 (any alignment, either alphabet) or hexadecimal, escaped or not.
"""

import base64
import re
from typing import Any, Final

from guildhall_contracts.limits import TOKEN_ENCODED_MIN_BYTES

MARK: Final = "(token left out)"
_ESCAPE: Final = re.compile(
    r"\\+u00([0-9A-Fa-f]{2})|\\+|%(?:25)*([0-9A-Fa-f]{2})|&#([0-9]{1,3});|&#[xX]([0-9A-Fa-f]{1,2});|&(amp|lt|gt|quot);"
)
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"'}
BACKSLASH: Final = chr(92)
_STANDARD: Final = str.maketrans("-_", "+/")
_Spans = list[tuple[int, int]]


class Redactor:
    """Knows one secret; `redact` gives values without it. An empty secret is nowhere."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._plain = _unescaped(secret)
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
        if not self._plain:  # nothing but backslashes
            return text.replace(self._secret, MARK)
        found = self._found(_unescaped(text))
        letters = _letters(text) if found else []
        pieces, end = [], 0
        for first, after in _joined(found):
            pieces += [text[end : letters[first][0]], MARK]
            end = letters[after - 1][1]
        return "".join((*pieces, text[end:]))

    def _found(self, plain: str) -> _Spans:
        """Where spellings of the secret stand in an unescaped text."""
        spans = _places(plain, self._plain)
        if self._hex:
            standard, lower = plain.translate(_STANDARD), plain.lower()
            spans += [span for core in self._base64 for span in _places(standard, core)]
            spans += _places(lower, self._hex) if len(lower) == len(plain) else []
        return spans


def _core(data: bytes, offset: int) -> str:
    """What every base64 has of `data` that begins `offset` bytes into a group of three."""
    text = base64.b64encode(bytes(offset) + data).decode()
    return text[-(-8 * offset // 6) : 8 * (offset + len(data)) // 6]


def _letter(match: re.Match[str]) -> str:
    """What an escape stands for; a backslash, however it is written, stands for nothing: nobody can tell its depth."""
    code = match[1] or match[2] or match[4]
    number = int(code, 16) if code else int(match[3] or 0)
    found = chr(number) if number else _NAMED.get(match[5] or "", "")
    return "" if found == BACKSLASH else found


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_letter, text)


def _letters(text: str) -> _Spans:
    """For each letter of the unescaped text, from where to where it is written in `text`."""
    spans: _Spans = []
    end = 0
    for match in _ESCAPE.finditer(text):
        spans += [(at, at + 1) for at in range(end, match.start())]
        spans += [match.span()] * len(_letter(match))
        end = match.end()
    return spans + [(at, at + 1) for at in range(end, len(text))]


def _places(text: str, wanted: str) -> _Spans:
    spans: _Spans = []
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        spans.append((start, start + len(wanted)))
        start = text.find(wanted, start + len(wanted))
    return spans


def _joined(spans: _Spans) -> _Spans:
    """In order, and those that overlap as one."""
    out: _Spans = []
    for start, stop in sorted(spans):
        if out and start < out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], stop)
        else:
            out.append((start, stop))
    return out
