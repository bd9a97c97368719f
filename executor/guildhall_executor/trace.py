"""What a role's calls came to, as hashes: enough to see it go in circles, too little to say what it read. Pure."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from guildhall_contracts import limits

_HASH_CHARS: Final = 16
Trouble = Literal["loop", "stuck"]


@dataclass(frozen=True, slots=True)
class Traced:
    """One call that has its result. `asked` is a hash of tool and arguments, `got` one of the result."""

    tool: str
    asked: str
    got: str
    error_code: str | None = None


def traced(tool: str, arguments: str, result: str, error_code: str | None) -> Traced:
    """A call of `tool` with `arguments` that came to `result`."""
    return Traced(tool, _hash(f"{tool}\0{arguments}"), _hash(result), error_code)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASH_CHARS]


def extended(trace: tuple[Traced, ...], call: Traced) -> tuple[Traced, ...]:
    """The trace with one more call; the oldest are forgotten."""
    return (*trace[1 - limits.TRACE_KEPT_MAX_COUNT :], call)


def trouble(trace: Sequence[Traced]) -> Trouble | None:
    """What the newest call shows: the same call with the same result again and again, or a long time without news."""
    recent = trace[-limits.LOOP_WINDOW_COUNT :]
    if not recent:
        return None
    newest = recent[-1]
    same = sum((one.asked, one.got) == (newest.asked, newest.got) for one in recent)
    asked = sum(one.asked == newest.asked for one in recent)
    if same >= limits.LOOP_SAME_RESULT_COUNT or asked >= limits.LOOP_SAME_CALL_COUNT:
        return "loop"
    return "stuck" if _without_news(trace) >= limits.STUCK_CALLS_COUNT else None


def _without_news(trace: Sequence[Traced]) -> int:
    """How many of the newest calls in a row brought nothing: each failed, or was made before with the same result."""
    before = Counter((one.asked, one.got) for one in trace)
    count = 0
    for one in reversed(trace):
        before[one.asked, one.got] -= 1
        if one.error_code is None and not before[one.asked, one.got]:
            break
        count += 1
    return count
