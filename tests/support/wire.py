"""Random wire values that fit a record's JSON Schema: what another language could legally send."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from hypothesis import strategies as st
from pydantic import TypeAdapter

Schema = dict[str, Any]
_TEXT = st.text(max_size=20) | st.sampled_from(["", "\x00", "\x7f", "\u2028", "\u202e", "\U0001f600", "a\nb", "]]>"])


@cache
def wire_values(shape: Any) -> st.SearchStrategy[Any]:
    """Values for a record or a union of records."""
    schema = TypeAdapter(shape).json_schema(by_alias=True)
    return _Maker(schema.get("$defs", {})).value(schema)


@cache
def _matching(pattern: str) -> st.SearchStrategy[str]:
    return st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True)


class _Maker:
    """Strategies for one schema; each definition is made once."""

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self._definitions = definitions
        self._made: dict[str, st.SearchStrategy[Any]] = {}

    def value(self, schema: Schema) -> st.SearchStrategy[Any]:
        if "$ref" in schema:
            return self._defined(schema["$ref"].rsplit("/", 1)[-1])
        options = schema.get("anyOf") or schema.get("oneOf")
        if options:
            return st.one_of([self.value(option) for option in options])
        if "const" in schema or "enum" in schema:
            return st.sampled_from(schema.get("enum") or [schema["const"]])
        if schema.get("type") == "array":
            most = min(schema.get("maxItems", 2), max(schema.get("minItems", 0), 2))
            return st.lists(self.value(schema["items"]), min_size=schema.get("minItems", 0), max_size=most)
        return self._object(schema) if schema.get("type") == "object" else _scalar(schema)

    def _defined(self, name: str) -> st.SearchStrategy[Any]:
        if name not in self._made:
            self._made[name] = st.deferred(lambda: self._made[f"{name} itself"])
            self._made[f"{name} itself"] = self.value(self._definitions[name])
        return self._made[name]

    def _object(self, schema: Schema) -> st.SearchStrategy[Any]:
        if "properties" not in schema:
            return self._map(schema)
        properties = {name: self.value(inner) for name, inner in schema["properties"].items()}
        required = set(schema.get("required", []))
        required |= {name for name, inner in schema["properties"].items() if "const" in inner}
        return st.fixed_dictionaries(
            {name: value for name, value in properties.items() if name in required},
            optional={name: value for name, value in properties.items() if name not in required},
        )

    def _map(self, schema: Schema) -> st.SearchStrategy[Any]:
        inner: Any = schema.get("additionalProperties")
        keys: st.SearchStrategy[str] = st.text("abcdefgh", min_size=1, max_size=5)
        if "patternProperties" in schema:
            pattern, inner = next(iter(schema["patternProperties"].items()))
            longest = schema.get("propertyNames", {}).get("maxLength", 40)
            keys = _matching(pattern).filter(lambda key: len(key) <= longest)
        values = self.value(inner) if isinstance(inner, dict) else _scalar({})
        return st.dictionaries(keys, values, min_size=schema.get("minProperties", 0), max_size=2)


def _scalar(schema: Schema) -> st.SearchStrategy[Any]:
    kind = schema.get("type")
    if kind == "null":
        return st.none()
    if kind == "boolean":
        return st.booleans()
    if kind == "integer":
        return st.integers(schema.get("minimum", 0), schema.get("maximum", 2**53 - 1))
    if kind == "number":
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 0.5)
        return st.floats(low, schema.get("maximum", 1e6), allow_nan=False)
    if kind != "string":
        return st.none() | st.booleans() | st.integers(-9, 9) | _TEXT
    longest, shortest = schema.get("maxLength", 10**9), schema.get("minLength", 0)
    padded = _TEXT.map(lambda text: text.ljust(shortest, "x"))
    pattern = schema.get("pattern", "")
    found = _matching(pattern) if pattern.endswith("$") else padded
    if pattern and not pattern.endswith("$"):
        found = _matching(pattern).map(lambda start: f"{start}place.example/x")
    return found.filter(lambda text: shortest <= len(text) <= longest)
