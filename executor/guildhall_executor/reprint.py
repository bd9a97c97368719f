"""Prints a Run's journal again after its executor is gone: whole lines from a number on, and nothing else.

Guards the log against a torn or foreign line: it stops where the executor would cut its journal off.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.snapshot import JOURNAL_PATH

from guildhall_executor.journal import EVENTS_FILE, seq_of, write_all

STDOUT_FD: Final = 1
_RUN: Final = re.compile(r"[A-Za-z0-9-]{1,64}")


def lines_from(path: Path, from_seq: int) -> Iterator[bytes]:
    """The journal's lines from `from_seq` on, each with its newline, up to the first that is torn. Raises OSError."""
    last = 0
    with path.open("rb") as file:
        while line := file.readline(limits.EVENT_MAX_BYTES + 1):
            seq = seq_of(line) if line.endswith(b"\n") else None
            if seq is None or seq <= last:
                return
            last = seq
            if seq >= from_seq:
                yield line


def reprint(folder: Path, from_seq: int, out_fd: int, max_bytes: int = limits.REPRINT_MAX_BYTES) -> None:
    """Prints at most `max_bytes` of them to `out_fd`. Raises OSError."""
    left = max_bytes
    for line in lines_from(folder / EVENTS_FILE, from_seq):
        left -= len(line)
        if left < 0:
            return
        write_all(out_fd, line)


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
    found = parser.parse_args(argv)
    try:
        reprint(found.journal / found.run, found.from_seq, out_fd)
    except OSError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
