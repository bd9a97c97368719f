"""The long things an effect can ask for: a model call, a tool, a look at the changes. Each ends in one input.

What streams out of them meanwhile is told as events of its own, at a bounded pace.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.events import ChangesUpdated, ErrorRaised, Event, ModelText, ToolProgress
from guildhall_contracts.external import ExternalCall, ExternalResult
from guildhall_contracts.model_api import ModelReply

from guildhall_executor.changes import Change, take_changes
from guildhall_executor.code.session import CodeSession
from guildhall_executor.delivery import Delivery
from guildhall_executor.effects import CallModel, RunTool
from guildhall_executor.emit import event_text
from guildhall_executor.inputs import AnyInput, Replied, ReplyFailed, ToolEnded
from guildhall_executor.pace import TEXT_EVERY_SECONDS, Pace
from guildhall_executor.places import Patience
from guildhall_executor.progress import Progress
from guildhall_executor.tools import file, read, shell
from guildhall_executor.tools.arguments import Arguments
from guildhall_executor.tools.ask import Ask, WorkshopLost
from guildhall_executor.tools.code import RunCode
from guildhall_executor.tools.external import ExternalArguments, run_external
from guildhall_executor.tools.jobs import stop_all
from guildhall_executor.tools.result import Ran, ToolResult, failed
from guildhall_executor.tools.text import terminal_text

Runner = Callable[[Ask, Any], Awaitable[Ran]]
FILE_TOOLS: Final[dict[type[Arguments], Runner]] = {
    read.ReadFile: read.read_file,
    file.WriteFile: file.write_file,
    file.EditFile: file.edit_file,
    file.ListFiles: file.list_files,
    file.SearchFiles: file.search_files,
}


class Model(Protocol):
    """The gateway as work sees it."""

    async def model(
        self, call: CallModel, on_text: Callable[[str], None], on_retry: Callable[[ErrorInfo, float], None]
    ) -> ModelReply | ErrorInfo: ...

    async def put_blob(self, sha256: str, data: bytes) -> ErrorInfo | None: ...

    async def call_tool(self, tool: str, call: ExternalCall) -> ExternalResult | ErrorInfo: ...


class Tell(Protocol):
    """Writes an event that belongs to no step; numbers and stamps it."""

    def __call__(self, kind: type[Event], **fields: Any) -> None: ...


@dataclass(slots=True)
class Work:
    gateway: Model
    workshop: Ask
    patience: Patience
    tell: Tell
    code: CodeSession
    delivery: Delivery = field(default_factory=Delivery)
    changes: Change | None = None
    looked_at: float = float("-inf")

    async def call_model(self, effect: CallModel) -> AnyInput:
        pace = Pace(TEXT_EVERY_SECONDS, _now())

        def on_text(text: str) -> None:
            piece = pace.take(text, _now())
            if piece:
                self.tell(ModelText, op=effect.op, role=effect.role, text=event_text(piece))

        def on_retry(error: ErrorInfo, seconds: float) -> None:
            message = f"{error.message}; trying again in {seconds:.0f} seconds"
            again = error_info(error.kind, message, retryable=True)
            self.tell(ErrorRaised, parent=effect.op, role=effect.role, error=again)

        outcome = await self.gateway.model(effect, on_text, on_retry)
        if isinstance(outcome, ErrorInfo):
            return ReplyFailed(call_id=effect.call_id, error=outcome)
        return Replied(reply=outcome)

    async def run_tool(self, effect: RunTool) -> AnyInput:
        """Never raises for what the workshop does: a lost workshop is a result the model reads."""
        try:
            ran = await self._run(effect)
        except WorkshopLost as lost:
            seconds = lost.retry_after_seconds
            result = failed("workshop_lost", f"{lost}. It is being started again; try again in {seconds} seconds.")
            away = None if lost.away_seconds is None else int(lost.away_seconds * 1_000)
            return ToolEnded(op=effect.op, result=result, away_milliseconds=away)
        except ValueError:
            result = failed("too_large", "the call does not fit into one request to the workshop; do it in parts")
            return ToolEnded(op=effect.op, result=result)
        return ToolEnded(op=effect.op, result=await self._with_blob(ran))

    async def _run(self, effect: RunTool) -> Ran:
        if isinstance(effect.arguments, RunCode):
            with self._progress(effect) as progress:
                take = progress.take
                return await self.code.run(
                    effect, effect.arguments, lambda text: take(terminal_text(text.encode("utf-8", "replace")))
                )
        if isinstance(effect.arguments, ExternalArguments):
            return await run_external(self.gateway, effect, effect.arguments)
        if not isinstance(effect.arguments, shell.RunShell):
            return await FILE_TOOLS[type(effect.arguments)](self.workshop, effect.arguments)
        with self._progress(effect) as progress:
            on_output = progress.take
            return await shell.run_shell(
                self.workshop, effect.arguments, lambda data, _skipped: on_output(terminal_text(data))
            )

    def _progress(self, effect: RunTool) -> Progress:
        """Tells what a tool says while it runs."""
        return Progress(lambda text: self.tell(ToolProgress, op=effect.op, role=effect.role, text=event_text(text)))

    async def _with_blob(self, ran: Ran) -> ToolResult:
        """Keeps the longer text for people; if it cannot be kept, the result is as good without."""
        if ran.whole is None:
            return ran.result
        sha256 = hashlib.sha256(ran.whole).hexdigest()
        failure = await self.gateway.put_blob(sha256, ran.whole)
        return ran.result if failure else ran.result.model_copy(update={"blob": sha256})

    @property
    def look_is_due(self) -> bool:
        return _now() - self.looked_at >= self.patience.changes_every_seconds

    async def look_at_changes(self, patience_seconds: float, *, last: bool = False) -> None:
        """Tells the change set if it differs from the one told before; a failure matters only at the `last` look."""
        self.looked_at = _now()
        if last:
            await stop_all(self.workshop, patience_seconds / 4)
        told = self.changes.sha256 if self.changes else None
        known = told if told and self.delivery.holds(told) else None
        change = await take_changes(self.workshop, self._put_patch, patience_seconds, known)
        if isinstance(change, ErrorInfo):
            if last:
                self.tell(ErrorRaised, error=change)
            return
        if change != (self.changes or Change()):
            self.tell(
                ChangesUpdated,
                patch_sha256=change.sha256,
                patch_bytes=change.patch_bytes,
                files=change.files,
                files_total=change.files_total,
                added=change.added,
                removed=change.removed,
                omitted=change.omitted,
            )
            self.changes = change  # only what was told counts as told
        if last:
            self.delivery.settle(change)

    async def _put_patch(self, sha256: str, patch: bytes) -> ErrorInfo | None:
        await asyncio.to_thread(self.delivery.keep, sha256, patch)
        return await self.gateway.put_blob(sha256, patch)


def _now() -> float:
    return asyncio.get_running_loop().time()
