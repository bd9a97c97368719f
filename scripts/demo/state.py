"""What the demo made, so that `make demo-down` removes exactly that."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "guildhall"
FILE = CACHE / "demo" / "state.json"

RELEASE = "guildhall"
CONTROL = "guildhall-system"
RUNS = "guildhall-demo"


def say(text: str = "") -> None:
    print(text, flush=True)


@dataclass
class State:
    """`cluster` is `context:<name>`, `kind` or `embedded`; `owned` says whether the demo started it."""

    cluster: str = ""
    owned: bool = False
    forward_pid: int = 0
    forward_start: str = ""
    installed: bool = False
    crds: bool = False  # made by the demo; a chart's CRDs outlive it, so that nobody's Runs vanish with a release

    @classmethod
    def load(cls) -> "State":
        try:
            return cls(**json.loads(FILE.read_text()))
        except (OSError, ValueError, TypeError):
            return cls()

    def save(self) -> None:
        FILE.parent.mkdir(parents=True, exist_ok=True)
        FILE.write_text(json.dumps(asdict(self)))


def process_start(pid: int) -> str:
    """When process `pid` started, in clock ticks since boot; empty when there is none. A pid alone may be reused."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()[19]
    except (OSError, IndexError):
        return ""
