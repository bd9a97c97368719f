"""The journal of a Run itself, read past every component from its volume, which lies on this machine."""

import json
import subprocess
from pathlib import Path
from typing import Any, BinaryIO

from support.cluster import eventually
from support.installation import ROOT, Installation

FOLD = Path(__file__).with_name("fold-lines.mjs")


def open_journal(here: Installation, name: str, seconds: float = 90) -> BinaryIO:
    """The file the executor of a Run writes to, opened as soon as it is there: its bytes outlive the claim's end."""
    uid = here.get("run", name)["metadata"]["uid"]
    volumes = here.cluster.kubeconfig.parents[1] / "pv"
    pattern = f"*_{here.namespace}_*/{uid}/events.jsonl"
    eventually(lambda: list(volumes.glob(pattern)), seconds)
    [path] = volumes.glob(pattern)
    return path.open("rb")


def folded_by_javascript(lines: bytes) -> dict[str, Any]:
    """What the console makes of these lines."""
    done = subprocess.run(
        ["node", FOLD, ROOT / "web" / "src"], input=lines, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    model: dict[str, Any] = json.loads(done.stdout)
    return model
