"""Which ref a Run means, told from what the server lists. Pure; the server's words are hostile input."""

import re
from dataclasses import dataclass
from typing import Final

from guildhall_fetcher.failure import FetchFailed

_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LINE: Final = re.compile(rb"(ref: )?([!-~]{1,400})\t([!-~]{1,400})")
_BRANCH: Final = re.compile(r"refs/heads/[A-Za-z0-9][A-Za-z0-9._/+@-]{0,200}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of the server, and what it becomes here: `name` is empty for a bare commit id."""

    asked: str
    name: str = ""

    @property
    def is_branch(self) -> bool:
        return self.name.startswith("refs/heads/")


def is_commit(ref: str) -> bool:
    return _COMMIT.fullmatch(ref) is not None


def candidates(ref: str) -> list[str]:
    """The full names a ref may stand for, best first."""
    if ref == "HEAD" or ref.startswith("refs/"):
        return [ref]
    return [f"refs/heads/{ref}", f"refs/tags/{ref}"]


def listed(output: bytes) -> tuple[set[str], str]:
    """The refs a server lists, and the branch its HEAD names or empty; lines that are not one are left out."""
    names: set[str] = set()
    head = ""
    for line in output.split(b"\n"):
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        name = found[3].decode("ascii")
        if not found[1]:
            names.add(name)
        elif name == "HEAD":
            head = found[2].decode("ascii")
    return names, head


def choose(ref: str, output: bytes) -> Wanted:
    """The ref to fetch. Raises FetchFailed where the server has none of that name."""
    names, head = listed(output)
    found = next((name for name in candidates(ref) if name in names), None)
    if found is None:
        what = "is empty: it has no commit yet" if ref == "HEAD" else f"has no branch or tag '{ref}'"
        raise FetchFailed("ref_not_found", f"the repository {what}")
    if found == "HEAD":
        return Wanted("HEAD", head if _BRANCH.fullmatch(head) and ".." not in head else "")
    return Wanted(found, found)


def listed_at(output: bytes, ref: str) -> str:
    """The commit that `ls-remote` lists for `ref`, among others or alone; empty where it lists none."""
    for line in output.split(b"\n"):
        found = _LINE.fullmatch(line)
        if found is not None and not found[1] and found[3] == ref.encode("ascii"):
            return found[2].decode("ascii")
    return ""
