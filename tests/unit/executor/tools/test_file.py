"""`write_file`, `edit_file`, `read_file`, `list_files` and `search_files` through the real workshop (reports FT-*)."""

import os
from pathlib import Path

import pytest
from guildhall_contracts import limits
from guildhall_executor.tools import text
from support.tool_place import Place

pytestmark = pytest.mark.go


def put(place: Place, name: str, data: bytes, mode: int = 0o644) -> Path:
    path = place.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    return path


async def test_crlf_survives_an_edit_in_both_modes(place: Place) -> None:
    """FT-01, FT-10."""
    for every in (False, True):
        path = put(place, "f", b"one\r\ntwo\r\nthree")
        assert not (await place.edit("f", "one\ntwo", "ONE\nTWO", all=every)).result.is_error
        assert path.read_bytes() == b"ONE\r\nTWO\r\nthree"


async def test_what_is_read_can_be_edited_whatever_the_encoding(place: Place) -> None:
    """What `read_file` shows of the second line is found by `edit_file`, and only that line's bytes change."""
    for name, encoding in {"u8": "utf-8", "bom": "utf-8-sig", "le": "utf-16", "ascii": "ascii"}.items():
        content = "eins\r\nzwei = 1\r\ndrei" if encoding == "ascii" else "é1\r\nzwei = ü\r\n日本"
        path = put(place, name, content.encode(encoding))
        shown = (await place.read(name)).result.shown.split("\n")
        assert not (await place.edit(name, f"{shown[0]}\n{shown[1]}", f"{shown[0]}\nnew")).result.is_error
        lines = content.split("\r\n")
        assert path.read_bytes() == f"{lines[0]}\r\nnew\r\n{lines[2]}".encode(encoding)


async def test_a_pointer_is_said_to_be_one(place: Place) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:%b\nsize 12345\n" % (b"a" * 64)
    put(place, "model.bin", pointer)
    put(place, "notes.md", b"see " + pointer)
    shown = (await place.read("model.bin")).result.shown
    assert "size 12345\n[guildhall: a Git LFS pointer: the content it stands for was not fetched]" in shown
    assert "LFS pointer" not in (await place.read("notes.md")).result.shown, "control: a text that speaks of one"


async def test_a_latin_1_file_survives_or_the_edit_is_refused(place: Place) -> None:
    path = put(place, "f", b"caf\xe9 = 1\n\xfc\n")
    assert (await place.read("f")).result.shown == "caf\\xe9 = 1\n\\xfc"
    assert not (await place.edit("f", "= 1", "= 2")).result.is_error
    assert path.read_bytes() == b"caf\xe9 = 2\n\xfc\n"
    for old, new, code in [("= 2", "= é", "binary"), ("café", "x", "no_match"), ("caf\\xe9", "x", "no_match")]:
        assert (await place.edit("f", old, new)).result.error_code == code
    assert (await place.write("f", "überschrieben\n")).result.error_code == "binary"
    assert path.read_bytes() == b"caf\xe9 = 2\n\xfc\n"


async def test_a_rewrite_keeps_the_form_of_the_file(place: Place) -> None:
    cases = {"bom": b"\xef\xbb\xbfa\r\n", "wide": "\ufeffa\n".encode("utf-16-le"), "plain": b"a\n"}
    for name, before in cases.items():
        put(place, name, before, 0o755)
    kept = {name: (await place.write(name, "b\nc\n")).result.shown.partition("; ")[2] for name in cases}
    assert kept == {
        "bom": "kept its CRLF line endings; kept its byte order mark",
        "wide": "kept its UTF-16",
        "plain": "",
    }
    assert (place.folder / "bom").read_bytes() == b"\xef\xbb\xbfb\r\nc\r\n"
    assert (place.folder / "wide").read_bytes() == "\ufeffb\nc\n".encode("utf-16-le")
    assert (place.folder / "plain").read_bytes() == b"b\nc\n"
    assert {(place.folder / name).stat().st_mode & 0o777 for name in cases} == {0o755}


async def test_only_the_edited_line_of_a_mixed_file_changes(place: Place) -> None:
    """FT-02."""
    path = put(place, "f", b"1\r\n2\n3\r\n4\r5\n6\n7\r\n8\n9\r\n10")
    assert not (await place.edit("f", "3", "drei")).result.is_error
    assert path.read_bytes() == b"1\r\n2\ndrei\r\n4\r5\n6\n7\r\n8\n9\r\n10"
    numbered = await place.edit("f", "     1\t1\n     2\t2", "x")
    assert "line-number prefixes" in numbered.result.shown


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o640])
async def test_modes_and_links_stay(place: Place, mode: int) -> None:
    """FT-04."""
    path = put(place, "script", b"old\n", mode)
    (place.folder / "link").symlink_to("script")
    assert not (await place.edit("link", "old", "new")).result.is_error
    assert (path.read_bytes(), path.stat().st_mode & 0o7777) == (b"new\n", mode)
    assert (place.folder / "link").is_symlink()
    put(place, "fixed", b"old\n", 0o444)
    assert (await place.edit("fixed", "old", "new")).result.error_code == "permission_denied"


async def test_new_text_is_taken_literally(place: Place) -> None:
    """FT-05."""
    for new in ["\\1 \\g<0> $& $$ ${x} %s {0} \\", "\\", "$'\\n'", "a\\\\b"]:
        path = put(place, "f", b"<old>")
        assert not (await place.edit("f", "old", new)).result.is_error
        assert path.read_bytes() == f"<{new}>".encode()


async def test_what_we_showed_in_place_of_text_is_not_written(place: Place) -> None:
    """FT-08."""
    path = put(place, "f", b"".join(b"line %d\n" % n for n in range(9_000)))
    footer = (await place.read("f")).result.shown.rsplit("\n", 1)[1]
    assert text.has_mark(footer)
    for ran in (await place.write("f", f"x\n{footer}\n"), await place.edit("f", "line 1\n", footer)):
        assert ran.result.error_code == "invalid_argument"
        assert "stands for text that was left out" in ran.result.shown
    assert path.read_bytes().startswith(b"line 0\nline 1\n")


async def test_three_ways_not_to_match_are_three_errors(place: Place) -> None:
    """FT-10."""
    path = put(place, "f", b"x\nfoo\nfoo\nfoo  \nbar\n")
    said = [(await place.edit("f", old, "new")).result.shown for old in ("foo", "foo\nbar")]
    assert "occurs 3 times, at lines 2, 3, 4" in said[0]
    assert "trailing whitespace at line 4" in said[1]
    assert path.read_bytes() == b"x\nfoo\nfoo\nfoo  \nbar\n"


async def test_a_window_anywhere_in_a_huge_file(place: Place) -> None:
    path = place.folder / "huge"
    with path.open("wb") as out:
        for start in range(0, 3_000_000, 100_000):
            out.write(b"".join(b"line %d\n" % n for n in range(start + 1, start + 100_001)))
    shown = (await place.read("huge", start_line=2_999_999, max_lines=2)).result.shown
    assert shown == "line 2999999\nline 3000000"
    middle = (await place.read("huge", start_line=1_500_000, max_lines=1)).result.shown
    assert middle.startswith("line 1500000\n[guildhall: lines 1500000-1500000 of at least ")
    assert (await place.read("huge", start_line=3_000_001)).result.shown.endswith("the last is 3000000")


async def test_huge_lines_are_cut_and_the_line_after_them_is_reached(place: Place) -> None:
    put(place, "f", b"first\n" + b"x" * 20_000_000 + b"\nlast\n")
    whole = await place.read("f")
    assert len(whole.result.shown.encode()) < 16_000
    assert (await place.read("f", start_line=3)).result.shown == "last"
    assert "the rest of this line is left out" in (await place.read("f", start_line=2)).result.shown


async def test_a_large_folder_and_a_deep_one_are_bounded_and_say_so(place: Place) -> None:
    for number in range(2_500):
        (place.folder / f"f{number:04}").touch()
    listing = (await place.list()).result.shown
    assert text.has_mark(listing)
    assert "f0000 (0 bytes)" in listing
    assert len(listing.encode()) <= limits.EVENT_TOOL_OUTPUT_MAX_BYTES
    deep = place.folder
    (place.folder / "zz").mkdir()
    fd = os.open(place.folder / "zz", os.O_DIRECTORY)
    try:
        for _ in range(1_500):  # far beyond what a path can say
            os.mkdir("d", dir_fd=fd)
            below = os.open("d", os.O_DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
    finally:
        os.close(fd)
    assert (await place.list("zz", depth=32)).result.shown.count("d/\n") >= 31
    assert not (await place.search("nothing", path="zz")).result.is_error
    assert (await place.shell(f"rm -rf {deep}/zz")).result.exit_code == 0


async def test_names_are_shown_without_what_they_hide(place: Place) -> None:
    for name in ("a\nb", "c\u202etxt.exe", "d\x1b[2J", b"e\xff".decode("utf-8", "surrogateescape"), "-rf", "f\u200b"):
        put(place, name, b"needle\n")
    listing = (await place.list()).result.shown
    assert listing.split("\n") == [
        "-rf (7 bytes)", "a\\x0ab (7 bytes)", "c\\xe2\\x80\\xaetxt.exe (7 bytes)", "d\\x1b[2J (7 bytes)",
        "e\\xff (7 bytes)", "f\\xe2\\x80\\x8b (7 bytes)",
    ]  # fmt: skip
    found = (await place.search("needle")).result.shown
    assert found.count("\n") == 5
    assert not (await place.read("-rf")).result.is_error


async def test_a_name_is_used_as_it_was_shown(place: Place) -> None:
    odd = ("a\nb", "c\u202etxt.exe", b"e\xff".decode("utf-8", "surrogateescape"), "g\ufe01h\u3164", "✔\ufe0f.md")
    for name in (*odd, "sub\x01/f"):
        put(place, name, b"one\n")
    names = [line.partition(" (")[0].rstrip("/") for line in (await place.list()).result.shown.split("\n")]
    assert {"sub\\x01", "g\\u{fe01}h\\u{3164}", "✔\ufe0f.md"} <= set(names)
    assert (await place.list("sub\\x01")).result.shown == "sub\\x01/f (4 bytes)"
    assert (await place.search("one", path="sub\\x01")).result.shown == "sub\\x01/f:1: one"
    for name in [each for each in names if each != "sub\\x01"]:
        assert (await place.read(name)).result.shown == "one"
        assert not (await place.edit(name, "one", "two")).result.is_error
        assert "replaced" in (await place.write(name, "three\n")).result.shown
    assert {path.read_bytes() for path in place.folder.iterdir() if path.is_file()} == {b"three\n"}
    put(place, "a\\x0ab", b"literal\n")  # a name that looks like an escape is itself first
    assert (await place.read("a\\x0ab")).result.shown == "literal"
    assert "created" in (await place.write("n\\x0aw", "x")).result.shown
    assert (place.folder / "n\\x0aw").exists()
    assert (await place.read("\\x2e\\x2e/outside")).result.error_code == "not_found"


async def test_a_search_that_passes_files_over_says_so(place: Place) -> None:
    put(place, "large", b"needle\n" * 1_500_000)
    put(place, "binary", b"\0needle\n")
    put(place, ".git/config", b"needle\n")
    assert (await place.search("needle")).result.shown == (
        f"no matches\n[guildhall: 1 files over {limits.SEARCH_FILE_MAX_BYTES} bytes were not searched]"
    )
    put(place, "small", b"needle\n")
    assert (await place.search("needle", glob="s*")).result.shown.split("\n")[0] == "small:1: needle"


@pytest.mark.parametrize("pattern", ["-needle", "(a+)+$", "x*", "[", "(?<=a)b", "a{1000}{1000}"])
async def test_any_pattern_is_data_and_ends(place: Place, pattern: str) -> None:
    """F9."""
    put(place, "f", b"-needle " + b"a" * 100_000 + b"!\n")
    ran = await place.search(pattern)
    assert ran.result.error_code in (None, "invalid_argument")
    if pattern == "-needle":
        assert "f:1: -needle" in ran.result.shown
    if pattern == "[":
        assert ran.result.shown.endswith("missing closing ]: `[`"), "an error quotes what was asked"
