"""The list of changed files, derived from the patch itself. Guards against a list that says other than the patch does.

The patch is the workspace's claim; what people are shown about it is computed here. Parsing is total and strict: what
is not exactly the git-style patch a workshop writes gives None, because a tool that applies it might read more out of
it than was shown. Hunks are counted by their headers, so content that looks like a header is content. A mode is one of
git's three and is always told: git takes one it is not told from the file that is there, and any spelling of it.
"""

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from guildhall_contracts import limits
from guildhall_contracts.events import ChangedFile

from guildhall_executor.generated import made_by_line, made_by_name
from guildhall_executor.obeyed import Obeyed
from guildhall_executor.willrun import will_run

Status = Literal["added", "modified", "deleted"]

_HUNK: Final = re.compile(rb"@@ -[0-9]{1,10}(?:,([0-9]{1,10}))? \+[0-9]{1,10}(?:,([0-9]{1,10}))? @@(?: .*)?")
_INDEX: Final = re.compile(rb"index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: ([0-7]{6}))?")
_ENTRY: Final = re.compile(rb"(new|deleted) file mode ([0-7]{6})")
_OLD_MODE: Final = re.compile(rb"old mode ([0-7]{6})")
_NEW_MODE: Final = re.compile(rb"new mode ([0-7]{6})")
_FILE, _PROGRAM, _LINK = b"100644", b"100755", b"120000"
_MODES: Final = frozenset({_FILE, _PROGRAM, _LINK})
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

    def match(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        """This line as `pattern` reads the whole of it, if it does; then moves on."""
        found = None if self.line is None else pattern.fullmatch(self.line)
        if found is not None:
            self.step()
        return found


def parse_patch(patch: bytes, *, heads: bool = False) -> list[FileChange] | None:
    """The files `patch` changes, in its order; None when it is no sound patch.

    `heads`: the list that stands for a patch over the bound. It has no content, so that modes may be missing; it is
    for showing, and nothing may ever apply it.
    """
    lines = _Lines(patch)
    files: list[FileChange] = []
    while lines.line is not None:
        file = _head_alone(lines) if heads else _file(lines)
        if file is None or len(files) >= FILES_MAX_COUNT:
            return None
        files.append(file)
    return _with_obeyed(files)


def _with_obeyed(files: list[FileChange]) -> list[FileChange]:
    links = {file.path: file.target for file in files if file.target is not None and file.status != "deleted"}
    found = Obeyed.by(links)
    return [replace(file, obeyed=True) if file.path in found else file for file in files]


@dataclass(frozen=True, slots=True)
class _Head:
    """What the lines between the names and the content say. A mode is empty where there is none, or none is told."""

    file: FileChange
    before: bytes
    after: bytes

    @property
    def sound(self) -> bool:
        """Whether both modes are told, and the file stays what it is: git has a file become a link in two steps."""
        told = {"added": {self.after}, "deleted": {self.before}, "modified": {self.before, self.after}}
        kinds = {mode == _LINK for mode in told[self.file.status]}
        return told[self.file.status] <= _MODES and len(kinds) == 1


def _file(lines: _Lines) -> FileChange | None:
    """One `diff --git` section: its head, then hunks or binary data, and nothing else."""
    head = _head(lines)
    if head is None or not head.sound:
        return None
    link = _LINK in (head.before, head.after)
    if lines.line == b"GIT binary patch":
        return None if link else _binary(lines, head.file)
    if lines.line is not None and lines.line.startswith(b"--- ") and not _names_fit(lines, head.file):
        return None
    return _hunks(lines, head.file, link=link)


def _head_alone(lines: _Lines) -> FileChange | None:
    """A section without content. What may be a link is one that says nothing, so that its name alone is looked at."""
    head = _head(lines)
    if head is None or not {head.before, head.after} <= _MODES | {b""}:
        return None
    link = head.file.status != "deleted" and head.after in (_LINK, b"")
    return replace(head.file, target=b"") if link else head.file


def _head(lines: _Lines) -> _Head | None:
    """The names, and at most one of: an entry's mode, two modes that differ, one mode for both beside the blobs."""
    names = lines.take(b"diff --git ")
    path = None if names is None else _header_path(names)
    if not path:
        return None
    status: Status = "modified"
    before, after = b"", b""
    if entry := lines.match(_ENTRY):
        status = "added" if entry[1] == b"new" else "deleted"
        before, after = (b"", entry[2]) if status == "added" else (entry[2], b"")
    elif old := lines.match(_OLD_MODE):
        new = lines.match(_NEW_MODE)
        if new is None or new[1] == old[1]:
            return None
        before, after = old[1], new[1]
    if (index := lines.match(_INDEX)) and index[1]:
        if before or after:
            return None
        before = after = index[1]
    becomes_program = after == _PROGRAM and before != _PROGRAM
    return _Head(FileChange(path, status, executable=becomes_program), before, after)


def _binary(lines: _Lines, file: FileChange) -> FileChange | None:
    lines.step()
    while lines.line is not None and not lines.line.startswith(b"diff --git "):
        if lines.match(_BINARY_LINE) is None:
            return None
    return replace(file, binary=True)


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
