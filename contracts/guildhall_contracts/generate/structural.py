"""A record as a Kubernetes structural schema: no `$ref`, no unions, every value bounded.

Guards the API server's promise that what is not in the schema is pruned: a shape this cannot express is an error here.
"""

from typing import Any, Final, get_args

from guildhall_contracts.base import Record
from guildhall_contracts.generate.descriptions import field_doc, record_doc

Schema = dict[str, Any]

EXACT_INTEGER_MAX: Final = 2**53 - 1
"""The largest integer every JSON reader keeps; the bound of counters that have no other."""

_COPIED: Final = ("type", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems",
                  "minProperties", "maxProperties")  # fmt: skip


class NotStructural(ValueError):  # noqa: N818  reads as what it says
    """A record that no structural schema can express, or with an unbounded value; the message names the path."""


def structural(model: type[Record], *, defaults: bool = True) -> Schema:
    """The structural schema of `model`. `defaults` off leaves defaults out (status: a default would have no writer)."""
    whole = model.model_json_schema(by_alias=True)
    return _Converter(whole.get("$defs", {}), defaults).record(model, whole, model.__name__)


class _Converter:
    def __init__(self, definitions: dict[str, Schema], defaults: bool) -> None:
        self._definitions = definitions
        self._defaults = defaults

    def record(self, model: type[Record], schema: Schema, path: str) -> Schema:
        properties: dict[str, Schema] = {}
        for name, info in model.model_fields.items():
            wire = info.alias or name
            converted = self.value(schema["properties"][wire], info.annotation, f"{path}.{wire}")
            text = field_doc(model, name) or converted.get("description", "")
            properties[wire] = {"description": text, **{k: v for k, v in converted.items() if k != "description"}}
        result: Schema = {"type": "object", "description": record_doc(model), "properties": properties}
        if schema.get("required"):
            result["required"] = list(schema["required"])
        return {key: value for key, value in result.items() if value != ""}

    def value(self, schema: Schema, annotation: Any, path: str) -> Schema:
        default = schema.get("default")
        schema = self._without_null(schema, path)
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1]
            converted = self.record(_record_named(annotation, name, path), self._definitions[name], path)
        elif schema.get("type") == "object":
            converted = self._map(schema, annotation, path)
        else:
            converted = self._scalar_or_list(schema, annotation, path)
        if self._defaults and default is not None and not isinstance(default, dict):
            converted["default"] = default
        return converted

    def _without_null(self, schema: Schema, path: str) -> Schema:
        if "anyOf" not in schema:
            return schema
        rest = [option for option in schema["anyOf"] if option.get("type") != "null"]
        if len(rest) != 1:
            raise NotStructural(f"{path}: a union of {len(rest)} shapes")
        return {**{k: v for k, v in schema.items() if k not in {"anyOf", "default"}}, **rest[0]}

    def _map(self, schema: Schema, annotation: Any, path: str) -> Schema:
        patterns = schema.get("patternProperties", {})
        values = schema.get("additionalProperties") or next(iter(patterns.values()), None)
        if not isinstance(values, dict) or "maxProperties" not in schema:
            raise NotStructural(f"{path}: a map without bounded, typed values")
        result: Schema = {"type": "object", "additionalProperties": self.value(values, annotation, f"{path}[]")}
        result |= {key: schema[key] for key in ("minProperties", "maxProperties") if key in schema}
        if patterns:
            names = schema.get("propertyNames", {})
            pattern, longest = next(iter(patterns)), names.get("maxLength", 253)
            result["x-kubernetes-validations"] = [
                {
                    "rule": f"self.all(key, key.size() <= {longest} && key.matches('{pattern}'))",
                    "message": f"every key matches {pattern} and has at most {longest} characters",
                }
            ]
        return result

    def _scalar_or_list(self, schema: Schema, annotation: Any, path: str) -> Schema:
        result: Schema = {key: schema[key] for key in _COPIED if key in schema}
        if "const" in schema:
            result["enum"] = [schema["const"]]
        kind = result.get("type")
        if kind == "array":
            if "maxItems" not in result:
                raise NotStructural(f"{path}: a list without a bound")
            result["items"] = self.value(schema["items"], annotation, f"{path}[]")
        elif kind == "integer":
            result["format"] = "int64"
            result.setdefault("maximum", EXACT_INTEGER_MAX)
        elif kind == "string":
            if "enum" not in result and "maxLength" not in result:
                raise NotStructural(f"{path}: a string without a bound")
        elif kind != "boolean":
            raise NotStructural(f"{path}: {schema}")
        return result


def _record_named(annotation: Any, name: str, path: str) -> type[Record]:
    """The record class called `name` somewhere inside `annotation`."""
    if isinstance(annotation, type) and issubclass(annotation, Record) and annotation.__name__ == name:
        return annotation
    for inner in get_args(annotation):
        try:
            return _record_named(inner, name, path)
        except NotStructural:
            continue
    raise NotStructural(f"{path}: {name} is not a record")
