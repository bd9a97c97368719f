"""Runs code in real workers, and looks at the processes it runs in."""

import asyncio
import inspect
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guildhall_executor.code.bounds import Bounds, within
from guildhall_executor.code.frames import Ready
from guildhall_executor.code.pool import Pool, Worker, start_worker
from guildhall_executor.code.runner import CodeRequest, CodeResult, run
from pydantic_monty._binary import find_monty_binary

NEVER = 3_600.0
FUNCTIONS = {"read_file": ["path", "start_line", "max_lines"], "write_file": ["path", "content"]}


@dataclass
class Bench:
    """A pool whose workers a test can look at. `answer` gives what a call of a tool gets, at once or later, `start`
    another worker than the product's."""

    answer: Callable[[str, str], Any] = lambda tool, arguments: f"{tool} {arguments}"
    started: list[Worker] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    spoke: asyncio.Event = field(default_factory=asyncio.Event)
    address_space_bytes: int | None = None
    start: Callable[..., Awaitable[Worker]] = start_worker

    def __post_init__(self) -> None:
        self.pool = Pool(self._start)

    async def _start(self) -> Worker:
        more = () if self.address_space_bytes is None else (self.address_space_bytes,)
        worker = await self.start(*more)
        self.started.append(worker)
        return worker

    async def run(
        self,
        code: str,
        bounds: Bounds | None = None,
        *,
        role: str = "coder",
        messages: list[Mapping[str, str]] | None = None,
        functions: Mapping[str, list[str]] | None = None,
    ) -> CodeResult:
        asked = CodeRequest(code, messages or [], FUNCTIONS if functions is None else functions, bounds or within(10))
        return await run(self.pool, role, asked, self._host_call, self._on_print)

    def _on_print(self, text: str) -> None:
        self.printed.append(text)
        self.spoke.set()

    async def _host_call(self, tool: str, arguments: str) -> dict[str, Any]:
        self.calls.append((tool, arguments))
        said = self.answer(tool, arguments)
        text = await said if inspect.isawaitable(said) else said
        return {"text": text, "error_code": None, "exit_code": None}


BARE = """
import sys
from pathlib import Path
from guildhall_executor.code import worker
worker.confine = lambda binary, space: dict.fromkeys(("files", "calls", "privileges"), True)
worker.interpreter = lambda: Path(sys.argv[2])
worker.main()
"""


def bare(folder: Path, name: str, value: str) -> Callable[..., Awaitable[Worker]]:
    """Starts the product's worker with nothing that holds it: no Landlock, no seccomp, no limits, and this process's
    environment. `name` is set for the interpreter below it, which starts with an empty one otherwise."""
    interpreter = folder / "interpreter"
    interpreter.write_text(f"#!/bin/sh\n{name}={value} exec '{find_monty_binary()}' \"$@\"\n")
    interpreter.chmod(0o700)

    async def start(*_: int) -> Worker:
        command = (sys.executable, "-c", BARE, "0", str(interpreter))
        pipe = asyncio.subprocess.PIPE
        worker = Worker(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, process_group=0))
        assert isinstance(await worker.read(), Ready)
        return worker

    return start


def bounds(seconds: float = NEVER, **fields: Any) -> Bounds:
    """Bounds in which only what `fields` names holds."""
    values: dict[str, Any] = {"memory_bytes": 1 << 40, "depth": 10_000_000, "output_bytes": 1 << 40}
    values |= {"interpreter_seconds": seconds, "worker_seconds": seconds, "host_seconds": seconds}
    return Bounds(**(values | fields))


def children(pid: int) -> list[int]:
    """The processes directly below `pid`."""
    try:
        return [
            int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()
        ]
    except OSError:
        return []


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and is not yet waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


class Peaks:
    """The most memory this process has resident while it is watched, and each process below the bench's workers."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._by_process: dict[int, int] = {}

    async def __aenter__(self) -> "Peaks":
        self._before = _own_peak_begun_anew()
        self._watching = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watching.cancel()
        self.own_growth_bytes = resident_peak(os.getpid()) - self._before

    @property
    def below_bytes(self) -> int:
        """Of the largest worker or interpreter; what a process had in its last milliseconds may be missing."""
        return max(self._by_process.values(), default=0)

    async def _watch(self) -> None:
        while True:
            workers = [worker.process.pid for worker in self._bench.started]
            for pid in (*workers, *(child for worker in workers for child in children(worker))):
                self._by_process[pid] = max(self._by_process.get(pid, 0), resident_peak(pid))
            await asyncio.sleep(0.01)


def _own_peak_begun_anew() -> int:
    Path("/proc/self/clear_refs").write_text("5")  # from now on the peak is of what is there now
    return resident_peak(os.getpid())


def resident_peak(pid: int) -> int:
    """The most memory a process ever had resident, in bytes; 0 when it has ended."""
    try:
        return int(status(pid).get("VmHWM", "0 kB").split()[0]) * 1024
    except OSError:
        return 0


async def ended(pid: int, seconds: float = 5.0) -> bool:
    """Whether the process, which was told to end, has."""
    until = asyncio.get_running_loop().time() + seconds
    while is_alive(pid):
        if asyncio.get_running_loop().time() > until:
            return False
        await asyncio.sleep(0.005)
    return True
