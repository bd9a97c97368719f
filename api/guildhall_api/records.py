"""What history keeps and finds, as values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Wire = dict[str, Any]


@dataclass(frozen=True)
class RunFacts:
    """What history keeps of a Run resource. `summary` is a RunSummary, `detail` has `spec` and `conditions`."""

    uid: str
    namespace: str
    name: str
    created_at: str
    phase: str
    guild: str
    search: str
    private: bool
    live: bool
    summary: Wire
    detail: Wire
    expires_at: float | None = None


@dataclass(frozen=True)
class StoredRun:
    """A row of `runs` with its JSON read; `key` is the database's own."""

    key: int
    uid: str
    namespace: str
    name: str
    live: bool
    sealed: bool
    private: bool
    summary: Wire
    detail: Wire
    last_seq: int
    unreadable: int
    intake: Wire
    expires_at: float | None = None


@dataclass(frozen=True)
class ListFilter:
    """Which rows a list shows. `before` is (createdAt, uid) of the last row of the page before."""

    namespaces: Sequence[str]
    phase: str | None = None
    guild: str | None = None
    text: str | None = None
    live: bool | None = None
    before: tuple[str, str] | None = None
    limit: int = 100
