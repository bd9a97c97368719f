"""Frames between the executor and a worker: four bytes of length, big-endian, then one JSON object.

Used by both ends. What a worker says is decoded by `frames`; here only the length is judged.
"""

import json
import os
import struct
from typing import Any, Final

from guildhall_contracts.limits import FRAME_MAX_BYTES

_LENGTH: Final = struct.Struct(">I")
LENGTH_BYTES: Final = _LENGTH.size


def frame(value: dict[str, Any]) -> bytes:
    """`value` as one frame. Raises ValueError when it is over the bound or no JSON."""
    body = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    if len(body) > FRAME_MAX_BYTES:
        raise ValueError(f"a frame of {len(body)} bytes; at most {FRAME_MAX_BYTES} are allowed")
    return _LENGTH.pack(len(body)) + body


def length_of(head: bytes) -> int | None:
    """The length a frame's first four bytes announce; None when it is over the bound."""
    length: int = _LENGTH.unpack(head)[0]
    return length if length <= FRAME_MAX_BYTES else None


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_frame(fd: int) -> dict[str, Any] | None:
    """The next frame of a blocking descriptor; None at its end. The worker's side: the executor is believed."""
    head = _read_exactly(fd, LENGTH_BYTES)
    length = length_of(head) if head is not None else None
    body = _read_exactly(fd, length) if length is not None else None
    value: dict[str, Any] | None = json.loads(body) if body is not None else None
    return value


def _read_exactly(fd: int, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        piece = os.read(fd, size - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)
