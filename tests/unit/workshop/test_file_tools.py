"""The file operations of the real binary: bytes kept, modes kept, errors that say what to do (FT-01 to FT-10)."""

import hashlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import frames, limits
from support.workshop import Client, Workshop, b64, running, unb64

pytestmark = pytest.mark.go


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with running(tmp_path, with_baseline=False) as workshop:
        yield workshop


@pytest.fixture
def client(shop: Workshop) -> Iterator[Client]:
    with shop.client() as one:
        yield one


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_read_pieces_and_whole(shop: Workshop, client: Client) -> None:
    data = bytes(range(256)) * 4_000
    (shop.workspace / "big").write_bytes(data)
    first = client.call(frames.ReadRequest, path="big").last
    assert (first.size, first.sha256, first.utf8) == (len(data), None, False)
    second = client.call(frames.ReadRequest, path="big", offset=limits.FRAME_DATA_MAX_BYTES).last
    assert unb64(first.data) + unb64(second.data) == data
    assert unb64(client.call(frames.ReadRequest, path="big", offset=len(data) + 5).last.data) == b""
    (shop.workspace / "text").write_text("é\n")
    whole = client.call(frames.ReadRequest, path="text").last
    assert (whole.utf8, whole.sha256, whole.mode) == (True, sha256("é\n".encode()), 0o644)
    (shop.workspace / "empty").touch(mode=0o600)
    assert client.call(frames.ReadRequest, path="empty").last.sha256 == sha256(b"")


def test_modes_and_links_stay(shop: Workshop, client: Client) -> None:
    """FT-04."""
    for name, mode in (("script", 0o755), ("private", 0o600), ("frozen", 0o444)):
        (shop.workspace / name).write_text("old text\n")
        (shop.workspace / name).chmod(mode)
    (shop.workspace / "link").symlink_to("script")
    for name in ("script", "private", "link"):
        assert not client.call(frames.EditRequest, path=name, old=b64("old"), new=b64("new")).code
        assert not client.call(frames.WriteRequest, path=name, data=b64("written old\n")).code
    attempts: list[tuple[type[frames.Request], dict[str, Any]]] = [
        (frames.EditRequest, {"old": b64("old"), "new": b64("new")}),
        (frames.WriteRequest, {"data": b64("x")}),
    ]
    for operation, fields in attempts:
        assert client.call(operation, path="frozen", **fields).code == "permission_denied"
    modes = {path.name: path.stat().st_mode & 0o7777 for path in shop.workspace.iterdir()}
    assert modes == {"script": 0o755, "private": 0o600, "frozen": 0o444, "link": 0o755}
    assert (shop.workspace / "link").is_symlink()
    assert (shop.workspace / "script").read_text() == "written old\n"
    assert (shop.workspace / "frozen").read_text() == "old text\n"


def test_edit_touches_one_line_of_a_mixed_file(shop: Workshop, client: Client) -> None:
    """FT-02, FT-05."""
    content = b"1\r\n2\n3\r\n4\r5\n6\xff\n7\r\n8"
    (shop.workspace / "mixed").write_bytes(content)
    done = client.call(frames.EditRequest, path="mixed", old=b64("3"), new=b64(r"\1 \g<0> $& $$" + "\\")).last
    after = content.replace(b"3", rb"\1 \g<0> $& $$" + b"\\")
    assert (shop.workspace / "mixed").read_bytes() == after
    assert (done.lines, done.size, done.sha256) == ([3], len(after), sha256(after))


def test_failed_edits_change_nothing(shop: Workshop, client: Client) -> None:
    """FT-10."""
    (shop.workspace / "a").write_text("x\nfoo \nx\nx\n")
    before = (shop.workspace / "a").stat()
    for old, code, says in (
        ("x", "ambiguous", "3 times, at lines 1, 3, 4"), ("foo\nx", "no_match", "trailing whitespace at line 2"),
        ("", "invalid_argument", "empty search text"), ("zebra", "no_match", "not found"),
    ):  # fmt: skip
        answer = client.call(frames.EditRequest, path="a", old=b64(old), new=b64("y"))
        assert answer.code == code
        assert says in answer.last.message
    assert client.call(frames.EditRequest, path="none", old=b64("a"), new=b64("b")).code == "not_found"
    assert client.call(frames.EditRequest, path=".", old=b64("a"), new=b64("b")).code == "invalid_argument"
    after = (shop.workspace / "a").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [path.name for path in shop.workspace.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("content", "old", "refusal"),
    [
        (b"aaa", "aa", ("ambiguous", "occurs 2 times that overlap, at lines 1, 1")),
        (b"}\n}\n}\n", "}\n}\n", ("ambiguous", "overlap, at lines 1, 2")),
        ("表x\n".encode("shift_jis"), "\\", ("binary", "inside a character (bytes 0x95 0x5c)")),
        ("一b丂\n".encode("gbk"), "@", ("binary", "inside a character (bytes 0x81 0x40)")),
    ],
)
def test_edits_that_would_hit_the_wrong_bytes_change_nothing(
    shop: Workshop, client: Client, content: bytes, old: str, refusal: tuple[str, str]
) -> None:
    (shop.workspace / "a").write_bytes(content)
    answer = client.call(frames.EditRequest, path="a", old=b64(old), new=b64("/"))
    assert answer.code == refusal[0]
    assert refusal[1] in answer.last.message
    assert (shop.workspace / "a").read_bytes() == content


def test_stale_files_are_noticed(shop: Workshop, client: Client) -> None:
    (shop.workspace / "a").write_text("one\n")
    known = client.call(frames.ReadRequest, path="a").last.sha256
    assert not client.call(frames.WriteRequest, path="a", data=b64("two\n"), expect_sha256=known).code
    attempts: list[tuple[type[frames.Request], dict[str, Any]]] = [
        (frames.WriteRequest, {"data": b64("three\n")}),
        (frames.EditRequest, {"old": b64("two"), "new": b64("three")}),
    ]
    for operation, fields in attempts:
        assert client.call(operation, path="a", expect_sha256=known, **fields).code == "stale"
    assert client.call(frames.WriteRequest, path="none", data="", expect_sha256=known).code == "stale"
    assert (shop.workspace / "a").read_text() == "two\n"


def test_create_parents_and_existing(shop: Workshop, client: Client) -> None:
    made = client.call(frames.WriteRequest, path="a/b/c", data=b64("x"), must_create=True).last
    assert (made.created, made.size) == (True, 1)
    assert client.call(frames.WriteRequest, path="a/b/c", data="", must_create=True).code == "exists"
    assert not client.call(frames.WriteRequest, path="a/b/c", data=b64("yy")).last.created
    assert client.call(frames.WriteRequest, path="n/o", data="", make_parents=False).code == "not_found"
    assert client.call(frames.WriteRequest, path="a", data="").code == "is_directory"
    assert client.call(frames.WriteRequest, path="a/b/c/d", data="").code == "not_directory"
    assert client.call(frames.ReadRequest, path="a").code == "is_directory"
    assert client.call(frames.ListRequest, path="a/b/c").code == "not_directory"
    assert (shop.workspace / "a/b/c").read_text() == "yy"


def test_make_and_delete(shop: Workshop, client: Client) -> None:
    assert not client.call(frames.MkdirRequest, path="x/y/z").code
    assert not client.call(frames.MkdirRequest, path="x/y/z").code
    assert client.call(frames.MkdirRequest, path="x/y/z", parents=False).code == "exists"
    assert client.call(frames.MkdirRequest, path="q/r", parents=False).code == "not_found"
    (shop.workspace / "x/f").write_text("x")
    (shop.workspace / "x/f2").symlink_to("f")
    assert client.call(frames.DeleteRequest, path="x").code == "invalid_argument"
    assert client.call(frames.DeleteRequest, path="", recursive=True).code == "invalid_argument"
    assert not client.call(frames.DeleteRequest, path="x/y/z").code
    for number in range(3_000):
        (shop.workspace / "x/y" / str(number)).touch()
    assert not client.call(frames.DeleteRequest, path="x", recursive=True).code
    assert client.call(frames.DeleteRequest, path="x", recursive=True).code == "not_found"
    assert list(shop.workspace.iterdir()) == []


def test_list_is_ordered_and_bounded(shop: Workshop, client: Client) -> None:
    for name in ("b/inner/deep", ".git/objects/x", "a", "c"):
        (shop.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (shop.workspace / name).write_text("12345")
    (shop.workspace / "l").symlink_to("/etc/passwd")
    names = [entry.path for entry in client.call(frames.ListRequest, depth=9).last.entries]
    assert names == [".git", "a", "b", "b/inner", "b/inner/deep", "c", "l"]
    assert [entry.path for entry in client.call(frames.ListRequest, depth=2, path="b").last.entries] == names[3:5]
    assert [entry.path for entry in client.call(frames.ListRequest, path=".git").last.entries] == [".git/objects"]
    entry = client.call(frames.StatRequest, path="l").last.entry
    assert (entry.kind, entry.target) == ("symlink", "/etc/passwd")
    assert client.call(frames.StatRequest).last.entry.kind == "directory"
    cut = client.call(frames.ListRequest, limit=3).last
    assert (len(cut.entries), cut.truncated) == (3, True)
    for number in range(2_500):
        (shop.workspace / f"{number:04}{'n' * 240}").touch()
    full = client.call(frames.ListRequest).last
    assert full.truncated
    assert len(full.entries) > 1_000


@pytest.mark.skipif(os.getuid() != 0, reason="mounting a small volume needs root")
def test_a_full_volume_leaves_the_old_file(tmp_path: Path) -> None:
    """FT-09."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(workspace)], check=True)
    try:
        with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
            old = b"o" * 10_240
            (workspace / "file").write_bytes(old)
            answer = client.call(frames.WriteRequest, path="file", data=b64(b"n" * 500_000))
            assert answer.code == "no_space"
            assert (workspace / "file").read_bytes() == old
            assert client.call(frames.WriteRequest, path="new", data=b64(b"n" * 500_000)).code == "no_space"
            assert [path.name for path in workspace.iterdir()] == ["file"]
            assert not client.call(frames.WriteRequest, path="file", data=b64(b"n" * 20_000)).code  # control
    finally:
        subprocess.run(["umount", str(workspace)], check=True)


def test_search(shop: Workshop, client: Client) -> None:
    (shop.workspace / "src").mkdir()
    (shop.workspace / ".git").mkdir()
    (shop.workspace / ".git/config").write_text("needle\n")
    (shop.workspace / "src/a.py").write_text("x\r\nneedle = 1\r\n")
    (shop.workspace / "src/b.txt").write_text("Needle\n" * 700)
    (shop.workspace / "bin").write_bytes(b"\0needle\n")
    (shop.workspace / "huge").write_bytes(b"needle\n" + b"x" * limits.SEARCH_FILE_MAX_BYTES)
    found = client.call(frames.SearchRequest, pattern="^needle = [0-9]$").last
    assert [(match.path, match.line, match.text) for match in found.matches] == [("src/a.py", 2, "needle = 1")]
    assert (found.truncated, found.files_searched) == (False, 2)
    both = client.call(frames.SearchRequest, pattern="needle", ignore_case=True, limit=500).last
    assert (len(both.matches), both.truncated) == (500, True)
    only = client.call(frames.SearchRequest, path="src", pattern="needle", glob="*.py").last
    assert [match.path for match in only.matches] == ["src/a.py"]
    assert client.call(frames.SearchRequest, path="none", pattern="a").code == "not_found"


def test_search_finds_what_a_reader_sees_in_marked_files(shop: Workshop, client: Client) -> None:
    """Reads and edits took UTF-16 as text, and a search passed over it without a word."""
    text = "eins\r\nneedle ü😀\r\n"
    files = {
        "a_le": text.encode("utf-16"),
        "b_be": b"\xfe\xff" + text.encode("utf-16-be"),
        "c_utf8": b"\xef\xbb\xbfneedle\n",
        "d_odd": "needle\n".encode("utf-16") + b"x",
        "e_long": ("x" * 9_000 + "\nneedle\n").encode("utf-16"),
        "f_utf32": "needle\n".encode("utf-32"),
        "g_unmarked": "needle\n".encode("utf-16-le"),
        "h_nul": "a\0 needle\n".encode("utf-16"),
    }
    for name, content in files.items():
        (shop.workspace / name).write_bytes(content)
    found = client.call(frames.SearchRequest, pattern="^needle").last
    shown = [(match.path, match.line, match.text) for match in found.matches]
    assert shown == [
        ("a_le", 2, "needle ü😀"), ("b_be", 2, "needle ü😀"), ("c_utf8", 1, "needle"), ("d_odd", 1, "needle"),
        ("e_long", 2, "needle"),
    ]  # fmt: skip
    assert found.files_searched == 5, "UTF-32, what has no mark and what holds NUL characters is binary for a read too"
    assert client.call(frames.SearchRequest, pattern="NEEDLE Ü", ignore_case=True, path="a_le").last.matches


@pytest.mark.parametrize("glob", ["./src/*.py", "/src/*.py", ".//src/a.py", "src/", "src/*.py"])
def test_search_takes_a_glob_however_its_root_is_spelt(shop: Workshop, client: Client, glob: str) -> None:
    for name in ("src/a.py", "lib/src/b.py"):
        (shop.workspace / name).parent.mkdir(parents=True)
        (shop.workspace / name).write_text("needle\n")
    found = client.call(frames.SearchRequest, pattern="needle", glob=glob).last
    assert [match.path for match in found.matches] == ["src/a.py"]


@pytest.mark.slow
def test_search_of_a_hundred_thousand_files() -> None:
    """In memory: making the files on a disk takes longer than everything else here."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory) as base, running(Path(base), with_baseline=False) as shop:
        for folder in range(1_000):
            place = shop.workspace / f"d{folder}"
            place.mkdir()
            for number in range(100):
                (place / f"f{number}").write_text(f"line {folder} {number}\n")
        with shop.client() as client:
            before, began = shop.rss_bytes(), time.monotonic()
            found = client.call(frames.SearchRequest, pattern="line 999 9[0-9]$").last
            took = time.monotonic() - began
            assert (len(found.matches), found.files_searched, found.truncated) == (10, 100_000, False)
            assert took < 20
            bounded = client.call(frames.SearchRequest, pattern="LINE", ignore_case=True, limit=100).last
            assert (len(bounded.matches), bounded.truncated) == (100, True)
            assert bounded.files_searched < 5_000, "it stops when it has enough"
            listing = client.call(frames.ListRequest, depth=32).last
            assert (len(listing.entries), listing.truncated) == (limits.LIST_MAX_ENTRIES, True)
            assert shop.rss_bytes() - before < 64 * limits.MIB


def test_two_edits_at_once_are_both_kept(shop: Workshop, client: Client) -> None:
    (shop.workspace / "a").write_text("".join(f"line {number};\n" for number in range(50)))
    calls = [
        client.start(frames.EditRequest, path="a", old=b64(f"line {number};"), new=b64(f"LINE {number};"))
        for number in range(50)
    ]
    for call in calls:
        assert not client.finish(call).code
    assert (shop.workspace / "a").read_text() == "".join(f"LINE {number};\n" for number in range(50))
