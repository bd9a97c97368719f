"""The worker: `python3 -m guildhall_executor.code.worker <address space, bytes>`. Guards against the code it runs.

It confines itself, then serves one request after another on stdin and stdout. Each runs in an interpreter process of
its own below this one. The code gets JSON values and the functions it was lent, and whatever it gives back is copied
into JSON. Two clocks are kept here: the interpreter's own, and a thread that ends everything when that one fails.
"""

import contextlib
import decimal  # noqa: F401  values of the code may be of it: what is not imported by then cannot be, once confined
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import pydantic_monty as monty
from pydantic_monty._binary import find_monty_binary

from guildhall_executor.code import plain, wire
from guildhall_executor.code.clock import Deadline
from guildhall_executor.code.confine import confine

STDIN, STDOUT = 0, 1
FAREWELL_SECONDS: Final = 0.2
_NATIVE: Final = Path(monty.__file__).parent.parent / "bin" / "monty"  # where an image keeps it


@dataclass(slots=True)
class Outlet:
    """Frames to the executor, from two threads."""

    lock: threading.Lock
    fd: int = STDOUT

    def send(self, value: dict[str, Any]) -> None:
        data = wire.frame(value)
        with self.lock:
            wire.write_all(self.fd, data)

    def last_words(self, value: dict[str, Any]) -> NoReturn:
        """Says `value` if that can be said at once, and ends this process and the interpreter below it."""
        with contextlib.suppress(OSError):
            if self.lock.acquire(timeout=FAREWELL_SECONDS):
                os.set_blocking(self.fd, False)
                os.write(self.fd, wire.frame(value))
        os.kill(0, signal.SIGKILL)
        os._exit(1)


def killed(reason: str) -> dict[str, Any]:
    return {"kind": "result", "status": "killed", "reason": reason}


def interpreter() -> Path:
    return _NATIVE if _NATIVE.is_file() else Path(find_monty_binary())


def serve(pool: monty.Monty, request: dict[str, Any], outlet: Outlet) -> None:
    """One request, to its result."""
    bounds = request["bounds"]
    deadline = Deadline(bounds["workerSeconds"], lambda: outlet.last_words(killed("deadline")))
    printed = _Printed(outlet, bounds["outputBytes"])
    host = _Host(outlet, deadline)
    seconds = bounds["interpreterSeconds"]
    asked: monty.ResourceLimits = {
        "max_feed_duration_secs": seconds,
        "max_memory": bounds["memoryBytes"],
        "max_recursion_depth": bounds["depth"],
        "max_suspensions": bounds["suspensions"],
    }
    waits: monty.OSPolicy = {"sleep": "system", "sleep_system_max": float("inf")}
    try:
        with pool.checkout(limits=asked, os_policy=waits, script_name="code.py") as session:
            value = session.feed_run(
                request["code"],
                inputs={"messages": request["messages"]},
                external_lookup={name: host.function(name, names) for name, names in request["functions"].items()},
                print_callback=printed.take,
            )
        result = _given_back(value, bounds["valueBytes"])
    except monty.MontyError as error:
        result = _failed(error)
    deadline.stop()
    outlet.send(result)


@dataclass(slots=True)
class _Printed:
    """What the code prints, streamed; a flood ends it."""

    outlet: Outlet
    room_bytes: int

    def take(self, _stream: str, text: str) -> None:
        for at in range(0, len(text), plain.PIECE_MAX_CHARS):
            piece = text[at : at + plain.PIECE_MAX_CHARS].encode("utf-8", "replace")
            self.room_bytes -= len(piece)
            if self.room_bytes < 0:
                self.outlet.last_words(killed("output"))
            self.outlet.send({"kind": "print", "text": piece.decode()})


class _Host:
    """Functions of the host as the code calls them: JSON goes out, JSON comes back, and the clock stands meanwhile."""

    def __init__(self, outlet: Outlet, deadline: Deadline) -> None:
        self._outlet = outlet
        self._deadline = deadline
        self._calls = 0

    def function(self, name: str, parameters: list[str]) -> Callable[..., Any]:
        def call(*positional: Any, **named: Any) -> Any:
            arguments = plain.arguments(name, parameters, positional, named)
            self._calls += 1
            with self._deadline.paused():
                self._outlet.send({"kind": "call", "id": self._calls, "tool": name, "arguments": arguments})
                return self._answer()

        return call

    def _answer(self) -> Any:
        answer = wire.read_frame(STDIN)
        if answer is None:  # the executor is gone
            os.kill(0, signal.SIGKILL)
            raise SystemExit(1)
        return answer["result"]


def _given_back(value: Any, max_bytes: int) -> dict[str, Any]:
    try:
        text = plain.to_json(value, max_bytes)
    except plain.NotPlain as error:
        return {"kind": "result", "status": "error", "error": f"ValueError: the value cannot be given back: {error}"}
    return {"kind": "result", "status": "done", "value": text}


def _failed(error: monty.MontyError) -> dict[str, Any]:
    if isinstance(error, monty.MontyCrashedError):
        return killed("crashed")
    inner = error.exception()
    said = str(inner)
    if isinstance(inner, TimeoutError) and "time limit exceeded" in said:
        return killed("time")
    if isinstance(inner, MemoryError):
        return killed("memory")
    shown = error.display() if isinstance(error, monty.MontyRuntimeError | monty.MontySyntaxError) else said
    return {"kind": "result", "status": "error", "error": plain.tail(shown, plain.ERROR_MAX_BYTES)}


def main() -> None:
    if os.getpgid(0) != os.getpid():
        sys.exit("the worker has to lead a process group of its own: it ends by ending its group")
    binary = interpreter()
    held = confine(binary, int(sys.argv[1]))
    outlet = Outlet(threading.Lock())
    settings: dict[str, Any] = {"feed_duration_limit_grace": None, "turn_duration_limit_grace": None}
    with monty.Monty(
        binary_path=binary, min_processes=1, max_processes=1, max_checkouts_per_worker=1, **settings
    ) as pool:
        outlet.send({"kind": "ready", "held": held})
        while (request := wire.read_frame(STDIN)) is not None:
            serve(pool, request, outlet)


if __name__ == "__main__":
    main()
