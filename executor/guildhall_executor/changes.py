"""The change set as the workshop claims it, checked and stored. Guards against showing another patch than is kept."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.events import ChangedFile
from guildhall_contracts.frames import DiffRequest, DiffResult, ErrorReply
from guildhall_contracts.visible import visible

from guildhall_executor.emit import bounded_files, bounded_omitted
from guildhall_executor.patch import FileChange, parse_patch
from guildhall_executor.tools.ask import Ask, WorkshopLost

PutBlob = Callable[[str, bytes], Awaitable[ErrorInfo | None]]


@dataclass(frozen=True, slots=True)
class Change:
    """What `changes.updated` says. `sha256` is None when nothing changed, or when the patch is over the bound and only
    its files are told."""

    sha256: str | None = None
    patch_bytes: int = 0
    files: list[ChangedFile] = field(default_factory=list)
    files_total: int = 0
    added: int = 0
    removed: int = 0
    omitted: list[str] = field(default_factory=list)
    lacking: int = 0  # how much of what is left out is content


class _Pieces:
    """Chunks in order, within the bound. Anything else spoils the patch."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.spoiled = False
        self._next = 0

    def take(self, index: int, piece: bytes) -> None:
        if index != self._next or len(self.data) + len(piece) > limits.PATCH_MAX_BYTES:
            self.spoiled = True
            self.data.clear()
        if not self.spoiled:
            self.data += piece
            self._next += 1


async def take_changes(ask: Ask, put_blob: PutBlob, patience_seconds: float, known: str | None) -> Change | ErrorInfo:
    """The change set now; its blob is stored unless its hash is `known` already."""
    pieces = _Pieces()
    try:
        reply = await ask.ask(
            lambda id_: DiffRequest(id=id_), DiffResult, patience_seconds=patience_seconds, on_chunk=pieces.take
        )
    except WorkshopLost as lost:
        return error_info("workshop_lost", f"the change set could not be read: {lost}")
    if isinstance(reply, ErrorReply):
        return error_info("workshop_lost", f"the change set could not be read: {reply.code}: {reply.message[:500]}")
    change = await asyncio.to_thread(examine, reply, bytes(pieces.data), spoiled=pieces.spoiled)
    if isinstance(change, ErrorInfo) or change.sha256 in (None, known):
        return change
    failure = await put_blob(change.sha256 or "", bytes(pieces.data))
    if failure is not None:
        return error_info("internal", f"the patch could not be stored: {failure.message}", retryable=True)
    return change


def examine(reply: DiffResult, patch: bytes, *, spoiled: bool = False) -> Change | ErrorInfo:
    """Believes nothing but the bytes: their hash must be the one announced, their files are read from them."""
    omitted = bounded_omitted([visible(text)[0][: limits.EVENT_TITLE_MAX_CHARS] for text in reply.omitted])
    sha256 = hashlib.sha256(patch).hexdigest()
    if spoiled or reply.size != len(patch) or reply.sha256 != sha256:
        return _unsound("its bytes are not those it announced")
    if reply.too_large:
        omitted = bounded_omitted(
            [f"the patch is over {limits.PATCH_MAX_BYTES} bytes; only its files are told", *omitted]
        )
    if not patch:
        return Change(omitted=omitted, lacking=reply.lacking)
    files = parse_patch(patch, heads=reply.too_large)
    if files is None:
        return _unsound("it is no patch")
    change = replace(_summed(files, sha256, len(patch), omitted), lacking=reply.lacking)
    if reply.too_large:
        return replace(change, sha256=None, patch_bytes=0, lacking=max(1, reply.lacking))
    return change


def _unsound(why: str) -> ErrorInfo:
    return error_info("workshop_lost", f"the workshop's change set is unsound: {why}. It is not shown.")


def _summed(files: list[FileChange], sha256: str, size: int, omitted: list[str]) -> Change:
    shown = bounded_files([file.shown() for file in files[: limits.EVENT_CHANGED_FILES_MAX_COUNT]], omitted)
    if len(shown) < len(files):  # what runs by itself is never cut off for its place, what a tool made goes last
        first = sorted(files, key=lambda file: (not file.will_run, file.generated))
        shown = bounded_files([file.shown() for file in first[: limits.EVENT_CHANGED_FILES_MAX_COUNT]], omitted)
    return Change(
        sha256=sha256,
        patch_bytes=size,
        files=shown,
        files_total=len(files),
        added=sum(file.added for file in files),
        removed=sum(file.removed for file in files),
        omitted=omitted,
    )
