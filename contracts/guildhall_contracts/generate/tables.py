"""`docs/contracts.md`: every record that crosses a border, every field, its type, bounds and meaning."""

import json
from typing import Any, Final, get_args

from guildhall_contracts import events
from guildhall_contracts.base import Record
from guildhall_contracts.generate.catalogue import SECTIONS, Section, records
from guildhall_contracts.generate.descriptions import field_doc, own_fields, record_doc

_HEAD: Final = """# Contracts: every record and field

Generated from `contracts/guildhall_contracts/`; `make verify` compares. Names are as they travel. A field without
*required* may be absent; `= x` is the value it then has. Unknown fields are refused; Kubernetes prunes them.
Bounds with a name of their own are explained in [limits.md](limits.md).
"""


def contracts_md() -> str:
    """The whole page."""
    return _HEAD + "".join(_section(section) for section in SECTIONS)


def _section(section: Section) -> str:
    lines = [f"\n## {section.title}\n\n*{section.flow}*\n"]
    if events in section.modules:
        lines.append(_event_index())
    lines += [_record(model) for module in section.modules for model in records(module)]
    return "".join(lines)


def _event_index() -> str:
    union = get_args(events.KnownEvent)[0]
    rows = [
        f"| `{model.model_fields['type'].default}` | {_effect(model)} | {record_doc(model)} |"
        for model in get_args(union)
    ]
    return "\n| type | operation | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _effect(model: type[Record]) -> str:
    if issubclass(model, events.Opening):
        return "opens"
    return "belongs to `op`" if model.model_fields["op"].is_required() else "–"


def _record(model: type[Record]) -> str:
    schema = model.model_json_schema(by_alias=True)
    own = own_fields(model)
    base = next((b for b in model.__bases__ if b is not Record), None)
    title = f"\n### {model.__name__}" + (f" (and the fields of {base.__name__})" if base else "")
    text = [title, "\n", f"\n{record_doc(model)}\n" if record_doc(model) else ""]
    if own:
        text.append("\n| field | type | |\n|---|---|---|\n")
        text += [_row(model, name, schema) for name in own]
    return "".join(text)


def _row(model: type[Record], name: str, schema: dict[str, Any]) -> str:
    info = model.model_fields[name]
    wire = info.alias or name
    field = schema["properties"][wire]
    kind = _kind(field)
    if info.is_required():
        kind += ", required"
    elif isinstance(field.get("default"), (str, int, float)) and field["default"] != "":
        kind += f", = {_escaped(json.dumps(field['default']))}"
    return f"| `{wire}` | {kind} | {_escaped(field_doc(model, name))} |\n"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _kind(field: dict[str, Any]) -> str:
    """The type in words: `string ≤64`, `integer 1..10`, `list ≤16 of Role`, `"a" \\| "b"`."""
    if "anyOf" in field or "oneOf" in field:
        shapes: list[dict[str, Any]] = field.get("anyOf") or field["oneOf"]
        options = [option for option in shapes if option.get("type") != "null"]
        return " or ".join(_kind(option) for option in options)
    if "$ref" in field:
        return str(field["$ref"]).rsplit("/", 1)[-1]
    if "const" in field:
        return f"`{field['const']!r}`".replace("'", '"')
    if "enum" in field:
        return " \\| ".join(f"`{word}`" for word in field["enum"])
    return _plain(field)


def _plain(field: dict[str, Any]) -> str:
    kind = str(field.get("type", "any"))
    if kind == "array":
        return f"list{_most(field.get('maxItems'))} of {_kind(field['items'])}"
    if kind == "object":
        values: Any = field.get("additionalProperties") or next(iter(field.get("patternProperties", {}).values()), {})
        of = f" of {_kind(values)}" if isinstance(values, dict) and values else ""
        return f"map{_most(field.get('maxProperties'))}{of}"
    if kind in {"integer", "number"}:
        return kind + _range(field)
    return kind + _most(field.get("maxLength")) + (f" `{_escaped(field['pattern'])}`" if "pattern" in field else "")


def _most(bound: int | None) -> str:
    return "" if bound is None else f" ≤{bound}"


def _range(field: dict[str, Any]) -> str:
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and high is not None:
        return f" {low}..{high}"
    if "exclusiveMinimum" in field:
        return f" >{field['exclusiveMinimum']}" + ("" if high is None else f", ≤{high}")
    return "" if low is None else f" ≥{low}"
