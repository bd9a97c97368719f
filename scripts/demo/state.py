"""What the demo made, so that `make demo-down` removes exactly that. One demo at a time, in one cluster."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from cluster.embedded.layout import user_cache

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = user_cache()
FILE = CACHE / "demo" / "state.json"
KUBECONFIG = CACHE / "demo" / "kubeconfig"

RELEASE = "guildhall"
CONTROL = "guildhall-system"
RUNS = "guildhall-demo"


def say(text: str = "") -> None:
    print(text, flush=True)


@dataclass
class State:
    """`cluster` is `context:<name>`, `kind` or `embedded`; `identity` tells it from a later one of that name.

    `owned` says whether the demo made the cluster. `identity` is empty while it is being made.
    """

    cluster: str = ""
    identity: str = ""
    owned: bool = False
    forward_pid: int = 0
    forward_start: str = ""
    installed: bool = False
    namespaced: bool = False  # the demo made the chart's namespace
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

    def forget(self) -> None:
        """The demo is in no cluster any more."""
        self.__init__()  # type: ignore[misc]  # every field at its default
        FILE.unlink(missing_ok=True)
        KUBECONFIG.unlink(missing_ok=True)

    def matches(self, identity: str) -> bool:
        """Whether the cluster that is there now is the recorded one. One being made has no identity yet."""
        return not self.identity or self.identity == identity

    def enter(self, cluster: str, identity: str) -> None:
        """Records that the demo goes to `cluster`, which is to be made where `identity` is empty.

        What is recorded of an earlier cluster of the same name is not true of this one.
        """
        if not (self.cluster == cluster and identity and self.matches(identity)):
            self.owned = not identity
            self.installed = self.namespaced = self.crds = False
        self.cluster, self.identity = cluster, identity
        self.save()

    def made(self, identity: str) -> None:
        """Records what came of making the cluster; where nothing did, nothing is left to remove."""
        if identity:
            self.identity = identity
            self.save()
        else:
            self.forget()


def place(cluster: str) -> str:
    """A recorded cluster in words."""
    if cluster.startswith("context:"):
        return f"your context '{cluster.removeprefix('context:')}'"
    return {"kind": "a kind cluster", "embedded": "the embedded cluster"}[cluster]


def process_start(pid: int) -> str:
    """When process `pid` started, in clock ticks since boot; empty when it is over. A pid alone may be reused."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return "" if fields[0] in "ZX" else fields[19]  # over, though nobody has asked for its exit status yet
    except (OSError, IndexError):
        return ""
