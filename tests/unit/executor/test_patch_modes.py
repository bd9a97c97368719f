"""A patch is read only where git can read no other mode out of it: what runs hides behind one."""

import pytest
from guildhall_executor.patch import FileChange, parse_patch

MODIFIED = (
    b"diff --git a/src/x.py b/src/x.py\nindex 1111111..2222222 100644\n--- a/src/x.py\n+++ b/src/x.py\n"
    b"@@ -1 +1,2 @@\n-b\n+B\n+C\n"
)
BINARY = (
    b"diff --git a/i b/i\nindex 1111111..2222222 100644\nGIT binary patch\nliteral 3\nKc$@x\n\nliteral 0\nHc$@x\n\n"
)
BECOMES = b"old mode 100644\nnew mode 100755\n"
CHANGED = MODIFIED.replace(b"22 100644", b"22").replace(b"index", BECOMES + b"index")
LINKED = (
    b"diff --git a/.husky b/.husky\nindex 1111111..2222222 120000\n--- a/.husky\n+++ b/.husky\n@@ -1 +1 @@\n-a\n"
    b"\\ No newline at end of file\n+b\n\\ No newline at end of file\n"
)
NEW_BINARY = BINARY.replace(b"index", b"new file mode 100644\nindex").replace(b"22 100644", b"22")
MODES_OF_NO_PATCH = {
    "no mode": CHANGED.replace(BECOMES, b""),
    "a new mode alone": CHANGED.replace(b"old mode 100644\n", b""),
    "an old mode alone": CHANGED.replace(b"new mode 100755\n", b""),
    "a mode that stays": CHANGED.replace(b"old mode 100644", b"old mode 100755"),
    "modes the other way round": CHANGED.replace(BECOMES, b"new mode 100755\nold mode 100644\n"),
    "modes behind the blobs": CHANGED.replace(BECOMES, b"").replace(b"--- a", BECOMES + b"--- a"),
    "two modes and one for both": CHANGED.replace(b"2222222", b"2222222 100644"),
    "a file that becomes a link in one step": CHANGED.replace(b"100755", b"120000"),
    "a changed link without its mode": LINKED.replace(b" 120000", b""),
    "a link in binary data": NEW_BINARY.replace(b"100644", b"120000"),
    "a changed link in binary data": BINARY.replace(b"100644", b"120000"),
    "a new file, and a mode behind it": NEW_BINARY.replace(b"index", b"new mode 100755\nindex"),
    "a new file, and a mode beside its blobs": NEW_BINARY.replace(b"2222222", b"2222222 100755"),
}
MODES_OF_NO_PATCH |= {
    f"a new file of mode {mode}": NEW_BINARY.replace(b"100644", mode.encode())
    for mode in ("000755", "020755", "120644", "100664", "040000", "160000", "100645")
}


def only(patch: bytes) -> FileChange:
    files = parse_patch(patch)
    assert files is not None
    assert len(files) == 1, files
    return files[0]


def test_what_carries_a_mode_is_read() -> None:
    """The controls of the next one."""
    assert only(CHANGED) == FileChange(b"src/x.py", "modified", 2, 1, executable=True)
    assert only(LINKED) == FileChange(b".husky", "modified", 1, 1, target=b"b", obeyed=True)
    assert only(NEW_BINARY) == FileChange(b"i", "added", binary=True)
    assert only(NEW_BINARY.replace(b"100644", b"100755")) == FileChange(b"i", "added", binary=True, executable=True)


@pytest.mark.parametrize("name", MODES_OF_NO_PATCH)
def test_a_mode_that_git_would_read_otherwise_is_no_patch(name: str) -> None:
    """Each made a program or a retargeted link of a file that was shown as a plain one."""
    assert parse_patch(MODES_OF_NO_PATCH[name]) is None
    assert parse_patch(MODIFIED + MODES_OF_NO_PATCH[name]) is None
