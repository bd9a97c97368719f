"""Workers: started confined, lent to one call at a time, never shared between roles, replaced when in doubt.

Guards against a worker that was taken over: it has no token, no environment, no descriptor but its two pipes, and
what it says ends at the first frame that fits nothing.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from guildhall_contracts import limits

from guildhall_executor.code import wire
from guildhall_executor.code.frames import Ready, Said, decode

START_SECONDS: Final = 20.0
MODULE: Final = "guildhall_executor.code.worker"
_PASSED_ON: Final = ("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE")
_FIXED: Final = {"LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1"}  # an arena for each thread takes address space
_NEEDED: Final = {"files": "Landlock", "calls": "seccomp", "privileges": "no_new_privs"}


class WorkerLost(Exception):  # noqa: N818  reads as what it says
    """The worker is gone or spoke nonsense; it has been ended."""


class NoWorker(Exception):  # noqa: N818  reads as what it says
    """No worker can be had on this node; the message says why."""


class Worker:
    """One worker process, which leads a process group with its interpreter in it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.uses = 0

    async def send(self, value: dict[str, Any]) -> None:
        """Raises ValueError for a frame over the bound, before anything of it is sent."""
        data = wire.frame(value)
        writer = self.process.stdin
        try:
            if writer is not None:
                writer.write(data)
                await writer.drain()
        except OSError as error:
            raise WorkerLost("the worker takes no requests") from error

    async def read(self) -> Said:
        reader = self.process.stdout
        try:
            length = wire.length_of(await reader.readexactly(wire.LENGTH_BYTES)) if reader is not None else None
            said = decode(await reader.readexactly(length)) if reader is not None and length is not None else None
        except (OSError, EOFError) as error:
            raise WorkerLost("the worker ended") from error
        if said is None:
            raise WorkerLost("the worker spoke nonsense")
        return said

    async def end(self) -> None:
        """Ends the worker and everything below it, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.stdin is not None:
            self.process.stdin.close()
        await self.process.wait()


def environment() -> dict[str, str]:
    """All a worker is told by its environment: where Python finds its modules, and how to keep its memory together."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | _FIXED


async def start_worker(address_space_bytes: int = limits.CODE_ADDRESS_SPACE_MAX_BYTES) -> Worker:
    """A worker that is confined and ready. Raises NoWorker."""
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            MODULE,
            str(address_space_bytes),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment(),
            cwd="/",
            start_new_session=True,
            limit=limits.FRAME_MAX_BYTES,
        )
    except OSError as error:
        raise NoWorker(f"no process can be started ({type(error).__name__})") from error
    worker = Worker(process)
    try:
        async with asyncio.timeout(START_SECONDS):
            said = await worker.read()
        lacking = [name for held, name in _NEEDED.items() if not isinstance(said, Ready) or not said.held.get(held)]
    except (TimeoutError, WorkerLost) as error:
        await worker.end()
        raise NoWorker(f"its process does not come up ({str(error) or 'time is over'})") from error
    except BaseException:
        await worker.end()
        raise
    if lacking:
        await worker.end()
        raise NoWorker(
            f"the kernel of this node holds no {' and no '.join(lacking)}, without which no code is run here"
        )
    return worker


@dataclass(slots=True)
class Pool:
    """Lends workers; at most `limits.CODE_WORKERS_MAX_COUNT` live at once, and further code waits."""

    start: Callable[[], Awaitable[Worker]] = start_worker
    _idle: dict[str, Worker] = field(default_factory=dict)
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(limits.CODE_WORKERS_MAX_COUNT))
    _lent: int = 0

    @contextlib.asynccontextmanager
    async def lend(self, role: str) -> AsyncIterator[Worker]:
        """A worker for `role`. It is kept for the role only if whoever borrowed it says so by `keep`."""
        async with self._room:
            self._lent += 1
            worker: Worker | None = None
            try:
                worker = await self._take(role)
                yield worker
            finally:
                self._lent -= 1
                if worker is not None and self._idle.get(role) is not worker:
                    await worker.end()

    def keep(self, role: str, worker: Worker) -> None:
        """The borrower found nothing wrong with it."""
        if worker.uses < limits.CODE_WORKER_USES_MAX_COUNT and role not in self._idle:
            self._idle[role] = worker

    async def _take(self, role: str) -> Worker:
        kept = self._idle.pop(role, None)
        if kept is None and len(self._idle) + self._lent > limits.CODE_WORKERS_MAX_COUNT:
            await self._idle.pop(next(iter(self._idle))).end()
        worker = kept or await self.start()
        worker.uses += 1
        return worker

    async def close(self) -> None:
        while self._idle:
            _, worker = self._idle.popitem()
            await worker.end()
