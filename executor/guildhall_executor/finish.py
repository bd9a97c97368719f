"""What stays behind when the process ends: the summary and plan beside the journal, and the termination message."""

from pathlib import Path

from guildhall_contracts import limits
from guildhall_contracts.base import one_line
from guildhall_contracts.gate import ExecutorMessage, PatchWord

from guildhall_executor.effects import Seal

_MESSAGE_CHARS = 600


def message_of(seal: Seal, run: str, attempt: int, last_seq: int, patch: PatchWord | None = None) -> ExecutorMessage:
    """How the Run ended, within the 2 KiB a termination message may have."""
    chars = _MESSAGE_CHARS
    while True:
        message = ExecutorMessage(
            run=run,
            attempt=attempt,
            outcome=seal.outcome,
            error_kind=seal.error_kind,
            reason=seal.reason,
            message=one_line(seal.message, chars) if chars > 1 else "",
            last_seq=last_seq,
            patch=patch,
        )
        if len(encoded(message)) <= limits.TERMINATION_MESSAGE_MAX_BYTES or chars <= 1:
            return message
        chars //= 2


def encoded(message: ExecutorMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_none=True).encode()


def write_files(folder: Path, seal: Seal) -> None:
    """`summary.txt` and `plan.md` beside the journal. Raises OSError."""
    (folder / "summary.txt").write_text(seal.summary + "\n", encoding="utf-8")
    if seal.plan:
        (folder / "plan.md").write_text(seal.plan + "\n", encoding="utf-8")


def write_message(path: Path, message: ExecutorMessage) -> None:
    """The operator reads this file when the container has ended. Raises OSError."""
    path.write_bytes(encoded(message))
