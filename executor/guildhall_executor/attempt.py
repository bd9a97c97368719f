"""One attempt of a Run, put together: journal, gateway, workshop and loop. The one place where they are wired."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from guildhall_contracts.conditions import ERROR_KIND_REASONS
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.events import ErrorRaised, RunFinished
from guildhall_contracts.gate import ExecutorMessage, PatchWord
from guildhall_contracts.snapshot import RunSnapshot

from guildhall_executor import emit, finish
from guildhall_executor.effects import Seal
from guildhall_executor.gateway import Gateway, GatewayFileUnusable
from guildhall_executor.inputs import AnyInput, Began, Resumed
from guildhall_executor.isolation import unsound
from guildhall_executor.journal import Journal
from guildhall_executor.perform import Clock, Performer, fault
from guildhall_executor.places import Patience, Places
from guildhall_executor.resume import rebuild
from guildhall_executor.roster import listed_external, make_roster, snapshot_problems
from guildhall_executor.workshop import Workshop

T = TypeVar("T")
EXTERNAL_TOOLS_WAIT_SECONDS: Final = 30.0
_STOPPED = (
    "the platform stopped the run pod before the Run was done (an eviction, a drained node, the pod's deadline or a "
    "deleted Job are the usual causes); what was changed until then is kept. Start the Run again to have it done."
)


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
    run, word = snapshot.run, None
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
            seal, word = await _run(snapshot, number, places, patience, journal)
    except Exception as error:  # noqa: BLE001  the last line of defence: it says what it can and ends
        problem = error_info("internal", _said(error))
        seal = failed(problem)
        _last_words(journal, snapshot, number, problem)
    message = finish.message_of(seal, run, number, journal.last_seq, word)
    with contextlib.suppress(OSError):
        journal.close()
    return message


def _said(error: Exception) -> str:
    if isinstance(error, GatewayFileUnusable):
        return str(error)
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


def failed(error: ErrorInfo, reason: str = "") -> Seal:
    """How a Run ends that cannot be tried, or not to its end; `reason` overrides the one its kind stands for."""
    why = reason or ERROR_KIND_REASONS[error.kind]
    return Seal("failed", "", f"Failed: {error.message}", "", error.kind, why, error.message)


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


async def _run(
    snapshot: RunSnapshot, number: int, places: Places, patience: Patience, journal: Journal
) -> tuple[Seal, PatchWord | None]:
    state, missing = rebuild(make_roster(snapshot), journal.inputs, journal.last_seq)
    journal.write_events(missing, durable=True)
    spent = max((at.elapsed_milliseconds for at in journal.inputs), default=0)
    gateway = Gateway(snapshot.gateway.url, places, patience)
    resumed = bool(journal.inputs)
    journal.inputs.clear()
    workshop = Workshop(places.socket, places.workshop_uid, patience.workshop_connect_seconds)
    performer = Performer(state, number, journal, gateway, workshop, patience, make_clock(spent))
    told_to_stop = asyncio.Event()
    remove = _on_sigterm(asyncio.get_running_loop(), told_to_stop.set)
    try:
        work = _to_its_end(performer, snapshot, gateway, resumed=resumed)
        seal = await _until_told_to_stop(performer, work, told_to_stop)
        with contextlib.suppress(OSError):
            finish.write_files(journal.folder, seal)
        with contextlib.suppress(OSError):  # before the linger: a pod that is killed in it has said how it ended
            message = finish.message_of(seal, snapshot.run, number, journal.last_seq, performer.word)
            finish.write_message(places.termination_message, message)
        told_to_stop.clear()
        await _first_of(performer.linger(), told_to_stop)
    finally:
        remove()
        await performer.leave()
        await workshop.close()
        gateway.close()
    return seal, performer.word


async def _opening(snapshot: RunSnapshot, gateway: Gateway) -> Began:
    """The first input; only a Run whose roles list external tools asks for them, for a bounded time."""
    if not listed_external(snapshot):
        return Began()
    try:
        async with asyncio.timeout(EXTERNAL_TOOLS_WAIT_SECONDS):
            offered = await gateway.tools()
    except TimeoutError:
        return Began(external_problem="the gateway did not say in time which tools there are")
    if isinstance(offered, ErrorInfo):
        return Began(external_problem=offered.message)
    return Began(external=offered.tools)


async def _to_its_end(performer: Performer, snapshot: RunSnapshot, gateway: Gateway, *, resumed: bool) -> Seal:
    first: AnyInput = Resumed() if resumed else await _opening(snapshot, gateway)
    return await performer.run(first)


async def _until_told_to_stop(
    performer: Performer, work: Coroutine[Any, Any, Seal], told_to_stop: asyncio.Event
) -> Seal:
    """SIGTERM is no end the Run chose: the journal gets no `run.finished`, the message says who stopped it."""
    seal = await _first_of(work, told_to_stop)
    if seal is not None:
        return seal
    error = error_info("interrupted", _STOPPED)
    await performer.last_look()
    performer.tell(ErrorRaised, error=error)
    return failed(error, "ExecutorFailed")  # nobody cancelled it


async def _first_of(work: Coroutine[Any, Any, T], told_to_stop: asyncio.Event) -> T | None:
    """What `work` came to; None when told to stop before."""
    running = asyncio.create_task(work)
    waiting = asyncio.create_task(told_to_stop.wait())
    try:
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return running.result()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return None
    finally:
        waiting.cancel()
        running.cancel()  # nothing if it is done; when this very wait is given up, the work is too


def _on_sigterm(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> Callable[[], None]:
    try:
        loop.add_signal_handler(signal.SIGTERM, act)
    except (NotImplementedError, RuntimeError, ValueError):  # not in the main thread: nobody sends signals there
        return lambda: None

    def remove() -> None:
        loop.remove_signal_handler(signal.SIGTERM)

    return remove
