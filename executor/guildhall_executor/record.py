"""The events of what a role waits for: opened when it begins, ended whatever becomes of it."""

import re
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.base import OpId, one_line
from guildhall_contracts.canonical import arguments_hash
from guildhall_contracts.events import InterruptAnswered, ModelFinished, Outcome, ToolFinished, ToolStarted

from guildhall_executor import approvals, questions
from guildhall_executor.draft import Draft
from guildhall_executor.emit import event_text, tool_output
from guildhall_executor.state import Inquiry, OpenCall, RoleRun
from guildhall_executor.tools.arguments import Arguments
from guildhall_executor.tools.result import ToolResult

_PARTICIPANT_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")


def started(draft: Draft, invocation: RoleRun, asked: OpenCall, arguments: Arguments | None) -> OpId:
    """Opens the operation of a call; a call that is refused is drawn towards `tools`, whatever it named."""
    call = asked.call
    begun = draft.next_op
    text = event_text(call.arguments)
    policy = draft.state.policy_of(call.name) if arguments is not None else None
    known = arguments is not None and _PARTICIPANT_NAME.fullmatch(call.name)
    draft.emit(
        ToolStarted(
            **draft.head(),
            op=begun,
            parent=asked.code or invocation.op,
            role=invocation.role,
            source=f"role:{invocation.role}",
            destination=f"tool:{call.name}" if known else "tools",
            title=one_line(arguments.title() if arguments else call.name, limits.EVENT_TITLE_MAX_CHARS),
            call=call.id,
            tool=call.name or "?",
            effect=policy.effect if policy else None,
            arguments=text,
            arguments_sha256=arguments_hash(arguments.complete()) if arguments else None,
            arguments_cut=len(text) != len(call.arguments),
        )
    )
    return begun


def finished(draft: Draft, op: OpId, role: str, result: ToolResult, *, cancelled: bool = False) -> None:
    """Ends the operation of a call with its result."""
    output, cut_bytes = tool_output(result.shown)
    outcome: Outcome = "error" if result.is_error else "success"
    draft.emit(
        ToolFinished(
            **draft.head(),
            op=op,
            role=role,
            outcome="cancelled" if cancelled else outcome,
            output=output,
            omitted_bytes=result.omitted_bytes + cut_bytes,
            blob=result.blob,
            exit_code=result.exit_code,
            error_code=result.error_code,
        )
    )


def cancelled(draft: Draft, invocation: RoleRun, asked: OpenCall) -> None:
    """Ends the operation a call waits for; the work behind it is given up by whoever asks for this."""
    if asked.stage == "running":
        draft.emit(
            ToolFinished(**draft.head(), op=asked.op, role=invocation.role, outcome="cancelled", error_code="cancelled")
        )
    elif asked.stage == "approving":
        approvals.withdraw(draft, invocation, asked)
    elif asked.stage == "approved":
        approvals.void(draft, asked)
    elif asked.stage == "asking":
        questions.cancel(draft, invocation, asked)


def inquiry_cancelled(draft: Draft, inquiry: Inquiry) -> None:
    """The Run ends before a person's inquiry is answered."""
    draft.emit(ModelFinished(**draft.head(), op=inquiry.wait.op, role=inquiry.role, outcome="cancelled"))
    draft.emit(InterruptAnswered(**draft.head(), op=inquiry.op, outcome="cancelled"))
