"""File tools: write, edit, list, search. Paths are relative; the workshop decides what is inside."""

import base64
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.frames import (
    EditRequest,
    EditResult,
    Entry,
    ErrorReply,
    ListRequest,
    ListResult,
    SearchRequest,
    SearchResult,
    WriteRequest,
    WriteResult,
)
from guildhall_contracts.visible import visible
from pydantic import Field

from guildhall_executor.tools.arguments import Arguments
from guildhall_executor.tools.ask import Ask
from guildhall_executor.tools.names import wire_path
from guildhall_executor.tools.result import Path, Ran, done, failed, refused
from guildhall_executor.tools.text import SHOWN_MAX_BYTES, bounded_lines, has_mark, mark

_KEPT_TOLD: Final = {"bom": "byte order mark", "utf-16": "UTF-16", "crlf": "CRLF line endings"}


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


async def write_file(ask: Ask, args: WriteFile) -> Ran:
    if has_mark(args.content):
        return _marked()
    data = _b64(args.content)
    if len(data) > limits.FRAME_DATA_MAX_BYTES // 3 * 4:
        said = "write its beginning, and let edit_file or a command add the rest"
        return Ran(failed("too_large", f"content is over {limits.FRAME_DATA_MAX_BYTES} bytes; {said}"))
    place = await wire_path(ask, args.path)
    reply = await ask.ask(lambda id_: WriteRequest(id=id_, data=data, text=True, **place), WriteResult)
    if isinstance(reply, ErrorReply):
        return refused(reply)
    kept = "".join(f"; kept its {_KEPT_TOLD[kind]}" for kind in reply.kept)
    return done(f"{'created' if reply.created else 'replaced'} {args.path} ({reply.size} bytes){kept}")


async def edit_file(ask: Ask, args: EditFile) -> Ran:
    if has_mark(args.new_text):
        return _marked()
    old, new = _b64(args.old_text), _b64(args.new_text)
    if len(old) + len(new) > limits.FRAME_DATA_MAX_BYTES:
        return Ran(failed("too_large", "old_text and new_text together are too long for one edit; make smaller edits"))
    place = await wire_path(ask, args.path)
    reply = await ask.ask(lambda id_: EditRequest(id=id_, old=old, new=new, all=args.all, **place), EditResult)
    if isinstance(reply, ErrorReply):
        return refused(reply)
    times = "1 occurrence" if reply.replacements == 1 else f"{reply.replacements} occurrences"
    lines = ", ".join(str(line) for line in reply.lines[:20])
    return done(f"replaced {times} in {args.path} (line {lines})")


async def list_files(ask: Ask, args: ListFiles) -> Ran:
    place = await wire_path(ask, args.path)
    reply = await ask.ask(lambda id_: ListRequest(id=id_, depth=args.depth, **place), ListResult)
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
    place = await wire_path(ask, args.path)
    reply = await ask.ask(
        lambda id_: SearchRequest(
            id=id_,
            pattern=args.pattern,
            literal=args.literal,
            ignore_case=args.ignore_case,
            glob=args.glob,
            **place,
        ),
        SearchResult,
    )
    if isinstance(reply, ErrorReply):
        return refused(reply)
    matches = sorted(reply.matches, key=lambda match: (match.path, match.line))
    lines = [f"{visible(m.path)[0]}:{m.line}: {visible(m.text.rstrip(chr(13)))[0]}" for m in matches]
    passed = f"{reply.files_too_large} files over {limits.SEARCH_FILE_MAX_BYTES} bytes were not searched"
    remark = [mark(passed)] if reply.files_too_large else []
    return _listing(lines, reply.truncated, "matches", f"search for {args.pattern}", "no matches", remark)


def _listing(  # noqa: PLR0913, PLR0917
    lines: list[str], truncated: bool, noun: str, label: str, none: str, remarks: list[str] | None = None
) -> Ran:
    if not lines:
        unfinished = (
            [mark("the search ended at a limit before everything was looked at; narrow it")] if truncated else []
        )
        return done("\n".join([none, *unfinished, *(remarks or [])]), label=label)
    shown, left = bounded_lines(lines, SHOWN_MAX_BYTES)
    if left or truncated:
        known = f"{len(shown)} of {len(lines)}{' or more' if truncated else ''} {noun} shown"
        shown.append(mark(f"{known}; narrow the request to see the rest"))
    return done("\n".join([*shown, *(remarks or [])]), origin="workspace", label=label)
