"""What a server answered as plain, bounded, labelled text. Pure and total.

Guards the context against results without end, binary, hidden characters, remarks that look like ours, and values that
are no JSON: nothing that comes out of here is alive, long or an instruction.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.content import Block
from guildhall_contracts.visible import visible

PARTS_MAX_COUNT: Final = 64
LINKS_MAX_CHARS: Final = 300
ITEMS_MAX_COUNT: Final = 10_000
NUMBER_MAX_BITS: Final = 256


def label_of(connection: str, part: str) -> str:
    """How results are labelled, in the context and for people."""
    return f"external content: connection {connection}, tool {part}"


def result_block(text: str, label: str) -> tuple[Block, int]:
    """The text as a block of data and the bytes left out of its middle."""
    shown, omitted = bounded(
        visible(text)[0].replace("[guildhall: ", "[ guildhall: "), limits.EXTERNAL_RESULT_MAX_BYTES
    )
    return Block(text=shown or "(no content)", origin="tool", authority="data", label=label), omitted


def result_text(content: Sequence[Any], structured: Any) -> str:
    """All parts of a result as one text; structured content where there is no text."""
    parts = [_part(part) for part in content[:PARTS_MAX_COUNT]]
    if len(content) > PARTS_MAX_COUNT:
        parts.append(f"({len(content) - PARTS_MAX_COUNT} further parts left out)")
    has_text = any(isinstance(part, Mapping) and part.get("type") == "text" for part in content)
    if structured is not None and not has_text:
        parts.append(json_text(structured))
    return "\n".join(parts)


def _part(part: Any) -> str:
    if not isinstance(part, Mapping):
        return "(a part that is no object left out)"
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        return str(part["text"])
    if kind in ("image", "audio"):
        size = len(str(part.get("data", "")))
        return f"({kind} left out: {_short(part.get('mimeType'))}, {size} characters of base64)"
    if kind == "resource_link":
        return f"(link: {_short(part.get('uri'))} {_short(part.get('name'))})"
    resource = part.get("resource")
    return _resource(resource) if isinstance(resource, Mapping) else f"(a part of kind {_short(kind)} left out)"


def _resource(resource: Mapping[str, Any]) -> str:
    name = _short(resource.get("uri"))
    text = resource.get("text")
    return f"(resource {name})\n{text}" if isinstance(text, str) else f"(binary resource left out: {name})"


def _short(value: Any) -> str:
    return " ".join(str(value or "").split())[:LINKS_MAX_CHARS]


def json_text(value: Any) -> str:
    """A value as JSON with sorted keys: depth and number of items bounded, what is no JSON as text."""
    return json.dumps(_plain(value, 0, [ITEMS_MAX_COUNT]), ensure_ascii=False, sort_keys=True)


def _plain(value: Any, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if depth > limits.EXTERNAL_JSON_MAX_DEPTH or left[0] < 0:
        return "(left out)"
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1, left) for key, item in value.items() if left[0] >= 0}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1, left) for item in value if left[0] >= 0]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and value.bit_length() > NUMBER_MAX_BITS:
        return "(a number left out)"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)[:LINKS_MAX_CHARS]


def bounded(text: str, limit_bytes: int) -> tuple[str, int]:
    """The text with its middle left out where it is too long, and how many bytes that were."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit_bytes:
        return text, 0
    half = limit_bytes // 2 - 64
    head, tail = data[:half].decode("utf-8", "ignore"), data[-half:].decode("utf-8", "ignore")
    omitted = len(data) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[guildhall: {omitted} bytes left out here]\n{tail}", omitted
