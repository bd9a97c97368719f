"""The demo removes what it made, and nothing of anybody else's."""

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

from demo import install, remove  # noqa: E402
from demo.state import State  # noqa: E402


class Recorded:
    """Stands for the cluster: remembers commands, says what `helm list` and the look for CRDs find."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, crds: str = "", left: str = "") -> None:
        self.commands: list[str] = []
        self.environment: dict[str, str] = {}
        self.crds, self.left = crds, left
        monkeypatch.setattr(remove, "run", self.run)
        monkeypatch.setattr(install, "run", self.run)

    def run(self, *command: str, **_: Any) -> str:
        self.commands.append(" ".join(command))
        return self.left if command[:2] == ("helm", "list") else ""

    def kubectl(self, *_: str, **__: Any) -> str:
        return self.crds

    def start(self) -> None:
        """It runs already."""

    def said(self, *words: str) -> bool:
        return any(all(word in command for word in words) for command in self.commands)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> State:
    monkeypatch.setattr(State, "save", lambda _: None)
    return State()


def test_crds_that_were_there_before_are_not_the_demo_s(monkeypatch: pytest.MonkeyPatch, state: State) -> None:
    cluster: Any = Recorded(monkeypatch, crds=install.CONTROL, left="guildhall-crds")
    install.crds(cluster, state)
    assert cluster.said("helm upgrade")
    assert not state.crds
    remove._uninstall(cluster, state)
    assert cluster.said("helm uninstall guildhall ")
    assert not cluster.said("delete crd")
    assert not cluster.said("uninstall guildhall-crds")
    assert not cluster.said("delete namespace", install.CONTROL), "another release lives there"


def test_crds_the_demo_made_go_with_it(monkeypatch: pytest.MonkeyPatch, state: State) -> None:
    cluster: Any = Recorded(monkeypatch)
    install.crds(cluster, state)
    assert state.crds
    install.crds(Recorded(monkeypatch, crds=install.CONTROL), state)  # type: ignore[arg-type]
    assert state.crds, "a second demo does not forget it"
    cluster = Recorded(monkeypatch)
    remove._uninstall(cluster, state)
    for kind in ("runs", "guilds", "interventions", "connections", "runschedules"):
        assert cluster.said("delete crd", f"{kind}.guildhall.dev")
    assert cluster.said("delete namespace", install.CONTROL)
