"""One attempt of a Run, put together: journal, gateway, workshop and loop. The one place where they are wired."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime

from guildhall_contracts.conditions import ERROR_KIND_REASONS
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.events import ErrorRaised, RunFinished
from guildhall_contracts.gate import ExecutorMessage
from guildhall_contracts.snapshot import RunSnapshot

from guildhall_executor import emit, finish
from guildhall_executor.effects import Seal
from guildhall_executor.gateway import Gateway
from guildhall_executor.inputs import AnyInput, Began, Resumed
from guildhall_executor.isolation import unsound
from guildhall_executor.journal import Journal
from guildhall_executor.perform import Clock, Performer, fault
from guildhall_executor.places import Patience, Places
from guildhall_executor.resume import rebuild
from guildhall_executor.roster import make_roster, snapshot_problems
from guildhall_executor.workshop import Workshop

_STOPPED = "the pod was told to stop; the Run was not ended by it and another attempt can take it up"


def stamp() -> str:
    """The present moment as events carry it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def make_clock(spent_milliseconds: int) -> Clock:
    """A clock for an attempt of a Run that earlier attempts have spent `spent_milliseconds` on."""
    started = time.monotonic()
    return Clock(stamp, lambda: spent_milliseconds + int((time.monotonic() - started) * 1_000))


async def run_attempt(
    snapshot: RunSnapshot, number: int, places: Places, patience: Patience, out_fd: int
) -> ExecutorMessage:
    """Runs or resumes to the end, whatever goes wrong: the answer always says how it ended. Raises nothing."""
    run = snapshot.run
    try:
        journal = Journal(places.journal / run, out_fd)
    except OSError as error:
        what = f"{type(error).__name__}: {error.strerror}"
        problem = error_info("internal", f"the journal cannot be opened ({what})")
        return finish.message_of(failed(problem), run, number, 0)
    try:
        unfit = _problem(snapshot)
        if unfit is not None:
            seal = failed(unfit)
            _last_words(journal, snapshot, number, unfit)
        else:
            seal = await _run(snapshot, number, places, patience, journal)
    except Exception as error:  # noqa: BLE001  the last line of defence: it says what it can and ends
        problem = error_info("internal", _said(error))
        seal = failed(problem)
        _last_words(journal, snapshot, number, problem)
    message = finish.message_of(seal, run, number, journal.last_seq)
    with contextlib.suppress(OSError):
        journal.close()
    return message


def _said(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"the journal cannot be written ({type(error).__name__}: {error.strerror}); what was done is kept"
    return fault(error)


def _problem(snapshot: RunSnapshot) -> ErrorInfo | None:
    problems = snapshot_problems(snapshot)
    if problems:
        return error_info("guild_invalid", "; ".join(problems[:5]))
    names = unsound(snapshot.gateway.canary)
    if names:
        return error_info("internal", f"canary targets {', '.join(names)} are no addresses; no name is looked up here")
    return None


def failed(error: ErrorInfo) -> Seal:
    """How a Run that cannot even be tried ends."""
    return Seal("failed", "", f"Failed: {error.message}", "", error.kind, ERROR_KIND_REASONS[error.kind], error.message)


def _last_words(journal: Journal, snapshot: RunSnapshot, number: int, error: ErrorInfo) -> None:
    """An error and an end, written past the loop because the loop cannot write them any more."""
    seq = journal.last_seq
    error = emit.bounded_error(error)
    entry = snapshot.guild.entry_role
    raised = ErrorRaised(**emit.head(snapshot.run, number, seq + 1, stamp()), error=error)
    ended = RunFinished(
        **emit.head(snapshot.run, number, seq + 2, stamp()),
        op=f"o{seq + 2}",
        source=f"role:{entry}",
        destination="human",
        title="failed",
        outcome="failed",
        error=error,
    )
    with contextlib.suppress(OSError, ValueError):
        journal.write_events([raised, ended], durable=True)


async def _run(snapshot: RunSnapshot, number: int, places: Places, patience: Patience, journal: Journal) -> Seal:
    state, missing = rebuild(make_roster(snapshot), journal.inputs, journal.last_seq)
    journal.write_events(missing, durable=True)
    spent = max((at.elapsed_milliseconds for at in journal.inputs), default=0)
    first: AnyInput = Resumed() if journal.inputs else Began()
    journal.inputs.clear()
    gateway = Gateway(snapshot.gateway.url, places, patience)
    workshop = Workshop(places.socket, places.workshop_uid, patience.workshop_connect_seconds)
    performer = Performer(state, number, journal, gateway, workshop, patience, make_clock(spent))
    try:
        seal = await _until_told_to_stop(performer, first)
        with contextlib.suppress(OSError):
            finish.write_files(journal.folder, seal)
        await performer.linger()
    finally:
        await workshop.close()
        gateway.close()
    return seal


async def _until_told_to_stop(performer: Performer, first: AnyInput) -> Seal:
    """SIGTERM is no end of the Run: the journal stays as it is, so that another attempt can go on."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    remove = _on_sigterm(loop, stopped.set)
    running = asyncio.create_task(performer.run(first))
    waiting = asyncio.create_task(stopped.wait())
    try:
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return running.result()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        error = error_info("interrupted", _STOPPED)
        await performer.last_look()
        performer.tell(ErrorRaised, error=error)
        return failed(error)
    finally:
        waiting.cancel()
        remove()


def _on_sigterm(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> Callable[[], None]:
    try:
        loop.add_signal_handler(signal.SIGTERM, act)
    except (NotImplementedError, RuntimeError, ValueError):  # not in the main thread: nobody sends signals there
        return lambda: None

    def remove() -> None:
        loop.remove_signal_handler(signal.SIGTERM)

    return remove
