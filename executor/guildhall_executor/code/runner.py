"""`run_code` from its arguments to its result: request, prints, calls of the host, and the timer that ends it all.

Guards against code that does not end: whatever interpreter and worker do, the worker is killed from here in time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from guildhall_executor.code.bounds import Bounds
from guildhall_executor.code.frames import Call, Print, Ready, Result
from guildhall_executor.code.pool import Pool, Worker, WorkerLost

HostCall = Callable[[str, str], Awaitable[dict[str, Any]]]
"""Performs `tool` with its arguments as JSON text as a call of the role, and gives its result as JSON."""
Status = Literal["done", "killed", "error"]
Reason = Literal["", "time", "deadline", "memory", "output", "crashed", "host", "nonsense"]

TOO_MANY_CALLS: Final = {"text": "call_limit: this code has called too many tools", "error_code": "call_limit"}


@dataclass(frozen=True, slots=True)
class CodeRequest:
    """`functions` are the tools the code may call, each with its parameters in order."""

    code: str
    messages: Sequence[Mapping[str, str]]
    functions: Mapping[str, Sequence[str]]
    bounds: Bounds


@dataclass(slots=True)
class CodeResult:
    """`value` is JSON text when the code is done; `error` a traceback when it failed; `reason` why it was killed."""

    status: Status
    stdout: list[str] = field(default_factory=list)
    value: str = ""
    error: str = ""
    reason: Reason = ""
    called: int = 0


async def run(
    pool: Pool, role: str, request: CodeRequest, host_call: HostCall, on_print: Callable[[str], None]
) -> CodeResult:
    """Runs `request` in a worker of `role`. Raises NoWorker, and ValueError for a request over the bound."""
    async with pool.lend(role) as worker:
        result = await _Conversation(worker, request, host_call, on_print).result()
        if result.status != "killed":
            pool.keep(role, worker)
        return result


class _Conversation:
    def __init__(
        self, worker: Worker, request: CodeRequest, host_call: HostCall, on_print: Callable[[str], None]
    ) -> None:
        self._worker = worker
        self._request = request
        self._host_call = host_call
        self._on_print = on_print
        self._printed: list[str] = []
        self._room = request.bounds.output_bytes
        self._calls = 0

    async def result(self) -> CodeResult:
        try:
            return await self._talk()
        except WorkerLost as lost:
            return self._ended("killed", reason="nonsense" if "nonsense" in str(lost) else "crashed")
        except TimeoutError:
            return self._ended("killed", reason="host")

    async def _talk(self) -> CodeResult:
        request, loop = self._request, asyncio.get_running_loop()
        async with asyncio.timeout(request.bounds.host_seconds) as timer:
            await self._worker.send(
                {
                    "code": request.code,
                    "messages": list(request.messages),
                    "functions": {name: list(names) for name, names in request.functions.items()},
                    "bounds": request.bounds.to_wire(),
                }
            )
            while True:
                match await self._worker.read():
                    case Print(text=text):
                        if not self._print(text):
                            return self._ended("killed", reason="output")
                    case Call() as call:
                        until = timer.when() or loop.time()
                        left = until - loop.time()
                        timer.reschedule(None)  # what the host takes is not the code's time
                        answer = await self._answer(call)
                        timer.reschedule(loop.time() + left)
                        await self._worker.send({"id": call.id, "result": answer})
                    case Result() as result:
                        return self._ended(result.status, result.value, result.error, result.reason)
                    case Ready():
                        raise WorkerLost("the worker spoke nonsense")

    async def _answer(self, call: Call) -> dict[str, Any]:
        self._calls += 1
        if self._calls > self._request.bounds.calls or call.tool not in self._request.functions:
            return TOO_MANY_CALLS | {"exit_code": None}
        return await self._host_call(call.tool, call.arguments)

    def _print(self, text: str) -> bool:
        """Whether there is room for more."""
        self._room -= len(text.encode("utf-8", "replace")) or 1
        if self._room < 0:
            return False
        self._printed.append(text)
        self._on_print(text)
        return True

    def _ended(self, status: Status, value: str = "", error: str = "", reason: Reason = "") -> CodeResult:
        return CodeResult(status, self._printed, value, error, reason, self._calls)
