"""The files that a symbolic link of a patch puts in the place of one that runs: `.githooks -> scripts`. Pure.

Guards against a link whose own name says nothing of the files it makes run.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from guildhall_executor.willrun import will_run

LINK_ROUNDS_MAX_COUNT: Final = 40
_BELOW: Final = ("", "/file", "/workflows/file", "/rules", "/Build.scala", "/support/file", "/Menu.cs")


@dataclass(frozen=True, slots=True)
class Obeyed:
    """`named` links stand for what runs themselves; what is at or below one of `places` runs through a link."""

    named: frozenset[bytes]
    places: frozenset[bytes]

    @classmethod
    def by(cls, links: Mapping[bytes, bytes]) -> Self:
        """What `links`, targets by path, make of the tree. An empty target is one that is not known."""
        named = frozenset(path for path in links if _stands_for_what_runs(path))
        leads = {path: _leads_to(path, target) for path, target in links.items()}
        places: frozenset[bytes] = frozenset()
        for _ in range(LINK_ROUNDS_MAX_COUNT):
            found = {place for path, place in leads.items() if place and (path in named or _within(path, places))}
            if found <= places:
                break
            places |= found
        return cls(named, places)

    def __contains__(self, path: bytes) -> bool:
        return path in self.named or _within(path, self.places)


def _leads_to(path: bytes, target: bytes) -> bytes | None:
    """The place in the workspace that a link names; None when it leads out of it, or nowhere known."""
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return None if not target or place.startswith((b"/", b"../")) or place in (b"..", b".") else place


def _stands_for_what_runs(path: bytes) -> bool:
    """Whether a file of that name runs, or one in a folder of that name does: `.github`, `debian`."""
    name = path.decode("utf-8", "backslashreplace")
    return any(will_run(f"{name}{below}") for below in _BELOW)


def _within(path: bytes, places: frozenset[bytes]) -> bool:
    """Whether `path` is one of `places` or below one."""
    while path and path not in places:
        path = posixpath.dirname(path)
    return bool(path)
