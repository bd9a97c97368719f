"""What a patch says it does, against what came of it in an index. Pure.

Guards the branch against a patch that does more than was shown: every mode and every blob it names, before and after,
must be the one git made, and no path or link may lead into `.git`, out of the tree, or to another repository.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from guildhall_contracts.limits import PUBLISH_LINK_MAX_BYTES

from guildhall_fetcher.tree import RESERVED, shown

LINK: Final = b"120000"
NOTHING: Final = b"000000"
MODES: Final = frozenset({b"100644", b"100755", LINK, NOTHING})
_HEAD: Final = re.compile(
    rb"\ndiff --git (?P<names>[^\n]*)"
    rb"(?:\n(?P<entry>new|deleted) file mode (?P<mode>[0-7]{6})|"
    rb"\nold mode (?P<old>[0-7]{6})\nnew mode (?P<new>[0-7]{6}))?"
    rb"(?:\nindex (?P<before>[0-9a-f]{40})\.\.(?P<after>[0-9a-f]{40})(?: (?P<both>[0-7]{6}))?)?(?=\n|\Z)"
)
_DRIVE: Final = re.compile(rb"[A-Za-z]:")
_GIT_ON_SOME_DISKS: Final = re.compile(r"\.git[. ]*(:.*)?|git~[0-9]+(:.*)?")
_ESCAPES: Final = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_QUOTED: Final = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
Target = Callable[[bytes], bytes]  # the content of a blob, at most PUBLISH_LINK_MAX_BYTES + 1 of it


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of `git diff-index --raw`."""

    old_mode: bytes
    new_mode: bytes
    old: bytes
    new: bytes
    path: bytes


Step = Entry  # what one head of a patch says; its blobs are empty where only the mode changes


def entries_of(raw: bytes) -> list[Entry]:
    """The output of `diff-index --cached --raw -z --no-abbrev --no-renames`. Raises ValueError for anything else."""
    fields = raw.split(b"\0")
    if fields.pop() != b"" or len(fields) % 2:
        raise ValueError("git's listing of the change is torn")
    found = []
    for about, path in zip(fields[::2], fields[1::2], strict=True):
        old_mode, new_mode, old, new, _ = about.removeprefix(b":").split(b" ")
        found.append(Entry(old_mode, new_mode, old, new, path))
    return found


def _done(entries: Iterable[Entry]) -> Iterator[Step]:
    """What git did, in the steps a patch has: a file that became a link is a deletion and a creation."""
    for entry in entries:
        zero = b"0" * len(entry.new)
        if NOTHING not in (entry.old_mode, entry.new_mode) and (entry.old_mode == LINK) != (entry.new_mode == LINK):
            yield replace(entry, new_mode=NOTHING, new=zero)
            yield replace(entry, old_mode=NOTHING, old=zero)
        elif entry.old == entry.new:
            yield replace(entry, old=b"", new=b"")
        else:
            yield entry


def _unquoted(token: bytes) -> bytes:
    if len(token) < 2 or token[:1] != b'"' or token[-1:] != b'"':
        return token
    return _QUOTED.sub(
        lambda found: bytes([int(found[1], 8) & 0xFF]) if len(found[1]) == 3 else _ESCAPES.get(found[1], found[1]),
        token[1:-1],
    )


def _path(names: bytes) -> bytes:
    """The path of `a/x b/x`: both halves are equally long. Empty where they are not one path."""
    middle = len(names) // 2
    old, new = _unquoted(names[:middle]), _unquoted(names[middle + 1 :])
    sound = names[middle : middle + 1] == b" " and old[:2] == b"a/" and new[:2] == b"b/" and old[2:] == new[2:]
    return old[2:] if sound else b""


def _modes(head: re.Match[bytes]) -> tuple[bytes, bytes]:
    """The modes before and after. Empty where a head does not tell them, which is no mode git makes."""
    if head["entry"]:
        return (NOTHING, head["mode"]) if head["entry"] == b"new" else (head["mode"], NOTHING)
    return (head["old"], head["new"]) if head["old"] else (head["both"] or b"", head["both"] or b"")


def _said(patch: bytes) -> Iterator[Step]:
    """What the patch's heads say, in the one order git writes their lines in; what stands elsewhere says nothing.

    Every line of content begins with a sign of its own, so that a head is a head wherever it stands.
    """
    for head in _HEAD.finditer(b"\n" + patch):
        yield Step(*_modes(head), head["before"] or b"", head["after"] or b"", _path(head["names"]))


def _differs(patch: bytes, entries: list[Entry]) -> str:
    said, made = Counter(_said(patch)), Counter(_done(entries))
    if said == made:
        return ""
    path = min(step.path for step in (said - made) + (made - said))
    if _contents(said) == _contents(made):
        return f"the mode of '{shown(path)}' would not be what the patch says"
    return (
        f"'{shown(path)}' would not become what the Run left in its workspace; "
        ".gitattributes that convert files at checkout are the usual cause"
    )


def _contents(steps: Counter[Step]) -> Counter[tuple[bytes, bytes, bytes]]:
    return Counter((step.path, step.old, step.new) for step in steps.elements())


def _bad_path(path: bytes) -> str:
    text = path.decode("utf-8", "backslashreplace")
    for number, part in enumerate(text.split("/")):
        plain = "".join(char for char in part if unicodedata.category(char) != "Cf").casefold()
        if part in ("", ".", "..") or _GIT_ON_SOME_DISKS.fullmatch(plain):
            return f"'{shown(path)}' leads into .git or out of the tree"
        if number == 0 and plain == RESERVED:
            return f"'{shown(path)}' is Guildhall's own"
    return ""


def _windows_reads_else(path: bytes) -> bool:
    """Whether a disk of Windows takes `path` for another: a backslash divides there, and a letter names a drive."""
    return b"\\" in path or _DRIVE.match(path) is not None


def _bad_link(path: bytes, target: bytes) -> str:
    """A link may climb only at its start, and only as far as the tree reaches: a later `..` may follow another link."""
    parts = [part for part in target.split(b"/") if part not in (b"", b".")]
    up = next((number for number, part in enumerate(parts) if part != b".."), len(parts))
    leaves = target.startswith(b"/") or up > path.count(b"/") or b".." in parts[up:]
    into_git = any(_bad_path(part) for part in parts[up:])
    if not target or len(target) > PUBLISH_LINK_MAX_BYTES:
        return f"the symbolic link '{shown(path)}' is empty or longer than {PUBLISH_LINK_MAX_BYTES} bytes"
    if leaves or into_git or _windows_reads_else(target):
        return f"the symbolic link '{shown(path)}' leads out of the tree"
    return ""


def _bad_entry(entry: Entry, target: Target) -> str:
    if {entry.old_mode, entry.new_mode} - MODES:
        return f"'{shown(entry.path)}' is a submodule or of an unknown kind, which no patch of a Run may change"
    if entry.new_mode != NOTHING and (problem := _bad_path(entry.path)):
        return problem
    if entry.old_mode == NOTHING and _windows_reads_else(entry.path):  # one that is there already may be mended
        return f"'{shown(entry.path)}' leads out of the tree on Windows; a new name holds no '\\' and no drive"
    return _bad_link(entry.path, target(entry.new)) if entry.new_mode == LINK else ""


def problem(patch: bytes, entries: list[Entry], target: Target) -> str:
    """Why what came of `patch` must not be published; empty where it may be. `target` reads a link's blob."""
    if not entries:
        return "the patch changes nothing in this commit"
    for entry in entries:
        if found := _bad_entry(entry, target):
            return found
    return _differs(patch, entries)
