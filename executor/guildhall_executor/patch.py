"""The list of changed files, derived from the patch itself. Guards against a list that says other than the patch does.

The patch is the workspace's claim; what people are shown about it is computed here. Parsing is total: bytes that are
no git-style patch give None. Hunks are counted by their headers, so content that looks like a header is content.
"""

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from guildhall_contracts import limits
from guildhall_contracts.events import ChangedFile

from guildhall_executor.willrun import will_run

Status = Literal["added", "modified", "deleted", "renamed"]

_HUNK: Final = re.compile(rb"@@ -[0-9]{1,10}(?:,([0-9]{1,10}))? \+[0-9]{1,10}(?:,([0-9]{1,10}))? @@")
_ESCAPES: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_QUOTED: Final = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
FILES_MAX_COUNT: Final = 100_000


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a patch; `path` is where it ends up, or was if it is deleted."""

    path: bytes
    status: Status = "modified"
    added: int = 0
    removed: int = 0
    binary: bool = False

    @property
    def name(self) -> str:
        return self.path.decode("utf-8", "backslashreplace")

    @property
    def will_run(self) -> bool:
        return will_run(self.name)

    def shown(self) -> ChangedFile:
        return ChangedFile(
            path=self.name[: limits.PATH_MAX_CHARS],
            status=self.status,
            added=self.added,
            removed=self.removed,
            binary=self.binary,
            will_run=self.will_run,
        )


def parse_patch(patch: bytes) -> list[FileChange] | None:
    """The files `patch` changes, in its order; None when it is no sound patch."""
    lines = patch.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    files: list[FileChange] = []
    at = 0
    while at < len(lines):
        found = _file(lines, at)
        if found is None or len(files) >= FILES_MAX_COUNT:
            return None
        at, file = found
        files.append(file)
    return files


def _file(lines: list[bytes], at: int) -> tuple[int, FileChange] | None:
    """One `diff --git` section from line `at`, and the line after it."""
    path = _header_path(lines[at])
    if path is None:
        return None
    file = FileChange(path)
    at += 1
    while at < len(lines) and not lines[at].startswith(b"diff --git "):
        if lines[at].startswith(b"@@ "):
            hunk = _hunk(lines, at)
            if hunk is None:
                return None
            at, added, removed = hunk
            file = replace(file, added=file.added + added, removed=file.removed + removed)
        elif lines[at] == b"GIT binary patch":
            at, file = _binary_end(lines, at + 1), replace(file, binary=True)
        else:
            file = _extended(file, lines[at])
            at += 1
    return (at, file) if file.path else None


def _extended(file: FileChange, line: bytes) -> FileChange:
    """A line between the header and the first hunk; unknown ones say nothing."""
    if line.startswith(b"new file mode "):
        return replace(file, status="added")
    if line.startswith(b"deleted file mode "):
        return replace(file, status="deleted")
    if line.startswith(b"rename to "):
        return replace(file, status="renamed", path=_unquoted(line[10:]))
    if line.startswith(b"Binary files "):
        return replace(file, binary=True)
    names_it = line.startswith((b"--- a/", b'--- "a/') if file.status == "deleted" else (b"+++ b/", b'+++ "b/'))
    return replace(file, path=_stripped(line[4:])) if names_it else file


def _header_path(line: bytes) -> bytes | None:
    """The path of `diff --git a/x b/x`; without quotes both halves are equal, so the middle is known."""
    if not line.startswith(b"diff --git "):
        return None
    rest = line[11:]
    if rest.startswith(b'"'):
        at = rest.find(b' "b/')
        return _stripped(rest[at + 1 :]) if at > 0 else b"?"
    middle = len(rest) // 2
    if rest[:2] == b"a/" and rest[middle : middle + 3] == b" b/" and rest[2:middle] == rest[middle + 3 :]:
        return rest[2:middle]
    at = rest.find(b" b/")
    return rest[at + 3 :] if at > 0 else b"?"


def _hunk(lines: list[bytes], at: int) -> tuple[int, int, int] | None:
    """Counts a hunk by what its header announces; gives the line after it, lines added and removed."""
    match = _HUNK.match(lines[at])
    if match is None:
        return None
    old, new = (1 if count is None else int(count) for count in match.groups())
    added = removed = 0
    at += 1
    while (old > 0 or new > 0) and at < len(lines):
        kind = lines[at][:1]
        if kind == b"+":
            added, new = added + 1, new - 1
        elif kind == b"-":
            removed, old = removed + 1, old - 1
        elif kind in (b" ", b""):
            old, new = old - 1, new - 1
        elif kind != b"\\":
            return None
        at += 1
    if old != 0 or new != 0:
        return None
    while at < len(lines) and lines[at].startswith(b"\\"):
        at += 1
    return at, added, removed


def _binary_end(lines: list[bytes], at: int) -> int:
    while at < len(lines) and not lines[at].startswith(b"diff --git "):
        at += 1
    return at


def _stripped(token: bytes) -> bytes:
    """A path token without quotes, its `a/` or `b/`, and the tab git puts after names with spaces."""
    path = _unquoted(token)
    return path[2:] if path[:2] in (b"a/", b"b/") else path


def _unquoted(token: bytes) -> bytes:
    token = token.removesuffix(b"\t").rstrip(b"\r")
    if len(token) < 2 or token[:1] != b'"' or token[-1:] != b'"':
        return token
    return _QUOTED.sub(_unescape, token[1:-1])


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    if len(code) == 3:
        return bytes([int(code, 8) & 0xFF])
    return _ESCAPES.get(code, code)
