"""File tools: read, write, edit, list, search. Paths are relative; the workshop decides what is inside."""

import base64
from typing import Annotated, Final

from guildhall_contracts import limits
from guildhall_contracts.frames import (
    EditRequest,
    EditResult,
    Entry,
    ErrorReply,
    ListRequest,
    ListResult,
    ReadRequest,
    ReadResult,
    SearchRequest,
    SearchResult,
    WriteRequest,
    WriteResult,
)
from pydantic import Field

from guildhall_executor.tools.arguments import Arguments
from guildhall_executor.tools.ask import Ask, sent_bytes
from guildhall_executor.tools.result import Ran, ToolResult, block, done, failed
from guildhall_executor.tools.text import SHOWN_MAX_BYTES, bounded_lines, decoded, has_mark, mark, visible

READ_MAX_BYTES: Final = limits.SEARCH_FILE_MAX_BYTES
READS_MAX_COUNT: Final = READ_MAX_BYTES // limits.FRAME_DATA_MAX_BYTES + 1
Path = Annotated[str, Field(min_length=1, max_length=limits.PATH_MAX_CHARS)]


class ReadFile(Arguments):
    path: Path = Field(description="File to read, relative to the workspace.")
    start_line: int = Field(1, ge=1, le=10_000_000, description="First line to show, counting from 1.")
    max_lines: int = Field(2_000, ge=1, le=2_000, description="At most this many lines.")

    def title(self) -> str:
        return f"read {self.path}"


class WriteFile(Arguments):
    path: Path = Field(description="File to create or replace, relative to the workspace; folders are made as needed.")
    content: str = Field(description="The whole new content.")

    def title(self) -> str:
        return f"write {self.path}"


class EditFile(Arguments):
    path: Path = Field(description="File to change, relative to the workspace.")
    old_text: str = Field(
        min_length=1, description="Text to replace, copied exactly from the file; it must occur once."
    )
    new_text: str = Field(description="Text to put in its place, taken literally.")
    all: bool = Field(False, description="Replace every occurrence instead of exactly one.")

    def title(self) -> str:
        return f"edit {self.path}"


class ListFiles(Arguments):
    path: str = Field(".", max_length=limits.PATH_MAX_CHARS, description="Folder to list, relative to the workspace.")
    depth: int = Field(1, ge=1, le=32, description="How many levels of folders to go down.")

    def title(self) -> str:
        return f"list {self.path}"


class SearchFiles(Arguments):
    pattern: str = Field(min_length=1, max_length=4_096, description="RE2 regular expression, matched line by line.")
    path: str = Field(".", max_length=limits.PATH_MAX_CHARS, description="Folder or file to search below.")
    literal: bool = Field(False, description="Take the pattern as plain text.")
    ignore_case: bool = False
    glob: str | None = Field(None, max_length=256, description="Only files whose name fits, for example *.py.")

    def title(self) -> str:
        return f"search {self.pattern}"


def refused(reply: ErrorReply) -> Ran:
    """The workshop's refusal in its own words; they are the workspace's claim and shown as such."""
    text = f"{reply.code}: {visible(reply.message)[0]}"
    return Ran(ToolResult(blocks=[block(text, origin="workspace", label="error")], error_code=reply.code))


def _folder(path: str) -> str:
    return "" if path in (".", "./") else path


def _b64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


def _marked() -> Ran:
    return Ran(
        failed(
            "invalid_argument",
            "the text contains a remark of the form '[guildhall: ...]', which stands for text that was left out and is "
            "in no file. Nothing was written. Read the missing part and send the real text.",
        )
    )


async def read_file(ask: Ask, args: ReadFile) -> Ran:
    """Shows lines of a text file; reads at most `READ_MAX_BYTES` to get there, in at most `READS_MAX_COUNT` pieces."""
    data = bytearray()
    size, lines = 0, 0
    for _ in range(READS_MAX_COUNT):
        offset = len(data)
        reply = await ask.ask(lambda id_: ReadRequest(id=id_, path=args.path, offset=offset), ReadResult)  # noqa: B023
        if isinstance(reply, ErrorReply):
            return refused(reply)
        piece = sent_bytes(reply.data)
        data += piece
        size = reply.size if len(piece) >= limits.FRAME_DATA_MAX_BYTES else 0  # a short piece is the last one
        lines += piece.count(b"\n")
        if len(data) >= min(size, READ_MAX_BYTES) or lines >= args.start_line + args.max_lines:
            break
    return render_read(args, bytes(data), max(size, len(data)))


def render_read(args: ReadFile, data: bytes, size: int) -> Ran:
    """`data` is the beginning of a file of `size` bytes."""
    if b"\0" in data[:8_192]:
        return Ran(failed("binary", f"{args.path} is a binary file of {size} bytes and cannot be shown as text"))
    if size == 0:
        return done(f"{args.path} is empty", label=f"file {args.path}")
    text, hidden = visible(decoded(data).replace("\r\n", "\n"))
    lines = text.split("\n")
    if lines[-1] == "" or (len(data) < size and len(lines) > 1):
        lines.pop()  # nothing after the last newline, or the beginning of a line that goes on
    if args.start_line > len(lines):
        return Ran(failed("invalid_argument", f"{args.path} has no line {args.start_line}; the last is {len(lines)}"))
    first = args.start_line - 1
    shown, _ = bounded_lines(lines[first : first + args.max_lines])
    place = _place_remark(args.start_line, first + len(shown), len(lines), size if len(data) < size else None)
    body = "\n".join([*shown, *place, *_hidden_remark(hidden)])
    return done(body, origin="workspace", label=f"file {args.path}")


def _place_remark(first: int, last: int, known: int, whole_size: int | None) -> list[str]:
    """What was left out after line `last`; `whole_size` is given when the file goes on beyond the lines known."""
    if last >= known and whole_size is None:
        return []
    of = f"{known}" if whole_size is None else f"at least {known}, file of {whole_size} bytes"
    return [mark(f"lines {first}-{last} of {of} shown; read on from line {last + 1}")]


def _hidden_remark(count: int) -> list[str]:
    return [mark(f"{count} invisible characters are shown as escapes; the file holds the characters")] if count else []


async def write_file(ask: Ask, args: WriteFile) -> Ran:
    if has_mark(args.content):
        return _marked()
    data = _b64(args.content)
    if len(data) > limits.FRAME_DATA_MAX_BYTES // 3 * 4:
        return Ran(failed("too_large", f"content is over {limits.FRAME_DATA_MAX_BYTES} bytes; write it in parts"))
    reply = await ask.ask(lambda id_: WriteRequest(id=id_, path=args.path, data=data), WriteResult)
    if isinstance(reply, ErrorReply):
        return refused(reply)
    return done(f"{'created' if reply.created else 'replaced'} {args.path} ({reply.size} bytes)")


async def edit_file(ask: Ask, args: EditFile) -> Ran:
    if has_mark(args.new_text):
        return _marked()
    old, new = _b64(args.old_text), _b64(args.new_text)
    if len(old) + len(new) > limits.FRAME_DATA_MAX_BYTES:
        return Ran(failed("too_large", "old_text and new_text together are too long for one edit; make smaller edits"))
    reply = await ask.ask(lambda id_: EditRequest(id=id_, path=args.path, old=old, new=new, all=args.all), EditResult)
    if isinstance(reply, ErrorReply):
        return refused(reply)
    times = "1 occurrence" if reply.replacements == 1 else f"{reply.replacements} occurrences"
    lines = ", ".join(str(line) for line in reply.lines[:20])
    return done(f"replaced {times} in {args.path} (line {lines})")


async def list_files(ask: Ask, args: ListFiles) -> Ran:
    reply = await ask.ask(lambda id_: ListRequest(id=id_, path=_folder(args.path), depth=args.depth), ListResult)
    if isinstance(reply, ErrorReply):
        return refused(reply)
    lines = sorted(_entry_line(entry) for entry in reply.entries)
    return _listing(lines, reply.truncated, "entries", f"listing of {args.path}", "no files")


def _entry_line(entry: Entry) -> str:
    path = visible(entry.path)[0]
    if entry.kind == "directory":
        return f"{path}/"
    if entry.kind == "symlink":
        return f"{path} -> {visible(entry.target or '?')[0]}"
    return f"{path} ({entry.size} bytes)" if entry.kind == "file" else f"{path} (special file)"


async def search_files(ask: Ask, args: SearchFiles) -> Ran:
    reply = await ask.ask(
        lambda id_: SearchRequest(
            id=id_,
            path=_folder(args.path),
            pattern=args.pattern,
            literal=args.literal,
            ignore_case=args.ignore_case,
            glob=args.glob,
        ),
        SearchResult,
    )
    if isinstance(reply, ErrorReply):
        return refused(reply)
    matches = sorted(reply.matches, key=lambda match: (match.path, match.line))
    lines = [f"{visible(m.path)[0]}:{m.line}: {visible(m.text.rstrip(chr(13)))[0]}" for m in matches]
    return _listing(lines, reply.truncated, "matches", f"search for {args.pattern}", "no matches")


def _listing(lines: list[str], truncated: bool, noun: str, label: str, none: str) -> Ran:
    if not lines:
        return done(none, label=label)
    shown, left = bounded_lines(lines, SHOWN_MAX_BYTES)
    if left or truncated:
        known = f"{len(shown)} of {len(lines)}{' or more' if truncated else ''} {noun} shown"
        shown.append(mark(f"{known}; narrow the request to see the rest"))
    return done("\n".join(shown), origin="workspace", label=label)
