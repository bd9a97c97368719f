"""The list of changed files, derived from the patch itself. Guards against a list that says other than the patch does.

The patch is the workspace's claim; what people are shown about it is computed here. Parsing is total and strict: what
is not exactly the git-style patch a workshop writes gives None, because a tool that applies it might read more out of
it than was shown. Hunks are counted by their headers, so content that looks like a header is content.
"""

import posixpath
import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from guildhall_contracts import limits
from guildhall_contracts.events import ChangedFile

from guildhall_executor.generated import made_by_line, made_by_name
from guildhall_executor.willrun import will_run

Status = Literal["added", "modified", "deleted"]

_HUNK: Final = re.compile(rb"@@ -[0-9]{1,10}(?:,([0-9]{1,10}))? \+[0-9]{1,10}(?:,([0-9]{1,10}))? @@(?: .*)?")
_EXTENDED: Final = re.compile(
    rb"index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: (?P<same>[0-7]{6}))?|(?P<side>old|new) mode (?P<mode>[0-7]{6})"
)
_ENTRY: Final = re.compile(rb"(new|deleted) file mode ([0-7]{6})")
_LINK_MODE: Final = b"120000"
LINK_ROUNDS_MAX_COUNT: Final = 40
_BINARY_LINE: Final = re.compile(
    rb"literal [0-9]{1,10}|delta [0-9]{1,10}|[A-Za-z][0-9A-Za-z!#$%&()*+\-;<=>?@^_`{|}~]+|"
)
_ESCAPES: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_QUOTED: Final = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
FILES_MAX_COUNT: Final = 100_000


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a patch; `path` is where it ends up, or was if it is deleted.

    `executable` when the patch makes it so; `target` is what a new or changed symbolic link says; `obeyed` when such a
    link makes it one of the files that run; `says_generated` when one of the lines shown looks made by a tool.
    """

    path: bytes
    status: Status = "modified"
    added: int = 0
    removed: int = 0
    binary: bool = False
    executable: bool = False
    target: bytes | None = None
    obeyed: bool = False
    says_generated: bool = False

    @property
    def name(self) -> str:
        return self.path.decode("utf-8", "backslashreplace")

    @property
    def will_run(self) -> bool:
        return self.executable or self.obeyed or will_run(self.name)

    @property
    def generated(self) -> bool:
        return self.says_generated or made_by_name(self.name)

    def shown(self) -> ChangedFile:
        return ChangedFile(
            path=self.name[: limits.PATH_MAX_CHARS],
            status=self.status,
            added=self.added,
            removed=self.removed,
            binary=self.binary,
            will_run=self.will_run,
            generated=self.generated,
        )


class _Lines:
    """The lines of a patch, one at a time: a list of them all could be forty times its size."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._next = 0
        self.line: bytes | None = None
        self.step()

    def step(self) -> None:
        """Moves on; `line` is None at the end."""
        if self._next >= len(self._data):
            self.line = None
            return
        end = self._data.find(b"\n", self._next)
        end = len(self._data) if end < 0 else end
        self.line, self._next = self._data[self._next : end], end + 1

    def take(self, start: bytes) -> bytes | None:
        """What follows `start` on this line, if it begins so; then moves on."""
        if self.line is None or not self.line.startswith(start):
            return None
        rest = self.line[len(start) :]
        self.step()
        return rest


def parse_patch(patch: bytes) -> list[FileChange] | None:
    """The files `patch` changes, in its order; None when it is no sound patch."""
    lines = _Lines(patch)
    files: list[FileChange] = []
    while lines.line is not None:
        file = _file(lines)
        if file is None or len(files) >= FILES_MAX_COUNT:
            return None
        files.append(file)
    return with_obeyed(files)


def with_obeyed(files: list[FileChange]) -> list[FileChange]:
    """Marks the files that a symbolic link of the patch puts in the place of one that runs: `.githooks -> scripts`."""
    links = {file.path: _leads_to(file) for file in files if file.target is not None and file.status != "deleted"}
    named = {path for path in links if _stands_for_what_runs(path)}
    places: set[bytes] = set()
    for _ in range(LINK_ROUNDS_MAX_COUNT):
        found = {place for path, place in links.items() if place and (path in named or _within(path, places))}
        if found <= places:
            break
        places |= found
    return [replace(file, obeyed=True) if file.path in named or _within(file.path, places) else file for file in files]


def _leads_to(file: FileChange) -> bytes | None:
    """The place in the workspace that a link names; None when it leads out of it."""
    place = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), file.target or b""))
    return None if place.startswith((b"/", b"../")) or place in (b"..", b".") else place


def _stands_for_what_runs(path: bytes) -> bool:
    name = path.decode("utf-8", "backslashreplace")
    return will_run(name) or will_run(f"{name}/file")


def _within(path: bytes, places: set[bytes]) -> bool:
    """Whether `path` is one of `places` or below one."""
    while path and path not in places:
        path = posixpath.dirname(path)
    return bool(path)


def _file(lines: _Lines) -> FileChange | None:
    """One `diff --git` section: its head, then hunks or binary data, and nothing else."""
    names = lines.take(b"diff --git ")
    path = None if names is None else _header_path(names)
    if not path:
        return None
    file, mode = _head(lines, FileChange(path))
    if lines.line == b"GIT binary patch":
        lines.step()
        while lines.line is not None and not lines.line.startswith(b"diff --git "):
            if _BINARY_LINE.fullmatch(lines.line) is None:
                return None
            lines.step()
        return replace(file, binary=True)
    if lines.line is not None and lines.line.startswith(b"--- ") and not _names_fit(lines, file):
        return None
    return _hunks(lines, file, link=mode == _LINK_MODE)


def _head(lines: _Lines, file: FileChange) -> tuple[FileChange, bytes]:
    """The lines between the names and the content: what happens to the file, and its mode afterwards."""
    before, after = b"", b""
    while lines.line is not None:
        entry, extended = _ENTRY.fullmatch(lines.line), _EXTENDED.fullmatch(lines.line)
        if entry is not None:
            file = replace(file, status="added" if entry[1] == b"new" else "deleted")
            after = entry[2]
        elif extended is None:
            break
        elif extended["side"] == b"old":
            before = extended["mode"]
        else:
            after = extended["mode"] or extended["same"] or after
        lines.step()
    becomes = (
        file.status != "deleted" and _runs(after) and (file.status == "added" or bool(before)) and not _runs(before)
    )
    return replace(file, executable=becomes), after


def _runs(mode: bytes) -> bool:
    return mode.startswith(b"100") and int(mode, 8) & 0o111 != 0


def _names_fit(lines: _Lines, file: FileChange) -> bool:
    """Takes the `---` and `+++` lines; they must name the file of the header, or nothing where there was none."""
    old, new = lines.take(b"--- "), lines.take(b"+++ ")
    if old is None or new is None:
        return False
    olds = b"/dev/null" if file.status == "added" else b"a/" + file.path
    news = b"/dev/null" if file.status == "deleted" else b"b/" + file.path
    return _unquoted(old) == olds and _unquoted(new) == news


def _header_path(names: bytes) -> bytes | None:
    """The path of `a/x b/x`: both halves are equal and equally long, so the middle is known."""
    middle = len(names) // 2
    old, blank, new = names[:middle], names[middle : middle + 1], names[middle + 1 :]
    old, new = _unquoted(old), _unquoted(new)
    sound = blank == b" " and old[:2] == b"a/" and new[:2] == b"b/" and old[2:] == new[2:]
    return old[2:] if sound else None


class _Content:
    """What the lines of a file's hunks say about it."""

    def __init__(self) -> None:
        self.added: list[bytes] = []  # at most as many as a link's text can have
        self.generated = False

    def take(self, line: bytes) -> None:
        if line[:1] == b"+" and len(self.added) < limits.PATH_MAX_CHARS:
            self.added.append(line[1 : limits.PATH_MAX_CHARS + 1])
        self.generated = self.generated or made_by_line(line)


def _hunks(lines: _Lines, file: FileChange, *, link: bool) -> FileChange | None:
    content = _Content()
    while lines.line is not None and not lines.line.startswith(b"diff --git "):
        counts = _hunk(lines, content)
        if counts is None:
            return None
        file = replace(file, added=file.added + counts[0], removed=file.removed + counts[1])
    file = replace(file, says_generated=content.generated)
    return replace(file, target=b"\n".join(content.added)) if link and file.status != "deleted" else file


def _hunk(lines: _Lines, content: _Content) -> tuple[int, int] | None:
    """Lines added and removed by one hunk, which is as long as its header announces; `content` is shown each."""
    match = _HUNK.fullmatch(lines.line or b"")
    if match is None:
        return None
    old, new = (1 if count is None else int(count) for count in match.groups())
    added = removed = 0
    lines.step()
    while (old > 0 or new > 0) and lines.line is not None:
        kind = lines.line[:1]
        if kind == b"+":
            added, new = added + 1, new - 1
        elif kind == b"-":
            removed, old = removed + 1, old - 1
        elif kind in (b" ", b""):
            old, new = old - 1, new - 1
        elif kind != b"\\":
            return None
        content.take(lines.line)
        lines.step()
    while lines.line is not None and lines.line.startswith(b"\\"):
        lines.step()
    return (added, removed) if old == 0 and new == 0 else None


def _unquoted(token: bytes) -> bytes:
    """A path token without quotes and without the tab git puts after names with spaces."""
    token = token.removesuffix(b"\t")
    if len(token) < 2 or token[:1] != b'"' or token[-1:] != b'"':
        return token
    return _QUOTED.sub(_unescape, token[1:-1])


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    if len(code) == 3:
        return bytes([int(code, 8) & 0xFF])
    return _ESCAPES.get(code, code)
