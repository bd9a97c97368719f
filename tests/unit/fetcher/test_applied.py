"""The second look at a patch, alone: it holds where git's own look would let something through."""

from dataclasses import replace

import pytest
from guildhall_fetcher.applied import Entry, entries_of, problem

ONE, TWO, ZERO = b"1" * 40, b"2" * 40, b"0" * 40
FILE, RUNS, LINK, NONE, MODULE = b"100644", b"100755", b"120000", b"000000", b"160000"


def head(path: str, old: bytes, new: bytes, mode: bytes = FILE) -> bytes:
    """A head as a workshop writes it, for a file whose mode stays: an added, a deleted or a changed one."""
    named = f"diff --git a/{path} b/{path}\n".encode()
    blobs = b"index " + old + b".." + new
    if ZERO not in (old, new):
        return named + blobs + b" " + mode + b"\n"
    return named + (b"new" if old == ZERO else b"deleted") + b" file mode " + mode + b"\n" + blobs + b"\n"


def added(path: str, mode: bytes = FILE) -> tuple[bytes, list[Entry]]:
    name = path.replace("\\", r"\\")
    patch = (
        head(path, ZERO, ONE, mode)
        if name == path
        else head("x", ZERO, ONE, mode).replace(b"a/x b/x", f'"a/{name}" "b/{name}"'.encode())
    )
    return patch, [Entry(NONE, mode, ZERO, ONE, path.encode())]


def look(patch: bytes, entries: list[Entry], target: bytes = b"") -> str:
    return problem(patch, entries, lambda _: target)


def test_what_git_lists_is_taken_apart() -> None:
    raw = b":100644 100755 " + ONE + b" " + TWO + b" M\0a b\n\0:000000 120000 " + ZERO + b" " + ONE + b" A\0l\0"
    assert entries_of(raw) == [Entry(FILE, RUNS, ONE, TWO, b"a b\n"), Entry(NONE, LINK, ZERO, ONE, b"l")]
    assert entries_of(b"") == []
    for torn in (raw[:-1], raw + b"x", b":100644\0a\0"):
        with pytest.raises(ValueError, match=r"torn|unpack"):
            entries_of(torn)


def test_a_plain_change_passes() -> None:
    assert look(head("a", ONE, TWO), [Entry(FILE, FILE, ONE, TWO, b"a")]) == ""
    assert look(*added("new")) == ""


@pytest.mark.parametrize(
    "path",
    [".git/config", "a/.Git/x", ".git", ".git./x", ".git::$INDEX/x", "GIT~1/x", ".gi\u200dt/x", "../x", "a/../x", "/x",
     "a//b", ".orchestration/x", ".Orchestration", "..\\x", "a\\..\\..\\x", ".git\\hooks\\x", "C:/x", "c:x"],
)  # fmt: skip
def test_a_path_that_leads_elsewhere(path: str) -> None:
    assert look(*added(path)) != ""


@pytest.mark.parametrize(
    "path", [".gitignore", ".github/workflows/ci.yml", "a/.gitkeep", "git/x", "a..b", "x.git/y", "a/c:x", "2:x", "ab:c"]
)
def test_a_path_that_only_looks_like_it(path: str) -> None:
    assert look(*added(path)) == ""


@pytest.mark.parametrize(
    ("path", "target", "sound"),
    [
        ("l", b"a/b", True), ("d/l", b"../a", True), ("d/e/l", b"../../a", True), ("l", b"./a//b/.", True),
        ("l", b"../a", False), ("d/l", b"../../a", False), ("l", b"/a", False), ("l", b"a/../../b", False),
        ("l", b"a/../b", False), ("l", b"", False), ("l", b".git/hooks", False), ("l", b"a/.GIT", False),
        ("l", b"a" * 5_000, False), ("d/l", b"..", True), ("l", b"..", False), ("l", b"..\\..\\x", False),
        ("l", b"\\\\evil\\share", False), ("l", b"C:/Windows", False), ("l", b"c:x", False),
        ("d/l", b"..\\.git\\hooks", False), ("l", b"a:b/c", False), ("l", b"ab:c", True),
    ],
)  # fmt: skip
def test_where_a_link_may_lead(path: str, target: bytes, sound: bool) -> None:
    patch, entries = added(path, LINK)
    assert (look(patch, entries, target) == "") is sound


def test_a_name_of_windows_kind_that_is_there_may_be_mended() -> None:
    """`dev-disk-by\\x2duuid.mount` is a sound name of a systemd unit; only new ones are refused."""
    entry = Entry(FILE, FILE, ONE, TWO, b"a\\x2d")
    patch = head("x", ONE, TWO).replace(b"a/x b/x", rb'"a/a\\x2d" "b/a\\x2d"')
    assert look(patch, [entry]) == ""
    assert "Windows" in look(patch, [replace(entry, old_mode=NONE)])


@pytest.mark.parametrize(
    "entry",
    [Entry(MODULE, MODULE, ONE, TWO, b"m"), Entry(NONE, MODULE, ZERO, ONE, b"m"), Entry(MODULE, NONE, ONE, ZERO, b"m"),
     Entry(NONE, b"040000", ZERO, ONE, b"m")],
)  # fmt: skip
def test_no_submodule_and_no_unknown_mode(entry: Entry) -> None:
    assert "submodule" in look(head("m", entry.old, entry.new), [entry])


def test_a_damaged_entry_may_still_be_deleted() -> None:
    """A repository that holds an odd path already may lose it."""
    assert look(head("a//b", ONE, ZERO), [Entry(FILE, NONE, ONE, ZERO, b"a//b")]) == ""


@pytest.mark.parametrize(
    "patch",
    [head("b", ONE, TWO), head("a", ONE, ONE), head("a", ZERO, TWO), head("a", ONE, TWO) + head("b", ZERO, ONE),
     head("a", ONE, TWO) * 2, b"", b"diff --git a/a b/b\nindex " + ONE + b".." + TWO + b"\n"],
)  # fmt: skip
def test_another_patch_than_what_was_done(patch: bytes) -> None:
    assert look(patch, [Entry(FILE, FILE, ONE, TWO, b"a")]) != ""


def test_a_mode_alone() -> None:
    entry = Entry(FILE, RUNS, ONE, ONE, b"a")
    patch = b"diff --git a/a b/a\nold mode 100644\nnew mode 100755\n"
    assert look(patch, [entry]) == ""
    assert look(patch.replace(b"a/a b/a", b"a/b b/b"), [entry]) != ""
    assert look(head("a", ONE, TWO), [entry]) != ""
    assert "the mode of 'a'" in look(patch, [replace(entry, new_mode=FILE)])


MODES_UNTOLD = {
    "none": b"",
    "the new one alone": b"new mode 100755\n",
    "the old one alone": b"old mode 100644\n",
    "one that stays": b"old mode 100755\nnew mode 100755\n",
    "the other way round": b"old mode 100755\nnew mode 100644\n",
    "in other digits": b"old mode 100644\nnew mode 000755\n",
    "behind another line": b"similarity index 90%\nold mode 100644\nnew mode 100755\n",
}


@pytest.mark.parametrize("what", MODES_UNTOLD)
def test_a_file_that_becomes_a_program_beside_a_change_of_its_content(what: str) -> None:
    """git takes every one of these, so that `allowWillRun` was passed by."""
    entry, named = Entry(FILE, RUNS, ONE, TWO, b"a"), b"diff --git a/a b/a\n"
    blobs = b"index " + ONE + b".." + TWO + b"\n"
    assert look(named + b"old mode 100644\nnew mode 100755\n" + blobs, [entry]) == "", "control"
    assert "'a'" in look(named + MODES_UNTOLD[what] + blobs, [entry])
    assert look(named + blobs + MODES_UNTOLD[what], [entry]) != ""
    assert "the mode of 'a'" in look(head("a", ONE, TWO), [entry])


@pytest.mark.parametrize("said", [b"100644", b"000755", b"020755", b"120644", b"120000"])
def test_a_new_file_has_the_mode_that_was_said(said: bytes) -> None:
    patch, made = added("a", RUNS)
    assert look(patch, made) == "", "control"
    assert "the mode of 'a'" in look(patch.replace(RUNS, said), made)


def test_a_link_whose_head_does_not_say_that_it_is_one() -> None:
    entry, patch = Entry(LINK, LINK, ONE, TWO, b"l"), head("l", ONE, TWO, LINK)
    assert look(patch, [entry], b"b") == "", "control"
    assert "the mode of 'l'" in look(patch.replace(b" 120000", b""), [entry], b"b")
    assert "the mode of 'l'" in look(head("l", ONE, TWO), [entry], b"b")


@pytest.mark.parametrize("blob", [ONE, TWO])
def test_a_file_that_becomes_a_link(blob: bytes) -> None:
    """With the same content, too: the text of a file may be a path."""
    entry = Entry(FILE, LINK, ONE, blob, b"a")
    patch = head("a", ONE, ZERO) + head("a", ZERO, blob, LINK)
    assert look(patch, [entry], b"b") == ""
    assert look(head("a", ONE, ZERO) + head("a", ZERO, blob), [entry], b"b") != ""
    assert look(head("a", ONE, blob), [entry], b"b") != ""


def test_a_quoted_name() -> None:
    entry = Entry(FILE, FILE, ONE, TWO, b'a\n"\xff\\')
    name = rb"a\n\"\377\\"
    patch = b'diff --git "a/%b" "b/%b"\nindex %b..%b 100644\n' % (name, name, ONE, TWO)
    assert look(patch, [entry]) == ""


def test_nothing_changed() -> None:
    assert "changes nothing" in look(head("a", ONE, TWO), [])
