"""A server's JSON Schema as a model may be shown it and arguments are checked by it. Pure.

Guards against schemas that are large, deep, endless or slow: references are put in place and counted, patterns dropped
(they are programs), and every text in it is cut and escaped.
"""

import json
from collections.abc import Iterable
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
_COMPOSE: Final = ("allOf", "anyOf", "oneOf")
_OWN: Final = frozenset({"properties", "additionalProperties", "patternProperties"})
_BESIDE: Final = _OWN | {*_COMPOSE, "required", "if", "then", "else", "dependentSchemas"}

Names = dict[str, dict[str, Any]] | None
"""The properties that schemas of one object name, each with its type; None where any may be there."""


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
    """Copies what is known of a schema and counts as it goes; what is not known is left out.

    What the server does not name, a model has no reason to send: an object is closed. Of several schemas that compose
    one object none is closed by itself, for it would refuse what the others name; the object is, by what all name.
    """

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def value(self, raw: object, depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        """The schema of a value, closed."""
        return self._copied(raw, depth, inside, alone=True)[0]

    def _copied(self, raw: object, depth: int, inside: tuple[str, ...], *, alone: bool) -> tuple[dict[str, Any], Names]:
        """A schema, and what it names. `alone`: it speaks of no object that others speak of too, and is closed."""
        self._nodes += 1
        if self._nodes > NODES_MAX_COUNT:
            raise UnusableSchema(f"its schema has over {NODES_MAX_COUNT} parts")
        if depth > limits.EXTERNAL_SCHEMA_MAX_DEPTH:
            raise UnusableSchema(f"its schema is over {limits.EXTERNAL_SCHEMA_MAX_DEPTH} deep")
        if not isinstance(raw, dict):
            return {}, None
        reference = raw.get("$ref")
        if isinstance(reference, str):
            if not _BESIDE & raw.keys():
                return self._referred(reference, depth, inside, alone=alone)
            raw = _resolved_later(raw, reference)
        parts = _parts(raw)
        lonely = alone and _speakers(raw, parts) < 2
        copies = [(key, *self._copied(part, depth + 1, inside, alone=lonely)) for key, part in parts]
        kept = self._plain(raw) | self._members(raw, depth, inside) | _composition(copies)
        names = _own_names(raw, kept) if lonely else _all_names([_own_names(raw, kept), *(n for *_, n in copies)])
        return (_closed(kept, names) if alone else kept), names

    def _referred(
        self, reference: str, depth: int, inside: tuple[str, ...], *, alone: bool
    ) -> tuple[dict[str, Any], Names]:
        """What a reference names, in its place. One that names itself, or another document, allows anything."""
        if reference in inside or not reference.startswith("#/"):
            return {}, None
        found: object = self._root
        for part in reference[2:].split("/")[:8]:
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        return self._copied(found, depth + 1, (*inside, reference), alone=alone)

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

    def _members(self, raw: dict[str, Any], depth: int, inside: tuple[str, ...]) -> dict[str, Any]:
        """What is said of properties and items: values of their own."""
        kept: dict[str, Any] = {}
        properties, required = raw.get("properties"), raw.get("required")
        if isinstance(properties, dict):
            kept["properties"] = {
                _name(key): self.value(item, depth + 1, inside) for key, item in list(properties.items())
            }
        listed = [_name(name) for name in required if isinstance(name, str)] if isinstance(required, list) else []
        if listed or "properties" in kept:
            kept["required"] = listed
        if isinstance(raw.get("items"), dict):
            kept["items"] = self.value(raw["items"], depth + 1, inside)
        extra = self._further(raw, depth, inside)
        return kept if extra is None else kept | {"additionalProperties": extra}

    def _further(self, raw: dict[str, Any], depth: int, inside: tuple[str, ...]) -> dict[str, Any] | bool | None:
        """What a property may be that is not named; None where nothing is said. Patterns are dropped: which names they
        mean is not known, what they want of them is."""
        extra, patterns = raw.get("additionalProperties"), raw.get("patternProperties")
        wanted = list(patterns.values()) if isinstance(patterns, dict) else []
        if extra is True or not (wanted or isinstance(extra, bool | dict)):
            return True if extra is True else None
        wanted += [extra] if isinstance(extra, dict) else []
        copied = [self.value(one, depth + 1, inside) for one in wanted]
        return {"anyOf": copied} if len(copied) > 1 else copied[0] if copied else False


def _parts(raw: dict[str, Any]) -> list[tuple[str, object]]:
    """The schemas that speak of the same value as this one, with the word that joins them to it."""
    found = [(key, one) for key in _COMPOSE for one in (raw[key] if isinstance(raw.get(key), list) else ())]
    dependent = raw.get("dependentSchemas")
    found += [("dependentSchemas", one) for one in (dependent.values() if isinstance(dependent, dict) else ())]
    return found + [(key, raw[key]) for key in ("if", "then", "else") if key in raw]


def _speakers(raw: dict[str, Any], parts: list[tuple[str, object]]) -> int:
    """How many may speak of one object at once: of `oneOf` only one does."""
    words = [key for key, part in parts if not _is_no_object(part)]
    exclusive = words.count("oneOf")
    return len(words) - max(exclusive - 1, 0) + bool(_OWN & raw.keys())


def _is_no_object(raw: object) -> bool:
    """Whether a schema speaks of other values alone, as the null beside an object that may be missing."""
    types = raw.get("type", "object") if isinstance(raw, dict) else "object"
    return "object" not in (types if isinstance(types, list) else [types])


def _resolved_later(raw: dict[str, Any], reference: str) -> dict[str, Any]:
    """What stands beside a reference holds as well."""
    rest = {key: item for key, item in raw.items() if key != "$ref"}
    listed = rest.get("allOf")
    return rest | {"allOf": [*(listed if isinstance(listed, list) else []), {"$ref": reference}]}


def _composition(copies: list[tuple[str, dict[str, Any], Names]]) -> dict[str, Any]:
    """`oneOf` counts as `anyOf`, which more providers take; where a schema has both, both hold. Conditions are dropped:
    what they name is known, and no more is."""
    lists = {key: [part for of, part, _ in copies if of == key] for key in _COMPOSE}
    alternatives = [one for one in (lists["anyOf"], lists["oneOf"]) if one]
    all_of = lists["allOf"] + [{"anyOf": one} for one in alternatives[1:]]
    return ({"anyOf": alternatives[0]} if alternatives else {}) | ({"allOf": all_of} if all_of else {})


def _own_names(raw: dict[str, Any], kept: dict[str, Any]) -> Names:
    others = raw.get("unevaluatedProperties")
    if kept.get("additionalProperties", False) is not False or others is True or isinstance(others, dict):
        return None
    properties = kept.get("properties", {})
    return {name: {"type": part["type"]} if "type" in part else {} for name, part in properties.items()}


def _all_names(several: Iterable[Names]) -> Names:
    union: dict[str, dict[str, Any]] = {}
    for names in several:
        if names is None:
            return None
        for name, kind in names.items():
            union[name] = kind if union.get(name, kind) == kind else {}
    return union


def _closed(kept: dict[str, Any], names: Names) -> dict[str, Any]:
    """An object takes what is named and nothing else, unless its server says otherwise or nobody can know."""
    if names is None or "additionalProperties" in kept or not ("properties" in kept or names):
        return kept
    properties = {name: {} for name in kept.get("required", ())} | names | kept.get("properties", {})
    return kept | {"properties": properties, "additionalProperties": False}


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
