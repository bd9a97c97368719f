"""Entry point: one attempt of one Run, from its snapshot to its termination message. stdout carries LogEvents only.

stderr shares the pod's log with stdout, so it stays silent: whatever goes wrong becomes an event and a message.
"""

import argparse
import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.gate import ExecutorMessage
from guildhall_contracts.snapshot import RunSnapshot
from pydantic import ValidationError

from guildhall_executor import finish
from guildhall_executor.attempt import failed, run_attempt
from guildhall_executor.places import Patience, Places

ATTEMPT_VARIABLE: Final = "GUILDHALL_ATTEMPT"
STDOUT_FD: Final = 1
PR_SET_DUMPABLE: Final = 4
_NUMBER: Final = re.compile(r"[0-9]{1,2}")


def places_from(argv: Sequence[str]) -> Places:
    """Every field of Places is an option; in a pod none is needed."""
    parser = argparse.ArgumentParser(prog="guildhall-executor", description="Runs the model loop of one Run.")
    defaults = Places()
    for field in fields(Places):
        default = getattr(defaults, field.name)
        kind = Path if isinstance(default, Path) else int
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=default, metavar=kind.__name__)
    return Places(**vars(parser.parse_args(argv)))


def load_snapshot(path: Path) -> RunSnapshot | ErrorInfo:
    """The frozen Run; an error for anything that is none."""
    try:
        with path.open("rb") as file:
            data = file.read(limits.SNAPSHOT_MAX_BYTES + 1)
        if len(data) > limits.SNAPSHOT_MAX_BYTES:
            return error_info("internal", f"the snapshot is over {limits.SNAPSHOT_MAX_BYTES} bytes")
        return RunSnapshot.model_validate_json(data)
    except (OSError, ValidationError) as error:
        return error_info("internal", f"the snapshot at {path} cannot be read ({type(error).__name__})")


def attempt_number(environment: Mapping[str, str]) -> int | ErrorInfo:
    text = environment.get(ATTEMPT_VARIABLE, "1")
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= limits.ATTEMPTS_MAX_COUNT:
        return error_info("internal", f"{ATTEMPT_VARIABLE} is not a number in 1..{limits.ATTEMPTS_MAX_COUNT}")
    return int(text)


def be_silent() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)


def run(argv: Sequence[str], environment: Mapping[str, str], patience: Patience) -> int:
    """The exit code: 0 when the Run succeeded, 1 for any other end."""
    places = places_from(argv)
    snapshot = load_snapshot(places.snapshot)
    number = attempt_number(environment)
    if isinstance(snapshot, RunSnapshot) and isinstance(number, int):
        message = asyncio.run(run_attempt(snapshot, number, places, patience, STDOUT_FD))
    else:
        error = snapshot if isinstance(snapshot, ErrorInfo) else number
        assert isinstance(error, ErrorInfo)  # noqa: S101  one of the two is
        message = _untried(snapshot, error)
    with contextlib.suppress(OSError):
        finish.write_message(places.termination_message, message)
    return 0 if message.outcome == "succeeded" else 1


def _untried(snapshot: RunSnapshot | ErrorInfo, error: ErrorInfo) -> ExecutorMessage:
    run_uid = snapshot.run if isinstance(snapshot, RunSnapshot) else "unknown"
    return finish.message_of(failed(error), run_uid, 1, 0)


def collect_rarely() -> None:
    """What was imported lives as long as the process, and a history only grows: looking for garbage finds little."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def be_private() -> None:
    """Keeps this process's memory and descriptors from others of its uid, and from core dumps. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def main() -> None:
    be_private()
    be_silent()
    collect_rarely()
    sys.exit(run(sys.argv[1:], os.environ, Patience()))


if __name__ == "__main__":
    main()
