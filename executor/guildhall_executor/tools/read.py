"""`read_file`: a window of lines of a file of any size. Guards against a workshop that dribbles or lies about sizes."""

from dataclasses import dataclass, replace
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.fetch import LFS_SIGN
from guildhall_contracts.frames import ErrorReply, ReadRequest, ReadResult
from guildhall_contracts.visible import visible
from pydantic import Field

from guildhall_executor.tools.arguments import Arguments
from guildhall_executor.tools.ask import Ask, sent_bytes
from guildhall_executor.tools.names import wire_path
from guildhall_executor.tools.result import Path, Ran, done, failed, refused
from guildhall_executor.tools.text import LINE_MAX_BYTES, bounded_lines, decoded, head_of, mark

WIDE_MAX_BYTES: Final = limits.SEARCH_FILE_MAX_BYTES
PIECES_MAX_COUNT: Final = WIDE_MAX_BYTES // limits.FRAME_DATA_MAX_BYTES + 1
_MARK: Final = b"\xef\xbb\xbf"
_WIDE_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_PROBE_BYTES: Final = 8_192


class ReadFile(Arguments):
    path: Path = Field(description="File to read, relative to the workspace.")
    start_line: int = Field(1, ge=1, le=1_000_000_000, description="First line to show, counting from 1.")
    max_lines: int = Field(2_000, ge=1, le=2_000, description="At most this many lines.")

    def title(self) -> str:
        return f"read {self.path}"


@dataclass(frozen=True, slots=True)
class Window:
    """`data` from byte `offset` of a file of `size` bytes on; `lines` of the whole file, where they were counted."""

    data: bytes
    offset: int = 0
    size: int = 0
    lines: int | None = None
    remark: str = ""

    @property
    def goes_on(self) -> bool:
        return self.offset + len(self.data) < self.size


async def read_file(ask: Ask, args: ReadFile) -> Ran:
    """One request, whatever the line; more only for UTF-16, whose line ends are not bytes of their own."""
    place = await wire_path(ask, args.path)
    reply = await ask.ask(lambda id_: ReadRequest(id=id_, line=args.start_line, **place), ReadResult)
    if isinstance(reply, ErrorReply):
        return refused(reply)
    window = _window(args, reply)
    if b"\0" in window.data[:_PROBE_BYTES] or window.data.startswith(_WIDE_MARKS):
        wide = await _wide(ask, args, place)
        return wide if isinstance(wide, Ran) else render_read(args, wide or window)
    if window.offset == 0 and window.data.startswith(_MARK):
        remark = "the file begins with a byte order mark, which edits keep"
        window = replace(window, data=window.data.removeprefix(_MARK), size=window.size - len(_MARK), remark=remark)
    if window.offset == 0 and window.size <= limits.FETCH_LFS_POINTER_MAX_BYTES and window.data.startswith(LFS_SIGN):
        window = replace(window, remark="a Git LFS pointer: the content it stands for was not fetched")
    return render_read(args, window)


def _window(args: ReadFile, reply: ReadResult) -> Window:
    """A short piece is the file's end, whatever size is claimed."""
    data = sent_bytes(reply.data)
    end = reply.offset + len(data)
    size = max(reply.size, end) if len(data) >= limits.FRAME_DATA_MAX_BYTES else end
    lines = reply.lines
    if lines is not None and data and lines < args.start_line:
        lines = None  # a claim its own data contradicts
    return Window(data, reply.offset, size, lines)


async def _wide(ask: Ask, args: ReadFile, place: dict[str, Any]) -> Window | Ran | None:
    """A UTF-16 file from the asked line on; None when the file is none."""
    data = bytearray()
    for _ in range(PIECES_MAX_COUNT):
        offset = len(data)
        reply = await ask.ask(lambda id_: ReadRequest(id=id_, offset=offset, **place), ReadResult)  # noqa: B023
        if isinstance(reply, ErrorReply):
            return refused(reply)
        piece = sent_bytes(reply.data)
        data += piece
        if not data.startswith(_WIDE_MARKS) or data.startswith(b"\xff\xfe\0\0"):
            return None
        if len(piece) < limits.FRAME_DATA_MAX_BYTES:
            break
    return _as_utf8(args, bytes(data))


def _as_utf8(args: ReadFile, data: bytes) -> Window:
    """The lines from the asked one on, as UTF-8."""
    lines = data.decode("utf-16", "backslashreplace").split("\n")
    total = len(lines) - (lines[-1] == "")
    rest = "\n".join(lines[args.start_line - 1 :]).encode("utf-8", "replace")
    return Window(rest, 0, len(rest), total, "the file is UTF-16; edits keep that")


def render_read(args: ReadFile, window: Window) -> Ran:
    """The lines of `window`, whose first is the one asked for."""
    if b"\0" in window.data[:_PROBE_BYTES]:
        return Ran(failed("binary", f"{args.path} is a binary file of {window.size} bytes and cannot be shown as text"))
    if not window.data:
        if args.start_line == 1 or window.lines == 0:
            return done(f"{args.path} is empty", label=f"file {args.path}")
        last = "" if window.lines is None else f"; the last is {window.lines}"
        return Ran(failed("invalid_argument", f"{args.path} has no line {args.start_line}{last}"))
    text, hidden = visible(decoded(window.data).replace("\r\n", "\n"))
    lines = text.split("\n")
    if len(lines) == 1 and window.goes_on:
        shown = [_cut(lines[0], window)]
    else:
        if lines[-1] == "" or window.goes_on:
            lines.pop()  # nothing after the last newline, or the beginning of a line that goes on
        shown, _ = bounded_lines(lines[: args.max_lines])
    remarks = [*_place_remark(args, len(shown), len(lines), window), *_hidden_remark(hidden)]
    if window.remark:
        remarks.append(mark(window.remark))
    return done("\n".join([*shown, *remarks]), origin="workspace", label=f"file {args.path}")


def _cut(line: str, window: Window) -> str:
    said = (
        f"the rest of this line is left out; the file has {window.size} bytes, a command such as cut shows parts of it"
    )
    return head_of(line, LINE_MAX_BYTES) + mark(said)


def _place_remark(args: ReadFile, shown: int, known: int, window: Window) -> list[str]:
    """What follows the last line shown, if anything does; `known` lines are in the window."""
    last, seen = args.start_line - 1 + shown, args.start_line - 1 + known
    total = max(window.lines, seen) if window.lines is not None else None
    if total is None and not window.goes_on:
        total = seen
    if last >= (seen + 1 if total is None else total):
        return []
    of = f"at least {seen}, file of {window.size} bytes," if total is None else str(total)
    return [mark(f"lines {args.start_line}-{last} of {of} shown; read on from line {last + 1}")]


def _hidden_remark(count: int) -> list[str]:
    return [mark(f"{count} invisible characters are shown as escapes; the file holds the characters")] if count else []
