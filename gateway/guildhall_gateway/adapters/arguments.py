"""Whether a call's arguments fit its tool. Guards a server, and whoever approves, against what nobody foresaw."""

from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.canonical import NotCanonical, canonical_json
from jsonschema import Draft202012Validator

from guildhall_gateway.adapters.schema import shown_text

NODES_MAX_COUNT: Final = 10_000
SHOWN_MAX_CHARS: Final = 300


def argument_problem(schema: dict[str, Any], arguments: dict[str, Any]) -> str | None:
    """Why arguments are refused, in words the model can act on, or None. May take a second: not for an event loop."""
    if _nodes(arguments) > NODES_MAX_COUNT:
        return f"the arguments have over {NODES_MAX_COUNT} parts, or are over {limits.EXTERNAL_JSON_MAX_DEPTH} deep"
    try:
        size = len(canonical_json(arguments))
    except NotCanonical as error:
        return shown_text(str(error), SHOWN_MAX_CHARS)
    if size > limits.TOOL_ARGUMENTS_MAX_BYTES:
        return f"the arguments are {size} bytes; at most {limits.TOOL_ARGUMENTS_MAX_BYTES} are taken"
    problem = next(Draft202012Validator(schema).iter_errors(arguments), None)
    if problem is None:
        return None
    where = ".".join(str(part) for part in problem.absolute_path) or "the arguments"
    known = ", ".join(schema.get("properties", {})) or "none"
    return shown_text(f"{where}: {problem.message[:SHOWN_MAX_CHARS]}. Known arguments: {known}", 2 * SHOWN_MAX_CHARS)


def _nodes(value: Any) -> int:
    """How many values there are; more than may be where it is too deep. Never recurses further than that."""
    count, level = 0, [value]
    for _ in range(limits.EXTERNAL_JSON_MAX_DEPTH):
        count += len(level)
        if not level or count > NODES_MAX_COUNT:
            return count
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [item for items in inner for item in items]
    return NODES_MAX_COUNT + 1 if level else count
