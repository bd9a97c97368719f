"""Background commands: what runs, what it printed, and its end. What is told is the workshop's claim."""

import asyncio
import contextlib
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.frames import ErrorReply, JobsRequest, JobsResult, JobState

from guildhall_executor.tools.ask import Ask, WorkshopLost
from guildhall_executor.tools.output import kept, with_output
from guildhall_executor.tools.result import Ran, done, refused
from guildhall_executor.tools.text import visible

STOP_PATIENCE_SECONDS: Final = 60.0


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
    lines = [f"job {job.job}: {state_line(job)}: {visible(job.command)[0]}" for job in jobs]
    return done("\n".join(lines), label="background commands")


def render_job(number: int, reply: JobsResult) -> Ran:
    state = next((one for one in reply.jobs if one.job == number), None)
    said = "unknown" if state is None else state_line(state)
    exit_code = None if state is None else state.exit_code
    return with_output(f"job {number}: {said}", kept(reply.head, reply.tail, reply.omitted_bytes), exit_code=exit_code)


def state_line(job: JobState) -> str:
    return {
        "running": "running",
        "exited": f"exit code {job.exit_code}",
        "signalled": f"ended by signal {job.signal}",
        "stopped": "stopped",
        "process_limit": f"ended: more than {limits.COMMAND_PROCESSES_MAX_COUNT} processes",
    }[job.state]
