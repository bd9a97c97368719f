"""`run_shell`: one command in the workshop. What it may reach is the pod's affair; there is no list of commands."""

from collections.abc import Callable
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.base import one_line
from guildhall_contracts.content import Block
from guildhall_contracts.frames import ErrorReply, ExecRequest, ExecResult
from pydantic import Field

from guildhall_executor.tools.arguments import Arguments
from guildhall_executor.tools.ask import Ask, sent_bytes
from guildhall_executor.tools.file import refused
from guildhall_executor.tools.result import Ran, ToolResult, block
from guildhall_executor.tools.text import SHOWN_MAX_BYTES, head_and_tail, mark, terminal_text

KEPT_END_BYTES: Final = 192 * 1024  # of either end; what is shown is less, the blob holds this
ANSWER_GRACE_SECONDS: Final = 15.0


class RunShell(Arguments):
    command: str = Field(min_length=1, max_length=limits.COMMAND_MAX_BYTES, description="Command line for bash or sh.")
    cwd: str = Field("", max_length=limits.PATH_MAX_CHARS, description="Folder to run in, relative to the workspace.")
    timeout_seconds: int = Field(
        limits.COMMAND_WALL_DEFAULT_SECONDS,
        ge=1,
        le=limits.COMMAND_WALL_MAX_SECONDS,
        description="The command is stopped after this long.",
    )

    def title(self) -> str:
        return one_line(self.command.strip().split("\n", 1)[0], limits.EVENT_TITLE_MAX_CHARS)


async def run_shell(ask: Ask, args: RunShell, on_output: Callable[[bytes, int], None] | None = None) -> Ran:
    idle = max(min(limits.COMMAND_IDLE_DEFAULT_SECONDS, args.timeout_seconds), args.timeout_seconds // 2)
    reply = await ask.ask(
        lambda id_: ExecRequest(
            id=id_,
            command=args.command,
            cwd="" if args.cwd in (".", "./") else args.cwd,
            wall_seconds=args.timeout_seconds,
            idle_seconds=idle,
            head_bytes=KEPT_END_BYTES,
            tail_bytes=KEPT_END_BYTES,
        ),
        ExecResult,
        patience_seconds=args.timeout_seconds + ANSWER_GRACE_SECONDS,
        on_output=on_output,
    )
    return refused(reply) if isinstance(reply, ErrorReply) else render_exec(args, idle, reply)


def render_exec(args: RunShell, idle_seconds: int, reply: ExecResult) -> Ran:
    """How the command ended, then its output with the middle cut; the whole of what was kept goes along."""
    head, tail = (terminal_text(sent_bytes(part)) for part in (reply.head, reply.tail))
    text = head + tail
    if reply.omitted_bytes:
        text = f"{head}\n{mark(f'{reply.omitted_bytes} bytes left out here')}\n{tail}"
    text = text.rstrip("\n")
    shown, omitted = head_and_tail(text, SHOWN_MAX_BYTES, reply.omitted_bytes)
    blocks: list[Block] = [block(ending_line(args, idle_seconds, reply) + ("" if text.strip() else "\nno output"))]
    if text.strip():
        blocks.append(block(shown, origin="workspace", label="output of the command"))
    result = ToolResult(blocks=blocks, error_code=_error_code(reply), exit_code=reply.exit_code, omitted_bytes=omitted)
    whole = text.encode("utf-8", "replace") if shown != text else None
    return Ran(result, whole[: limits.BLOB_RESULT_MAX_BYTES] if whole else None)


def _error_code(reply: ExecResult) -> str | None:
    if reply.ended == "exited":
        return None if reply.exit_code == 0 else "exit_status"
    return None if reply.ended == "started" else reply.ended


def ending_line(args: RunShell, idle_seconds: int, reply: ExecResult) -> str:
    """One line without times, so that equal runs read equal."""
    said = {
        "exited": f"exit code {reply.exit_code}",
        "signalled": f"ended by signal {reply.signal}",
        "wall_timeout": f"stopped after {args.timeout_seconds} seconds (timeout_seconds); no input can be given to it",
        "idle_timeout": f"stopped: no output for {idle_seconds} seconds; no input can be given to it",
        "cancelled": "cancelled",
        "process_limit": f"stopped: more than {limits.COMMAND_PROCESSES_MAX_COUNT} processes",
        "started": "started in the background",
    }[reply.ended]
    return said + ("; children left running were ended" if reply.killed_processes and reply.ended == "exited" else "")
