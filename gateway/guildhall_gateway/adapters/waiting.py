"""Connections there is no room for, each namespace's in the order they came. Guards memory: so many are kept."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from guildhall_contracts import limits

T = TypeVar("T")


class Waiting(Generic[T]):
    """What waits, by namespace and uid; at most `CONNECTIONS_WAITING_PER_NAMESPACE_MAX_COUNT` of one namespace."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[str, T]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __iter__(self) -> Iterator[T]:
        return iter([one for line in self._lines.values() for one in line.values()])

    def get(self, namespace: str, uid: str) -> T | None:
        return self._lines.get(namespace, {}).get(uid)

    def add(self, namespace: str, uid: str, one: T) -> bool:
        """At the end of the line; False, and not kept, where the line is full."""
        if len(self._lines.get(namespace, ())) >= limits.CONNECTIONS_WAITING_PER_NAMESPACE_MAX_COUNT:
            return False
        self._lines.setdefault(namespace, {})[uid] = one
        return True

    def pop(self, namespace: str, uid: str) -> T | None:
        line = self._lines.get(namespace, {})
        one = line.pop(uid, None)
        if not line:
            self._lines.pop(namespace, None)
        return one

    def first(self, namespace: str) -> T | None:
        """The one that has waited longest there."""
        return next(iter(self._lines.get(namespace, {}).values()), None)

    def namespaces(self) -> list[str]:
        return list(self._lines)
