"""What a piece of code may use. Four clocks and three ceilings, each held by somebody else; records only."""

from dataclasses import dataclass
from typing import Any, Final

from guildhall_contracts import limits

WORKER_SHARE: Final = 1.15  # each clock runs a little longer than the one it stands behind
HOST_SHARE: Final = 1.3
_LOOKUPS_PER_CALL: Final = 4


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one run of code; seconds are without the time that calls of the host take."""

    interpreter_seconds: float
    worker_seconds: float
    host_seconds: float
    memory_bytes: int = limits.CODE_MEMORY_MAX_BYTES
    depth: int = limits.CODE_STACK_MAX_DEPTH
    output_bytes: int = limits.CODE_OUTPUT_MAX_BYTES
    value_bytes: int = limits.CODE_VALUE_MAX_BYTES
    calls: int = limits.CODE_CALLS_MAX_COUNT

    def to_wire(self) -> dict[str, Any]:
        """What the worker and the interpreter hold."""
        return {
            "interpreterSeconds": self.interpreter_seconds,
            "workerSeconds": self.worker_seconds,
            "memoryBytes": self.memory_bytes,
            "depth": self.depth,
            "outputBytes": self.output_bytes,
            "valueBytes": self.value_bytes,
            "suspensions": self.calls * _LOOKUPS_PER_CALL,
        }


def within(seconds: float) -> Bounds:
    """The bounds of code that may run for `seconds`: all of it is over by half as much again."""
    return Bounds(seconds, seconds * WORKER_SHARE, seconds * HOST_SHARE)
