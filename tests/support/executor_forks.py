"""Attempts of the real executor, forked from a process that has imported it, and killed with exactly so many events.

The kill is a SIGKILL of the process itself: its Nth event is in the journal, and no byte of it printed yet.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from guildhall_contracts.snapshot import RunSnapshot
from support.executor_process import Process
from support.executor_run import places

KILLED: Final = -9
_PARENT: Final = """
import json, os, signal, sys
from guildhall_executor import __main__ as entry, attempt
from guildhall_executor.journal import Journal

def killed_with(count):
    whole, said = Journal.write_events, Journal._print
    def write_events(self, events, *, durable=False):
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        for event in events:
            whole(self, [event], durable=durable)
    def say(self, data):
        if self.last_seq == count:
            os.kill(os.getpid(), signal.SIGKILL)
        said(self, data)
    Journal.write_events, Journal._print = write_events, say

def attempt_of(order):
    for fd, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT, 0o600), fd)
    os.environ["GUILDHALL_ATTEMPT"] = str(order["attempt"])
    sys.argv[1:] = order["options"]
    if order["killWith"] is not None:
        killed_with(order["killWith"])
    entry.main()

for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        try:
            attempt_of(json.loads(line))
        except SystemExit as end:
            os._exit(end.code)
        except BaseException as error:
            os.write(2, repr(error).encode())
        os._exit(70)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@dataclass
class Nursery:
    """Starts one attempt after another, each a process of its own."""

    parent: subprocess.Popen[str]

    def attempt(
        self, base: Path, snap: RunSnapshot, socket: Path, number: int, kill_with: int | None = None
    ) -> tuple[int, Process]:
        """Its exit code (`KILLED` where it was), and what it left."""
        at = places(base, snap, socket)
        options = [part for f in fields(at) for part in (f"--{f.name.replace('_', '-')}", str(getattr(at, f.name)))]
        order: dict[str, Any] = {"attempt": number, "options": options, "killWith": kill_with}
        order |= {"out": str(base / f"stdout-{number}"), "err": str(base / f"stderr-{number}")}
        assert self.parent.stdin is not None
        assert self.parent.stdout is not None
        self.parent.stdin.write(json.dumps(order) + "\n")
        self.parent.stdin.flush()
        hung = threading.Timer(60, os.killpg, (self.parent.pid, signal.SIGKILL))  # then readline finds an end
        hung.start()
        code = self.parent.stdout.readline()
        hung.cancel()
        assert code, "the attempt did not end"
        return int(code), Process(base, snap, number, None)  # type: ignore[arg-type]


@contextmanager
def nursery() -> Iterator[Nursery]:
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={"PATH": os.environ["PATH"]}, start_new_session=True,
    ) as parent:  # fmt: skip
        yield Nursery(parent)
