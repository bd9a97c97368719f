"""Prints a Run's journal again after its executor is gone: whole lines from a number on, and nothing else.

Guards the log against a torn or foreign line: it stops where the executor would cut its journal off. The number of the
last line goes into the termination message, so that a Run whose executor left none can still be known to be complete.
"""

import argparse
import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.gate import ReprintMessage
from guildhall_contracts.snapshot import JOURNAL_PATH

from guildhall_executor.journal import EVENTS_FILE, seq_of, write_all
from guildhall_executor.places import Places

STDOUT_FD: Final = 1
_RUN: Final = re.compile(r"[A-Za-z0-9-]{1,64}")


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The journal's lines with their numbers, each with its newline, up to the first that is torn. Raises OSError."""
    last = 0
    with path.open("rb") as file:
        while line := file.readline(limits.EVENT_MAX_BYTES + 1):
            seq = seq_of(line) if line.endswith(b"\n") else None
            if seq is None or seq <= last:
                return
            last = seq
            yield seq, line


def reprint(folder: Path, from_seq: int, out_fd: int, max_bytes: int = limits.REPRINT_MAX_BYTES) -> int:
    """Prints at most `max_bytes` of them to `out_fd`; the number of the journal's last event. Raises OSError."""
    left, last = max_bytes, 0
    for seq, line in numbered_lines(folder / EVENTS_FILE):
        last = seq
        if seq >= from_seq and left >= 0:
            left -= len(line)
            if left >= 0:
                write_all(out_fd, line)
    return last


def _run_uid(text: str) -> str:
    if not _RUN.fullmatch(text):
        raise argparse.ArgumentTypeError("is no uid")
    return text


def _seq(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:12]) >= 1):
        raise argparse.ArgumentTypeError("is no number of an event (1 or more)")
    return int(text[:12])


def main(argv: Sequence[str], out_fd: int = STDOUT_FD) -> int:
    """The exit code: 0 printed, 1 the journal cannot be read or printed, 2 wrong arguments."""
    parser = argparse.ArgumentParser(prog="guildhall-reprint", description="Prints a Run's journal again.")
    parser.add_argument("--run", type=_run_uid, required=True, help="uid of the Run")
    parser.add_argument("--from", type=_seq, required=True, dest="from_seq", metavar="SEQ", help="first event to print")
    parser.add_argument("--journal", type=Path, default=Path(JOURNAL_PATH), metavar="FOLDER")
    parser.add_argument("--termination-message", type=Path, default=Places().termination_message, metavar="FILE")
    found = parser.parse_args(argv)
    try:
        last = reprint(found.journal / found.run, found.from_seq, out_fd)
    except OSError as error:
        if not (isinstance(error, FileNotFoundError) and found.journal.is_dir()):
            return 1
        last = 0  # the executor died before it wrote anything
    message = ReprintMessage(run=found.run, last_seq=last)
    with contextlib.suppress(OSError):
        found.termination_message.write_text(message.model_dump_json(by_alias=True), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
