"""What a handler may see of another role: an index, windows, matches and hashes, each hard capped. Pure, read-only.

Guards the handler's context against a flood from a long history, and that history against being copied out through it:
no message is ever shown whole, and no reasoning at all.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.base import one_line

from guildhall_executor.messages import Message
from guildhall_executor.state import RoleRun
from guildhall_executor.tools.inspection import (
    Inspection,
    ListRoleMessages,
    ReadMessageWindow,
    RecentRoleToolCalls,
    SearchRoleBlocks,
)
from guildhall_executor.tools.result import ToolResult, block, failed

_AROUND_MATCH_CHARS: Final = 60


def looked(seen: RoleRun, asked: Inspection) -> ToolResult:
    """The answer to `asked` about `seen`, as data: what it quotes may come from the workspace."""
    match asked:
        case ListRoleMessages(first=first):
            lines = _index(seen.history, first)
        case ReadMessageWindow(first=first, count=count):
            if first > len(seen.history):
                return failed("no_such_message", f"role '{seen.role}' has {len(seen.history)} messages")
            lines = _window(seen.history, first, count)
        case SearchRoleBlocks(text=text):
            lines = _matches(seen.history, text)
        case RecentRoleToolCalls(count=count):
            lines = _calls(seen, count)
    text = "\n".join(lines) or "nothing"
    return ToolResult(blocks=[block(text[: limits.INSPECT_RESULT_MAX_CHARS], label=f"about role {seen.role}")])


def _index(history: tuple[Message, ...], first: int | None) -> list[str]:
    begin = max(len(history) - limits.INSPECT_INDEX_MAX_COUNT, 0) if first is None else first - 1
    shown = history[begin : begin + limits.INSPECT_INDEX_MAX_COUNT]
    lines = [f"{begin + place}. {_head(message)}" for place, message in enumerate(shown, 1)]
    return [f"{len(history)} messages; {len(shown)} shown", *lines]


def _head(message: Message) -> str:
    tool = f" {one_line(message.name, 40)}" if message.kind == "tool" else ""
    return f"{message.kind}{tool}{' error' if message.is_error else ''}, {len(message.body)} bytes"


def _window(history: tuple[Message, ...], first: int, count: int) -> list[str]:
    window = enumerate(history[first - 1 : first - 1 + count], first)
    return [f"{number}. {_head(message)}\n{_beginning(message)}" for number, message in window]


def _beginning(message: Message) -> str:
    text = "\n".join(_texts(message))
    cut = len(text) - limits.INSPECT_MESSAGE_MAX_CHARS
    return text if cut <= 0 else f"{text[: limits.INSPECT_MESSAGE_MAX_CHARS]}… ({cut} more characters)"


def _texts(message: Message) -> Iterator[str]:
    """What a message says: its blocks, or its text and the names of the tools it calls; never its reasoning."""
    value: dict[str, Any] = json.loads(message.body)
    yield from (str(one["text"]) for one in value.get("content", ()))
    if value.get("text"):
        yield str(value["text"])
    yield from (f"calls {one['name']} {one['arguments']}" for one in value.get("toolCalls", ()))


def _matches(history: tuple[Message, ...], text: str) -> list[str]:
    """Newest first, one line each; a message counts once."""
    wanted, lines = text.casefold(), []
    for number in range(len(history), 0, -1):
        for said in _texts(history[number - 1]):
            place = _place_of(wanted, said)
            if place is not None:
                around = said[max(place.start - _AROUND_MATCH_CHARS, 0) : place.stop + _AROUND_MATCH_CHARS]
                lines.append(f"{number}. {history[number - 1].kind}: …{one_line(around, 200)}…")
                break
        if len(lines) == limits.INSPECT_MATCHES_MAX_COUNT:
            return [*lines, "older matches are not shown"]
    return lines


def _place_of(wanted: str, said: str) -> range | None:
    """Where a folded text first stands in `said`, letter case ignored: a letter may be several once it is folded."""
    folded = said.casefold()
    at = folded.find(wanted)
    if at < 0:
        return None
    if len(folded) == len(said):  # no letter folds to none, so each stayed one
        return range(at, at + len(wanted))
    ends = list(accumulate(len(letter.casefold()) for letter in said))
    return range(bisect_right(ends, at), bisect_right(ends, at + len(wanted) - 1) + 1)


def _calls(seen: RoleRun, count: int) -> list[str]:
    return [
        f"{one_line(one.tool, 40)} arguments {one.asked} result {one.got}"
        + (f" {one.error_code}" if one.error_code else "")
        for one in seen.trace[-count:]
    ]
