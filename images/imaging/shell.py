"""Running other programs, with a time limit on each."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from .errors import ImageError

_STARTED = time.monotonic()


def say(text: str) -> None:
    """One line of progress on stderr."""
    print(f"[{time.monotonic() - _STARTED:5.1f}s] {text}", file=sys.stderr, flush=True)


def run(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    seconds: float = 580,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run, return stdout; ImageError with the last words when it does not exit 0."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError:
        raise ImageError(f"{words[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise ImageError(f"{words[0]} did not end within {seconds:g} s") from None
    if done.returncode != 0:
        last = " | ".join((done.stderr or done.stdout).strip().splitlines()[-8:])
        raise ImageError(f"{' '.join(words[:4])} … ended with {done.returncode}: {last}")
    return done.stdout
