"""What was shown to run is what git makes run: every way a head can tell a mode, read by executor, git and publisher.

Guards `publish.allowWillRun`. Real git applies each patch; wherever both others take it, all three say the same of it.
"""

import hashlib
import itertools
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from guildhall_contracts import frames
from guildhall_contracts.frames import DiffResult
from guildhall_executor.changes import Change, examine
from guildhall_executor.patch import FileChange, parse_patch
from guildhall_fetcher.applied import LINK, NOTHING, Entry, entries_of, problem
from support.repositories import ENV
from support.workshop import running

PROGRAM = b"100755"
ZERO = "0" * 40
BASE = {"plain": ("100644", b"echo hi\n"), "program": ("100755", b"echo hi\n"), ".husky": ("120000", b"scripts")}
MODES = ("100644", "100755", "120000", "000755", "020755", "120644", "100664")
OF_BOTH = ["", " 100644", " 100755", " 120000"]
OF_A_CHANGE = [
    "", *(f"new mode {mode}\n" for mode in MODES), *(f"old mode {mode}\n" for mode in MODES[:3]),
    *(f"old mode {old}\nnew mode {new}\n" for old, new in itertools.product(MODES[:4], MODES[:4])),
    "new mode 100755\nold mode 100644\n", "new file mode 100755\n", "deleted file mode 100755\n",
]  # fmt: skip
OF_A_NEW_FILE = [
    *(f"new file mode {mode}\n" for mode in MODES),
    *(f"new file mode {one}\nnew mode {two}\n" for one, two in itertools.permutations(MODES[:3], 2)),
]


@dataclass(frozen=True)
class Base:
    """A bare index on one commit, in which patches are tried as the publisher does."""

    folder: Path
    commit: str

    def git(self, *words: str, given: bytes = b"", sound: bool = True) -> bytes | None:
        command = ["git", "-C", str(self.folder), "-c", "core.protectNTFS=true", *words]
        done = subprocess.run(command, env=ENV, input=given, capture_output=True, check=False)
        assert done.returncode == 0 or not sound, done.stderr
        return done.stdout if done.returncode == 0 else None

    def made(self, patch: bytes) -> list[Entry] | None:
        """What git makes of `patch`; None where it takes none of it."""
        shutil.copyfile(self.folder / "pristine", self.folder / "index")
        if self.git("apply", "--cached", "--whitespace=nowarn", "-", given=patch, sound=False) is None:
            return None
        raw = self.git("diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", self.commit)
        return entries_of(raw or b"")

    def published(self, patch: bytes, made: list[Entry]) -> bool:
        return not problem(patch, made, lambda blob: self.git("cat-file", "blob", blob.decode()) or b"")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    folder = tmp_path_factory.mktemp("base")
    first = Base(folder, "")
    first.git("init", "--quiet", "--bare")
    for path, (mode, content) in BASE.items():
        first.git("hash-object", "-w", "--stdin", given=content)
        first.git("update-index", "--add", "--cacheinfo", f"{mode},{blob(content)},{path}")
    shutil.copyfile(folder / "index", folder / "pristine")
    tree = (first.git("write-tree") or b"").decode().strip()
    return Base(folder, (first.git("commit-tree", "-m", "base", tree) or b"").decode().strip())


def blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def lines_of(sign: str, content: bytes) -> str:
    end = "" if content.endswith(b"\n") else "\n\\ No newline at end of file\n"
    return f"{sign}{content.decode()}{end}"


def changes() -> Iterator[bytes]:
    """A change of content of each file there is, in every head."""
    for (path, (_, content)), modes, both in itertools.product(BASE.items(), OF_A_CHANGE, OF_BOTH):
        new = content.replace(b"hi", b"evil").replace(b"scripts", b"evil")
        yield (
            f"diff --git a/{path} b/{path}\n{modes}index {blob(content)}..{blob(new)}{both}\n--- a/{path}\n"
            f"+++ b/{path}\n@@ -1 +1 @@\n{lines_of('-', content)}{lines_of('+', new)}"
        ).encode()


def additions() -> Iterator[bytes]:
    for path, modes, both in itertools.product(["new", ".githooks"], OF_A_NEW_FILE, OF_BOTH):
        yield (
            f"diff --git a/{path} b/{path}\n{modes}index {ZERO}..{blob(b'evil')}{both}\n--- /dev/null\n"
            f"+++ b/{path}\n@@ -0,0 +1 @@\n{lines_of('+', b'evil')}"
        ).encode()


def shown_as(file: FileChange, entry: Entry) -> bool:
    """Whether what people read about a file is what it became."""
    becomes_program = entry.new_mode == PROGRAM and entry.old_mode != PROGRAM
    return (file.path, file.executable, file.target is not None, file.status) == (
        entry.path, becomes_program, entry.new_mode == LINK, "added" if entry.old_mode == NOTHING else "modified",
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "at_least"), [(changes, 5), (additions, 6)])
def test_all_three_read_the_same_modes(base: Base, kind: Callable[[], Iterator[bytes]], at_least: int) -> None:
    taken_by_git, agreed = 0, 0
    for patch in kind():
        files, made = parse_patch(patch), base.made(patch)
        taken_by_git += made is not None
        if files is None or made is None:
            continue
        assert [shown_as(*pair) for pair in zip(files, made, strict=True)] == [True] or not base.published(patch, made)
        agreed += base.published(patch, made)
    assert agreed >= at_least, "control: what a workshop writes is published"
    assert taken_by_git > 2 * agreed, "control: git takes much that nobody was shown rightly"


def committed(folder: Path) -> Base:
    """A base that is `folder` as it is now."""
    found = Base(folder / ".git", "")
    subprocess.run(["git", "init", "--quiet", str(folder)], env=ENV, check=True)
    found.git("--work-tree", str(folder), "add", "--all", "--force", str(folder))
    shutil.copyfile(found.folder / "index", found.folder / "pristine")
    tree = (found.git("write-tree") or b"").decode().strip()
    return Base(found.folder, (found.git("commit-tree", "-m", "base", tree) or b"").decode().strip())


@pytest.mark.go
def test_every_kind_of_change_a_workshop_writes_is_read_and_published(tmp_path: Path) -> None:
    """The control of the above: no honest change is refused by what refuses the others."""
    start = tmp_path / "workspace"
    start.mkdir()
    for name in ("edited", "gone", "a b", "becomes a link", "becomes a program", "program"):
        (start / name).write_text("one\ntwo\n")
    (start / "program").chmod(0o755)
    (start / "image").write_bytes(b"\0one")
    for name in ("link", "becomes a file", "link that goes"):
        (start / name).symlink_to("edited")
    shutil.copytree(start, tmp_path / "clean", symlinks=True)
    base = committed(tmp_path / "clean")
    with running(tmp_path) as shop, shop.client() as client:
        done = client.sh(
            "for f in edited 'a b' program; do echo three >> \"$f\"; done; rm gone 'link that goes';"
            " ln -sfn program link; ln -s edited 'new link'; rm 'becomes a link' 'becomes a file';"
            " ln -s edited 'becomes a link'; echo text > 'becomes a file'; chmod +x 'becomes a program';"
            " chmod -x program; touch empty; printf x > 'café \"n\"'; printf '\\0two' > image; printf '\\0x' > new.bin;"
            " chmod +x new.bin"
        )
        assert done.last.exit_code == 0, done.text
        patch = client.call(frames.DiffRequest).chunks
    files, made = parse_patch(patch), base.made(patch)
    assert files is not None
    assert made is not None
    assert base.published(patch, made)
    assert {file.name for file in files} == {entry.path.decode() for entry in made}
    assert len(made) == 14
    assert {file.name for file in files if file.executable} == {"becomes a program", "new.bin"}
    assert {file.name for file in files if file.target is not None} == {"link", "new link", "becomes a link"}
    whole = examine(DiffResult(id=1, size=len(patch), sha256=hashlib.sha256(patch).hexdigest()), patch)
    assert isinstance(whole, Change)
