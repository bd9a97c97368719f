"""Calls under way while the gateway stops. Guards against one begun that nobody is there to end or to record."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from guildhall_gateway.problems import DRAINING, Refused


class Drain:
    """Admits calls until it is closed, and then waits for those it admitted."""

    def __init__(self) -> None:
        self._closed = False
        self._under_way: set[asyncio.Future[Any]] = set()

    def check(self) -> None:
        """Raises Refused where nothing new is admitted."""
        if self._closed:
            raise Refused(DRAINING)

    @contextlib.contextmanager
    def admitted(self, *, joins: bool = False) -> Iterator[None]:
        """Around what begins a call, from before anything of it is recorded until its task is followed. Raises Refused.

        `joins`: the call is under way already, so that this is no new one.
        """
        if not joins:
            self.check()
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._under_way.add(begun)
        try:
            yield
        finally:
            self._under_way.discard(begun)
            begun.set_result(None)

    def follow(self, task: "asyncio.Task[Any]") -> None:
        """The task of a call that was admitted, which is under way until it is done."""
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def close(self, grace_seconds: float, cut: Callable[[], None]) -> None:
        """Admit nothing any more, let what is under way end for so long, then `cut` it and wait for its end.

        `cut` is called again when a call that was only beginning goes on; it leaves alone what it has cut.
        """
        self._closed = True
        end = asyncio.get_running_loop().time() + grace_seconds
        while self._under_way and (left := end - asyncio.get_running_loop().time()) > 0:
            await asyncio.wait(self._under_way, timeout=left)
        while self._under_way:
            cut()
            await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
