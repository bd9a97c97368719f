"""Replies of the kernel are split by the lengths they state, and a wrong length ends nothing but itself."""

from __future__ import annotations

import struct

import pytest
from cluster.embedded import counters


def _attribute(kind: int, value: bytes) -> bytes:
    whole = struct.pack("=HH", 4 + len(value), kind) + value
    return whole.ljust((len(whole) + 3) & ~3, b"\0")


def _message(kind: int, payload: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(payload), kind, 0, 1, 0) + payload


def test_names_are_read_from_among_other_attributes() -> None:
    payload = b"\0\0\0\0" + _attribute(2, b"12345678") + _attribute(1, b"dropped\0") + _attribute(3, b"x")
    kinds = counters._split(_message(1792, payload) + _message(3, b"\0\0\0\0"))
    assert [kind for kind, _ in kinds] == [1792, 3]
    assert counters._name(kinds[0][1]) == "dropped"


@pytest.mark.parametrize("data", [b"", b"\0" * 15, b"\0" * 16, b"\0" * 64, b"\xff" * 64])
def test_hostile_lengths_end(data: bytes) -> None:
    counters._split(data)
    assert counters._name(data) is None
