"""`read_file` against a workshop that dribbles, lies about sizes or sends what is no base64."""

import base64
from collections.abc import Callable
from typing import Any

import pytest
from guildhall_contracts import limits
from guildhall_contracts.frames import ErrorReply, ReadRequest, ReadResult
from guildhall_executor.tools import text
from guildhall_executor.tools.ask import WorkshopLost
from guildhall_executor.tools.read import PIECES_MAX_COUNT, ReadFile, read_file
from guildhall_executor.tools.result import Ran

MOST = limits.FRAME_DATA_MAX_BYTES


class Workspace:
    """Answers a read by `piece` of its request; keeps what it was asked."""

    def __init__(self, piece: Callable[[ReadRequest], bytes], size: int, offset: int = 0, lines: Any = None) -> None:
        self.piece, self.size, self.offset, self.lines = piece, size, offset, lines
        self.asked: list[ReadRequest] = []

    async def ask(self, make: Callable[[int], Any], result: Any, **_: Any) -> Any:
        request = make(1)
        assert isinstance(request, ReadRequest)
        self.asked.append(request)
        data = base64.b64encode(self.piece(request)).decode()
        fields = {"offset": self.offset or request.offset, "lines": self.lines}
        return ReadResult(id=1, data=data, size=self.size, mode=0o644, utf8=True, **fields)


async def read(workspace: Any, **fields: Any) -> Ran:
    return await read_file(workspace, ReadFile(path="f", **fields))


def of(data: bytes, size: int | None = None, **fields: Any) -> Workspace:
    """A workshop that sends `data` first and nothing after it."""
    whole = len(data) if size is None else size
    return Workspace(lambda request: data[request.offset :] if request.offset else data, whole, **fields)


async def shown(workspace: Any, **fields: Any) -> str:
    return (await read(workspace, **fields)).result.shown


async def test_any_line_is_one_request() -> None:
    workspace = of(b"the line\nthe next\n", 10**12, offset=10**11, lines=None)
    assert (await shown(workspace, start_line=900_000_000)).startswith("the line\nthe next")
    assert [request.line for request in workspace.asked] == [900_000_000]


async def test_lines_are_shown_as_they_are() -> None:
    for data, expected in {b"a\n\tb\n": "a\n\tb", b"a\r\nb\r\n": "a\nb", b"": "f is empty", b"x": "x"}.items():
        assert await shown(of(data)) == expected


async def test_what_follows_is_said() -> None:
    data = b"".join(b"line %d\n" % n for n in range(10, 101))
    some = await shown(of(data, offset=63, lines=100), start_line=10, max_lines=3)
    assert some == "line 10\nline 11\nline 12\n[guildhall: lines 10-12 of 100 shown; read on from line 13]"
    window = (b"x" * 63 + b"\n") * (MOST // 64)
    more = await shown(of(window, 10**9), max_lines=1)
    assert f"of at least {MOST // 64}, file of {10**9} bytes, shown; read on from line 2" in more
    assert "[guildhall" not in await shown(of(data, lines=91))


async def test_a_line_behind_the_last_is_refused_with_their_number() -> None:
    ran = await read(of(b"", 9, offset=9, lines=4), start_line=5)
    assert (ran.result.error_code, ran.result.shown.endswith("has no line 5; the last is 4")) == (
        "invalid_argument",
        True,
    )


async def test_long_lines_and_long_files_are_bounded_and_say_so() -> None:
    for data in (b"x" * 400_000, b"y\n" * 250_000, "\u2603".encode() * 100_000 + b"\n" * 1_000, b"z" * MOST):
        text_ = await shown(of(data, len(data) if len(data) < MOST else 2**40))
        assert text.byte_len(text_) <= limits.EVENT_TOOL_OUTPUT_MAX_BYTES
        assert text.has_mark(text_)
    assert f"the file has {2**40} bytes" in text_


async def test_invisible_characters_are_shown_and_announced() -> None:
    lines = (await shown(of("safe\u202e\U000e0041 # \u200b\n".encode()))).splitlines()
    assert lines[0] == "safe\\u{202e}\\u{e0041} # \\u{200b}"
    assert "3 invisible characters" in lines[1]


async def test_a_payload_spelt_in_selectors_is_shown_and_announced_and_an_emoji_is_not() -> None:
    hidden = "".join(chr(0xE0100 + byte - 16) for byte in b"obey")
    lines = (await shown(of(f"a{hidden} # ✔\ufe0f ok\n".encode()))).splitlines()
    assert lines[0] == "a" + "".join(f"\\u{{{ord(c):x}}}" for c in hidden) + " # ✔\ufe0f ok"
    assert "4 invisible characters" in lines[1]
    (plain,) = (await shown(of("✔\ufe0f 👩\u200d💻 1\ufe0f\u20e3\n".encode()))).splitlines()
    assert plain == "✔\ufe0f 👩\u200d💻 1\ufe0f\u20e3"


async def test_a_byte_order_mark_is_a_remark_and_not_text() -> None:
    assert (await shown(of(b"\xef\xbb\xbfa\n"))).startswith("a\n[guildhall: the file begins with a byte order mark")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
async def test_utf_16_is_read_from_its_beginning_whatever_the_line(encoding: str) -> None:
    content = "\ufeffeins\r\nzwei 😀\r\n日本\r\n".encode(encoding)
    workspace = Workspace(lambda request: content[request.offset :], len(content))
    lines = (await shown(workspace, start_line=2, max_lines=1)).splitlines()
    assert lines[0] == "zwei 😀"
    assert lines[1] == "[guildhall: lines 2-2 of 3 shown; read on from line 3]"
    assert "UTF-16" in lines[2]
    assert (await read(workspace, start_line=4)).result.error_code == "invalid_argument"


@pytest.mark.parametrize("data", [b"\x7fELF\0\0", b"\xff\xfe\0\0a\0\0\0", b"\0" * 99])
async def test_a_binary_file_is_named_not_shown(data: bytes) -> None:
    ran = await read(of(data))
    assert (ran.result.error_code, f"binary file of {len(data)} bytes" in ran.result.shown) == ("binary", True)


async def test_utf_16_without_an_end_costs_a_bounded_number_of_requests() -> None:
    workspace = Workspace(lambda request: (b"" if request.offset else b"\xff\xfe") + b"a\0" * (MOST // 2), 2**50)
    workspace.piece = lambda request: (
        b"\xff\xfe" + b"a\0" * (MOST // 2 - 1) if not request.offset else b"a\0" * (MOST // 2)
    )
    await read(workspace)
    assert 2 < len(workspace.asked) <= PIECES_MAX_COUNT + 1


@pytest.mark.parametrize("size", [0, 1, 2**53 - 1])
async def test_an_empty_file_is_empty_whatever_its_size_is_said_to_be(size: int) -> None:
    assert await shown(of(b"", size)) == "f is empty"


async def test_a_number_of_lines_that_its_own_data_contradicts_is_not_believed() -> None:
    assert await shown(of(b"a\nb\n", lines=1), start_line=7) == "a\nb"


async def test_what_is_no_base64_is_a_lost_workshop_and_a_refusal_is_shown() -> None:
    class Lies:
        async def ask(self, *_: Any, **__: Any) -> Any:
            return ReadResult(id=1, data="abc", size=3, mode=0, utf8=True)

    class Refuses:
        async def ask(self, *_: Any, **__: Any) -> Any:
            return ErrorReply(id=1, code="not_found", message="f is not there")

    with pytest.raises(WorkshopLost, match="base64"):
        await read(Lies())
    assert await shown(Refuses()) == "not_found: f is not there"
