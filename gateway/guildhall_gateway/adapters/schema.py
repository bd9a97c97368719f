"""A server's JSON Schema as a model may be shown it and arguments are checked by it. Pure.

Guards against schemas that are large, deep, endless or slow: references are put in place and counted, patterns dropped
(they are programs), and every text in it is cut and escaped.
"""

import json
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.base import one_line
from guildhall_contracts.visible import visible

NODES_MAX_COUNT: Final = 400
TEXT_MAX_CHARS: Final = 300
ENUM_MAX_COUNT: Final = 100
_NUMBERS: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"}
)
_TYPES: Final = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})


class UnusableSchema(ValueError):  # noqa: N818  reads as what it says
    """Why a schema cannot be offered; the message is for whoever made the Connection."""


def shown_text(text: object, limit: int = TEXT_MAX_CHARS) -> str:
    """A server's words on one line, hidden characters escaped, cut; anything but text is empty."""
    return one_line(visible(text[: 4 * limit])[0], limit) if isinstance(text, str) else ""


def sound_schema(raw: object) -> dict[str, Any]:
    """The schema of an object, self-contained and bounded. Raises UnusableSchema."""
    if not isinstance(raw, dict):
        raise UnusableSchema("its schema is not an object")
    found = _Copier(raw).value(raw, 0, ())
    if found.setdefault("type", "object") != "object":
        raise UnusableSchema("its schema does not describe an object")
    found.setdefault("properties", {})
    if len(json.dumps(found)) > limits.EXTERNAL_SCHEMA_MAX_BYTES:
        raise UnusableSchema(f"its schema is over {limits.EXTERNAL_SCHEMA_MAX_BYTES} bytes")
    return found


class _Copier:
    """Copies what is known of a schema and counts as it goes; what is not known is left out."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def value(self, raw: object, depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        self._nodes += 1
        if self._nodes > NODES_MAX_COUNT:
            raise UnusableSchema(f"its schema has over {NODES_MAX_COUNT} parts")
        if depth > limits.EXTERNAL_SCHEMA_MAX_DEPTH:
            raise UnusableSchema(f"its schema is over {limits.EXTERNAL_SCHEMA_MAX_DEPTH} deep")
        if not isinstance(raw, dict):
            return {}
        reference = raw.get("$ref")
        if isinstance(reference, str):
            return self._referred(reference, depth, inside)
        return self._plain(raw) | self._nested(raw, depth, inside)

    def _referred(self, reference: str, depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        """What a reference names, in its place. One that names itself, or another document, allows anything."""
        if reference in inside or not reference.startswith("#/"):
            return {}
        found: object = self._root
        for part in reference[2:].split("/")[:8]:
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        return self.value(found, depth + 1, (*inside, reference))

    def _plain(self, raw: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {
            key: raw[key] for key in _NUMBERS if isinstance(raw.get(key), int | float) and abs(raw[key]) < 2**53
        }
        types = raw.get("type")
        listed = [types] if isinstance(types, str) else types if isinstance(types, list) else []
        known = [one for one in listed if isinstance(one, str) and one in _TYPES]
        if known:
            kept["type"] = known[0] if len(known) == 1 else known
        for key in ("description", "format"):
            if shown_text(raw.get(key)):
                kept[key] = shown_text(raw[key])
        if isinstance(raw.get("enum"), list):
            kept["enum"] = [_scalar(one) for one in raw["enum"][:ENUM_MAX_COUNT]]
        for key in ("const", "default"):
            if key in raw and isinstance(raw[key], str | int | bool):
                kept[key] = _scalar(raw[key])
        return kept

    def _nested(self, raw: dict[str, Any], depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        properties = raw.get("properties")
        if isinstance(properties, dict):
            kept["properties"] = {
                _name(key): self.value(item, depth + 1, inside) for key, item in list(properties.items())
            }
            required = raw.get("required")
            listed = required if isinstance(required, list) else []
            kept["required"] = [name for name in kept["properties"] if name in listed]
        if isinstance(raw.get("items"), dict):
            kept["items"] = self.value(raw["items"], depth + 1, inside)
        extra = raw.get("additionalProperties")
        if isinstance(extra, bool | dict):
            kept["additionalProperties"] = extra if isinstance(extra, bool) else self.value(extra, depth + 1, inside)
        elif "properties" in kept:
            kept["additionalProperties"] = False  # what the server does not name, a model has no reason to send
        for key in ("anyOf", "oneOf", "allOf"):
            if isinstance(raw.get(key), list):
                kept["anyOf" if key == "oneOf" else key] = [self.value(one, depth + 1, inside) for one in raw[key]]
        return kept


def _name(key: object) -> str:
    if not isinstance(key, str) or not key or len(key) > 64 or visible(key)[1]:
        raise UnusableSchema("an argument's name is empty, over 64 characters or has hidden ones")
    return key


def _scalar(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str) and len(value) <= TEXT_MAX_CHARS and not visible(value)[1]:
        return value
    raise UnusableSchema("a value in an enumeration is no short, plain text or number")
