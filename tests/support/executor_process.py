"""The executor as a process of its own, as in a pod: started, killed, stopped, and looked at from outside."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from guildhall_contracts.gate import ExecutorMessage, decode_message
from guildhall_contracts.snapshot import RunSnapshot
from support.executor_run import known, places

STARTED: list[subprocess.Popen[bytes]] = []


def until(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


@dataclass
class Process:
    """One attempt. Its stdout and stderr are files, so that nothing it writes can be missed."""

    base: Path
    snap: RunSnapshot
    attempt: int
    popen: subprocess.Popen[bytes]

    @property
    def printed(self) -> bytes:
        return (self.base / f"stdout-{self.attempt}").read_bytes()

    @property
    def stderr(self) -> bytes:
        return (self.base / f"stderr-{self.attempt}").read_bytes()

    @property
    def events(self) -> list[Any]:
        data = self.printed
        return [known(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]

    @property
    def journal(self) -> list[Any]:
        data = (self.base / "journal" / self.snap.run / "events.jsonl").read_bytes()
        return [known(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]

    def of(self, *types: str) -> list[Any]:
        return [event for event in self.events if event.type in types]

    @property
    def message(self) -> ExecutorMessage:
        message = decode_message(ExecutorMessage, (self.base / "message").read_text())
        assert message is not None
        return message

    def wait(self, seconds: float = 30.0) -> int:
        return self.popen.wait(seconds)

    def kill(self) -> None:
        self.popen.send_signal(signal.SIGKILL)
        self.popen.wait(5)

    def stop(self) -> None:
        self.popen.send_signal(signal.SIGTERM)

    def max_rss_bytes(self) -> int:
        status = Path(f"/proc/{self.popen.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024


def start(
    base: Path, snap: RunSnapshot, *, socket: Path | None = None, attempt: int = 1, env: dict[str, str] | None = None
) -> Process:
    at = places(base, snap, socket)
    options = [part for f in fields(at) for part in (f"--{f.name.replace('_', '-')}", str(getattr(at, f.name)))]
    environment = {"PATH": os.environ["PATH"], "GUILDHALL_ATTEMPT": str(attempt)} | (env or {})
    with (base / f"stdout-{attempt}").open("wb") as out, (base / f"stderr-{attempt}").open("wb") as err:
        popen = subprocess.Popen(
            [sys.executable, "-m", "guildhall_executor", *options],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment,
        )
    STARTED.append(popen)
    return Process(base, snap, attempt, popen)


def end_all() -> None:
    """Ends what a failed test left running."""
    while STARTED:
        popen = STARTED.pop()
        popen.kill()
        popen.wait(5)
