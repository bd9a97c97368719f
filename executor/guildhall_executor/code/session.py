"""`run_code` as the executor performs it: a pool, the conversation with a worker, and calls that wait for the loop."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from guildhall_executor.code import report, runner
from guildhall_executor.code.bounds import Bounds
from guildhall_executor.code.pool import NoWorker, Pool
from guildhall_executor.effects import AnswerCode, RunTool
from guildhall_executor.inputs import AnyInput, CodeCalled
from guildhall_executor.tools.code import RunCode
from guildhall_executor.tools.result import Ran, ToolResult, failed

_UNAVAILABLE: Final = "code cannot be run on this node: {}. Do the work by your other tools."


@dataclass(slots=True)
class CodeSession:
    """`put` hands a call of code to the loop; the loop's `AnswerCode` comes back by `answer`."""

    put: Callable[[AnyInput], None]
    pool: Pool = field(default_factory=Pool)
    bounds_of: Callable[[RunCode], Bounds] = report.bounds_of
    _asked: dict[tuple[str, int], asyncio.Future[ToolResult]] = field(default_factory=dict)

    async def run(self, effect: RunTool, args: RunCode, on_print: Callable[[str], None]) -> Ran:
        """Never raises for what the code does; raises ValueError for code that does not fit into a request."""
        request = report.request_of(args, effect.history, effect.functions, self.bounds_of(args))
        try:
            result = await runner.run(self.pool, effect.role, request, self._host_call(effect.op), on_print)
        except NoWorker as error:
            return Ran(failed("code_unavailable", _UNAVAILABLE.format(error)))
        return report.render(args, result)

    def _host_call(self, op: str) -> Callable[[str, str], Awaitable[dict[str, Any]]]:
        numbers = count(1)

        async def call(tool: str, arguments: str) -> dict[str, Any]:
            number = next(numbers)
            waiting = self._asked[op, number] = asyncio.get_running_loop().create_future()
            try:
                self.put(CodeCalled(op=op, id=number, tool=tool, arguments=arguments))
                return report.answer_of(await waiting)
            finally:
                del self._asked[op, number]

        return call

    def answer(self, effect: AnswerCode) -> None:
        """Code that was stopped meanwhile gets no answer."""
        waiting = self._asked.get((effect.op, effect.id))
        if waiting is not None and not waiting.done():
            waiting.set_result(effect.result)

    async def close(self) -> None:
        await self.pool.close()
