"""What is sent of a Run: pages, models, streams; composed from stored bytes, bounded in bytes as well as in count."""

import json
from collections.abc import Sequence
from typing import Any, Final

from guildhall_contracts.events import Unreadable

from guildhall_api.history import History
from guildhall_api.hub import Cursor, Item, row_line
from guildhall_api.live import LiveRun, fold_stored, model_json
from guildhall_api.services import FoundRun

PAGE_MAX_BYTES: Final = 4 * 1024 * 1024
SLIM_ABOVE_COUNT: Final = 2_000
_STEP_COUNT: Final = 64

Lines = list[tuple[int, bytes]]


async def page_lines(history: History, key: int, after: int, limit: int) -> Lines:
    """Up to `limit` lines after `after`, and no more bytes than a page holds (but one line at least)."""
    lines: Lines = []
    size = 0
    while len(lines) < limit:
        step = await history.lines(key, after, min(_STEP_COUNT if size else limit, limit - len(lines), 256))
        for seq, line in step:
            size += len(line)
            if lines and size > PAGE_MAX_BYTES:
                return lines
            lines.append((seq, line))
        if not step:
            break
        after = step[-1][0]
    return lines


def merged(lines: Lines, rows: Sequence[tuple[int, Unreadable]], seen: Cursor) -> list[Item]:
    """Events and unreadable rows in the order they stood, each with the cursor after it."""
    items: list[Item] = []
    at, waiting = seen, list(rows)
    for seq, line in lines:
        while waiting and waiting[0][1].after < seq:
            at = Cursor(at.seq, waiting[0][0])
            items.append(Item(at, row_line(waiting.pop(0)[1])))
        at = Cursor(seq, at.rows)
        items.append(Item(at, line))
    for ordinal, row in waiting:
        at = Cursor(at.seq, ordinal)
        items.append(Item(at, row_line(row)))
    return items


async def items_after(history: History, key: int, seen: Cursor, limit: int) -> list[Item]:
    """The next events and rows of a stream."""
    lines = await page_lines(history, key, seen.seq, limit)
    rows = await history.rows(key, seen.rows, limit)
    if len(rows) == limit:  # more may stand where the last of these stood: what is after that waits
        lines = [each for each in lines if each[0] <= rows[-1][1].after]
    if lines:  # rows after the last line may be followed by lines of the next page
        rows = [each for each in rows if each[1].after < lines[-1][0]]
    return merged(lines, rows, seen)


def page_json(lines: Lines, rows: Sequence[Unreadable], last: int, *, end: bool) -> bytes:
    """An EventsPage."""
    head = json.dumps({"unreadable": [row.to_wire() for row in rows], "last": last, "end": end})
    return b'{"events":[' + b",".join(line for _, line in lines) + b"]," + head[1:].encode("ascii")


async def model_bytes(history: History, found: FoundRun, *, full: bool) -> bytes:
    """The model's JSON as far as it is stored; a large one without the operations' prose unless `full`."""
    slim_above = None if full else SLIM_ABOVE_COUNT
    if found.sealed:
        kept = await history.snapshot(found.stored.key, slim_above=slim_above)
        if kept is not None:
            return kept
    if found.live is not None:
        return _live_bytes(found.live, slim_above)
    model = await fold_stored(history, found.stored.key, found.stored.unreadable)
    return model_json(model, slim=slim_above is not None and len(model.operations) > slim_above)


def _live_bytes(live: LiveRun, slim_above: int | None) -> bytes:
    """A live model's JSON, written once for all who ask between two events."""
    slim = slim_above is not None and len(live.model.operations) > slim_above
    known = live.written.get(slim)
    if known is None or known[0] is not live.model or known[1] != live.cursor:
        known = live.written[slim] = (live.model, live.cursor, model_json(live.model, slim=slim))
    return known[2]


async def run_wire(history: History, found: FoundRun) -> dict[str, Any]:
    """`InteractionModel.run` alone."""
    if found.live is not None and not found.live.sealed:
        return found.live.run_wire or found.live.model.run_to_wire()
    kept = await history.snapshot_run(found.stored.key)
    if kept is not None:
        return kept
    return (await fold_stored(history, found.stored.key, found.stored.unreadable)).run_to_wire()
