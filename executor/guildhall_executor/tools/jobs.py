"""Background commands: what runs, what it printed, and its end. What is told is the workshop's claim."""

import asyncio
import contextlib
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.base import one_line
from guildhall_contracts.frames import ErrorReply, JobsRequest, JobsResult, JobState
from guildhall_contracts.visible import visible

from guildhall_executor.tools.ask import Ask, WorkshopLost
from guildhall_executor.tools.output import kept, with_output
from guildhall_executor.tools.result import Ran, done, refused

STOP_PATIENCE_SECONDS: Final = 60.0
UNNAMED: Final = "without a name"


async def look_at_jobs(ask: Ask, job: int, *, stop: bool) -> Ran:
    """All of them when `job` is 0."""
    reply = await ask.ask(
        lambda id_: JobsRequest(id=id_, job=job or None, stop=stop), JobsResult, patience_seconds=STOP_PATIENCE_SECONDS
    )
    if isinstance(reply, ErrorReply):
        return refused(reply)
    return _list(reply.jobs) if job == 0 else render_job(job, reply)


async def stop_all(ask: Ask, patience_seconds: float) -> None:
    """Ends every background command, so that nothing changes the workspace any more. A lost workshop has none."""
    with contextlib.suppress(WorkshopLost, TimeoutError):
        async with asyncio.timeout(patience_seconds):
            await ask.ask(lambda id_: JobsRequest(id=id_, stop=True), JobsResult)


def _list(jobs: list[JobState]) -> Ran:
    if not jobs:
        return done("no background commands")
    lines = [f"job {job.job}: {state_line(job)}: {_line(job.command)}" for job in jobs]
    return done("\n".join(lines), origin="workspace", label="background commands")


def _line(command: str) -> str:
    return one_line(visible(command)[0], limits.EVENT_TITLE_MAX_CHARS)


def render_job(number: int, reply: JobsResult) -> Ran:
    """One job and its output. Raises WorkshopLost where the answer is about another."""
    if [one.job for one in reply.jobs] != [number]:
        raise WorkshopLost("the workshop answered about other background commands than it was asked about")
    [state] = reply.jobs
    if (state.exit_code is not None) != (state.state == "exited"):
        raise WorkshopLost("the workshop says that a background command ended as none can")
    output = kept(reply.head, reply.tail, reply.omitted_bytes)
    return with_output(f"job {number}: {state_line(state)}", output, exit_code=state.exit_code)


def state_line(job: JobState) -> str:
    return {
        "running": "running",
        "exited": f"exit code {job.exit_code}",
        "signalled": f"ended by signal {job.signal or UNNAMED}",
        "stopped": "stopped",
        "process_limit": f"ended: more than {limits.COMMAND_PROCESSES_MAX_COUNT} processes",
    }[job.state]
