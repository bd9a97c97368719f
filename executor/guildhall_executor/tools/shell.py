"""`run_shell`: one command in the workshop. What it may reach is the pod's affair; there is no list of commands."""

from collections.abc import Callable
from typing import Final, Self

from guildhall_contracts import limits
from guildhall_contracts.base import one_line
from guildhall_contracts.frames import ErrorReply, ExecRequest, ExecResult
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from guildhall_executor.tools.arguments import Arguments
from guildhall_executor.tools.ask import Ask, WorkshopLost
from guildhall_executor.tools.jobs import UNNAMED, look_at_jobs
from guildhall_executor.tools.output import Kept, kept, with_output
from guildhall_executor.tools.result import Ran, refused

KEPT_END_BYTES: Final = 192 * 1024  # of either end; what is shown is less, the blob holds this
BACKGROUND_TAIL_BYTES: Final = 64 * 1024
ANSWER_GRACE_SECONDS: Final = 15.0


class RunShell(Arguments):
    command: str = Field("", max_length=limits.COMMAND_MAX_BYTES, description="Command line for bash or sh.")
    cwd: str = Field("", max_length=limits.PATH_MAX_CHARS, description="Folder to run in, relative to the workspace.")
    timeout_seconds: int = Field(
        limits.COMMAND_WALL_DEFAULT_SECONDS,
        ge=1,
        le=limits.COMMAND_WALL_MAX_SECONDS,
        description="The command is stopped after this long.",
    )
    background: bool = Field(
        False,
        description="Let it run on after the call, without a time limit: a server, a watcher. Gives a job number.",
    )
    job: int | None = Field(
        None, ge=0, le=2**53 - 1, description="Instead of a command: the job to show with its output; 0 lists all jobs."
    )
    stop: bool = Field(False, description="With job: end it and all it started.")

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        if (self.job is None) == (not self.command.strip()):
            raise PydanticCustomError("one_of", "give either 'command' or 'job'")
        if self.background and self.job is not None:
            raise PydanticCustomError("one_of", "'background' starts a command; leave out 'job'")
        if self.stop and not self.job:
            raise PydanticCustomError("one_of", "'stop' needs the number of a 'job'")
        return self

    def title(self) -> str:
        if self.job is not None:
            verb = "stop" if self.stop else "look at"
            return f"{verb} job {self.job}" if self.job else "list background commands"
        return one_line(self.command.strip().split("\n", 1)[0], limits.EVENT_TITLE_MAX_CHARS)


async def run_shell(ask: Ask, args: RunShell, on_output: Callable[[bytes, int], None] | None = None) -> Ran:
    if args.job is not None:
        return await look_at_jobs(ask, args.job, stop=args.stop)
    idle = max(min(limits.COMMAND_IDLE_DEFAULT_SECONDS, args.timeout_seconds), args.timeout_seconds // 2)
    reply = await ask.ask(
        lambda id_: ExecRequest(
            id=id_,
            command=args.command,
            cwd="" if args.cwd in (".", "./") else args.cwd,
            background=args.background,
            wall_seconds=args.timeout_seconds,
            idle_seconds=idle,
            head_bytes=limits.COMMAND_OUTPUT_HEAD_BYTES if args.background else KEPT_END_BYTES,
            tail_bytes=BACKGROUND_TAIL_BYTES if args.background else KEPT_END_BYTES,
        ),
        ExecResult,
        patience_seconds=args.timeout_seconds + ANSWER_GRACE_SECONDS,
        on_output=on_output,
    )
    if isinstance(reply, ErrorReply):
        return refused(reply)
    if not _can_be(args, reply):
        raise WorkshopLost("the workshop says that a command ended as none can")
    return render_exec(args, idle, reply)


def _can_be(args: RunShell, reply: ExecResult) -> bool:
    """An exit has a code and nothing else has; what runs on has a number, and was asked to run on."""
    has_code, has_number = reply.exit_code is not None, reply.job is not None
    started = reply.ended == "started"
    return has_code == (reply.ended == "exited") and has_number == started and (args.background or not started)


def render_exec(args: RunShell, idle_seconds: int, reply: ExecResult) -> Ran:
    """How the command ended, then its output with the middle cut; the whole of what was kept goes along."""
    output: Kept = kept(reply.head, reply.tail, reply.omitted_bytes)
    line = ending_line(args, idle_seconds, reply)
    return with_output(line, output, error_code=_error_code(reply), exit_code=reply.exit_code)


def _error_code(reply: ExecResult) -> str | None:
    if reply.ended == "exited":
        return None if reply.exit_code == 0 else "exit_status"
    return None if reply.ended == "started" else reply.ended


def ending_line(args: RunShell, idle_seconds: int, reply: ExecResult) -> str:
    """One line without times, so that equal runs read equal."""
    said = {
        "exited": f"exit code {reply.exit_code}",
        "signalled": f"ended by signal {reply.signal or UNNAMED}",
        "wall_timeout": f"stopped after {args.timeout_seconds} seconds (timeout_seconds); no input can be given to it",
        "idle_timeout": f"stopped: no output for {idle_seconds} seconds; no input can be given to it",
        "cancelled": "cancelled",
        "process_limit": f"stopped: more than {limits.COMMAND_PROCESSES_MAX_COUNT} processes",
        "started": f"runs on in the background as job {reply.job}",
    }[reply.ended]
    left = "; children left running were ended (background keeps a command running)"
    return said + (left if reply.killed_processes and reply.ended == "exited" else "")
