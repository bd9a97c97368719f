"""The same frames, read by the contract's decoder here and by the workshop's own in Go."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts import frames, limits

ROOT = Path(__file__).resolve().parents[3]
GOLDENS = ROOT / "tests" / "golden" / "workshop"
REQUESTS: list[dict[str, Any]] = json.loads((GOLDENS / "requests.json").read_text())
REPLIES: list[dict[str, Any]] = json.loads((GOLDENS / "replies.json").read_text())


def body(case: dict[str, Any]) -> bytes:
    if "bodyB64" in case:
        return base64.b64decode(case["bodyB64"])
    repeated = case.get("repeat", "") * case.get("times", 0)
    text: str = case.get("body", "") + case.get("before", "") + repeated + case.get("after", "")
    return text.encode()


@pytest.mark.parametrize("case", REQUESTS, ids=lambda case: case["name"])
def test_request(case: dict[str, Any]) -> None:
    decoded = frames.decode_request(body(case))
    if case.get("refused"):
        assert isinstance(decoded, frames.FrameRefused)
    else:
        assert not isinstance(decoded, frames.FrameRefused)
        assert decoded.to_wire() == case["request"]


@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: f"{reply['type']} {reply.get('op', '')}")
def test_reply_of_the_workshop_is_understood(reply: dict[str, Any]) -> None:
    decoded = frames.decode_reply(json.dumps(reply).encode())
    assert not isinstance(decoded, frames.FrameRefused), decoded
    assert frames.decode_reply(frames.encode_frame(decoded)[4:]) == decoded


def test_every_operation_and_reply_has_a_golden() -> None:
    operations = {case["request"]["op"] for case in REQUESTS if "request" in case}
    assert operations == {reply["op"] for reply in REPLIES if reply["type"] == "result"}
    assert {reply["type"] for reply in REPLIES} == {"result", "error", "output", "chunk"}


def test_limits_are_the_contracts() -> None:
    """Every bound of the first block of limit.go has the value of its namesake."""
    source = (ROOT / "workshop" / "internal" / "limit" / "limit.go").read_text()
    shared = source.partition("// Shared with the contracts.")[2].partition("// The workshop's own.")[0]
    found = dict(re.findall(r"^\t(\w+)\s*= ([\d_* KiMB]+)$", shared, re.MULTILINE))
    assert len(found) > 25
    for name, text in found.items():
        known = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()
        value = eval(text.replace("KiB", "1024").replace("MiB", "1048576"), {"__builtins__": {}})  # noqa: S307
        assert value == getattr(limits, known), name
