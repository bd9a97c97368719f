"""Running other programs, with a time limit on each."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .errors import StepError

_STARTED = time.monotonic()


def say(text: str) -> None:
    """One line of progress on stderr, with the seconds since the command began."""
    print(f"[{time.monotonic() - _STARTED:5.1f}s] {text}", file=sys.stderr, flush=True)


def attempt(
    argv: Sequence[str | Path], *, stdin: str | None = None, seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run to the end and return it, whatever its exit code (124 when it ran out of time)."""
    words = [str(word) for word in argv]
    try:
        return subprocess.run(
            words,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            stdin=None if stdin is not None else subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"no end within {seconds:g} s")
    except FileNotFoundError:
        return subprocess.CompletedProcess(words, 127, "", f"{words[0]}: not found")


def run(argv: Sequence[str | Path], *, stdin: str | None = None, seconds: float = 120) -> str:
    """Run, return its stdout; raise StepError with its last words when it does not exit 0."""
    done = attempt(argv, stdin=stdin, seconds=seconds)
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise StepError(f"{Path(str(argv[0])).name} ended with {done.returncode}: " + " | ".join(words))
    return done.stdout
