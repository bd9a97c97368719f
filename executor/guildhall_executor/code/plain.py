"""Values that leave the interpreter, as JSON. Guards against what is not data: bounded copies, never objects."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

DEPTH_MAX: Final = 32
ITEMS_MAX_COUNT: Final = 200_000
PIECE_MAX_CHARS: Final = 16 * 1024
ERROR_MAX_BYTES: Final = 8 * 1024
ARGUMENTS_MAX_BYTES: Final = 768 * 1024  # within what a frame to the host takes
_INTEGER_MAX_BITS: Final = 4_096


class NotPlain(ValueError):  # noqa: N818  reads as what it says
    """The value is no JSON, or too much of it; the message is for who wrote the code."""


def to_json(value: Any, max_bytes: int) -> str:
    """`value` as JSON text of at most `max_bytes`. Raises NotPlain."""
    text = json.dumps(_Copier().copy(value, DEPTH_MAX), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if len(text) > max_bytes:
        raise NotPlain(f"it is {len(text)} bytes of JSON; at most {max_bytes} are taken")
    return text


def arguments(name: str, parameters: Sequence[str], positional: Sequence[Any], named: Mapping[str, Any]) -> str:
    """A call's arguments as one JSON object, as a model would have written it. Raises TypeError and NotPlain."""
    if len(positional) > len(parameters):
        raise TypeError(f"{name}() takes {len(parameters)} arguments: {', '.join(parameters)}")
    by_place = dict(zip(parameters, positional, strict=False))
    twice = by_place.keys() & named.keys()
    if twice:
        raise TypeError(f"{name}() got several values for '{min(twice)}'")
    return to_json({**by_place, **named}, ARGUMENTS_MAX_BYTES)


class _Copier:
    def __init__(self) -> None:
        self._room = ITEMS_MAX_COUNT

    def copy(self, value: Any, depth: int) -> Any:
        self._room -= 1
        if self._room < 0:
            raise NotPlain(f"it has more than {ITEMS_MAX_COUNT} items")
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is int:
            return self._integer(value)
        if type(value) is float:
            return self._float(value)
        if depth == 0:
            raise NotPlain(f"it is more than {DEPTH_MAX} deep")
        if type(value) in (list, tuple):
            return [self.copy(one, depth - 1) for one in value]
        if type(value) is dict:
            return {self._key(key): self.copy(one, depth - 1) for key, one in value.items()}
        raise NotPlain(f"{type(value).__name__} is no JSON; use None, bool, numbers, str, list and dict")

    @staticmethod
    def _integer(value: int) -> int:
        if value.bit_length() > _INTEGER_MAX_BITS:
            raise NotPlain(f"a number of {value.bit_length()} bits; at most {_INTEGER_MAX_BITS} are taken")
        return value

    @staticmethod
    def _float(value: float) -> float:
        if not math.isfinite(value):
            raise NotPlain("inf and nan are no JSON")
        return value

    @staticmethod
    def _key(key: Any) -> str:
        if type(key) is not str:
            raise NotPlain(f"a key of type {type(key).__name__}; JSON has only str keys")
        return key


def tail(text: str, max_bytes: int) -> str:
    """The end of `text`, which is where a traceback says what happened."""
    return text.encode("utf-8", "replace")[-max_bytes:].decode("utf-8", "ignore")
