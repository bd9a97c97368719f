"""The patch that may become a branch, kept beside the journal. Guards against publishing another than was told.

Only for a Run that delivers a branch. A word about it is given where the last look succeeded and the bytes are on disk.
"""

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

from guildhall_contracts.gate import PatchWord
from guildhall_contracts.snapshot import DELIVERY_FILE

from guildhall_executor.changes import Change
from guildhall_executor.journal import sync_folder, write_all


@dataclass(slots=True)
class Delivery:
    """Where the patch is kept; `folder` is None for a Run that makes no branch."""

    folder: Path | None = None
    word: PatchWord | None = None
    _kept: str = ""
    _writing: threading.Lock = field(default_factory=threading.Lock)  # a look given up leaves its thread behind

    def holds(self, sha256: str) -> bool:
        """Whether this patch need not be written again."""
        return self.folder is None or self._kept == sha256

    def keep(self, sha256: str, patch: bytes) -> None:
        """Replaces what was kept, durably; a volume that takes no more leaves the Run without a word, and running."""
        if self.folder is None:
            return
        with self._writing:
            self._kept = ""
            try:
                _write(self.folder, patch)
            except OSError:
                return
            self._kept = sha256

    def settle(self, change: Change) -> None:
        """The last change set was told: gives the word the operator goes by."""
        if self.folder is None or change.sha256 not in (None, self._kept):
            return
        will_run = sum(file.will_run for file in change.files)
        self.word = PatchWord(sha256=change.sha256, omitted=change.lacking, will_run=will_run)


def _write(folder: Path, patch: bytes) -> None:
    folder.mkdir(mode=0o755, exist_ok=True)
    folder.chmod(0o755)  # another uid reads it: the publisher's
    part = folder / f"{DELIVERY_FILE}.part"
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        os.fchmod(fd, 0o644)
        write_all(fd, patch)
        os.fsync(fd)
    finally:
        os.close(fd)
    part.rename(folder / DELIVERY_FILE)
    sync_folder(folder)
