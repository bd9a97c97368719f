"""The demo removes what it made, and nothing of anybody else's."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from demo import clusters, console, install, remove
from demo.state import State
from demo.tools import StepError


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

    def attach(self) -> bool:
        return True

    def said(self, *words: str) -> bool:
        return any(all(word in command for word in words) for command in self.commands)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> State:
    monkeypatch.setattr(State, "save", lambda _: None)
    monkeypatch.setattr(State, "forget", lambda _: None)
    return State(namespaced=True)


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


class Ground:
    """The embedded cluster's program: remembers what it was told; `up` is whether `status` says that it runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, state_folder: Path, *, up: bool) -> None:
        self.told: list[str] = []
        self.up = up
        if state_folder.exists():
            (state_folder / "pki").mkdir()
            (state_folder / "pki" / "ca.crt").write_text("its own")
        monkeypatch.setenv("GUILDHALL_CLUSTER_STATE", str(state_folder))
        monkeypatch.setattr(subprocess, "run", self.run)
        monkeypatch.setattr(clusters, "run", lambda *_, **__: "export KUBECONFIG=/there\n")
        monkeypatch.setattr(remove, "_uninstall", lambda *_: self.told.append("uninstall"))

    def run(self, command: list[str], **_: Any) -> Any:
        self.told.append(str(command[-1]))
        return subprocess.CompletedProcess(command, 0 if self.up else 1)


@pytest.fixture
def demo() -> State:
    return State(cluster="embedded", owned=False, installed=True)


def test_removing_starts_no_cluster(monkeypatch: pytest.MonkeyPatch, state: State, demo: State, tmp_path: Path) -> None:
    ground = Ground(monkeypatch, tmp_path / "gone", up=False)
    assert remove.everything(demo) == 0
    assert ground.told == [], "its state is gone, and with it what was installed"


def test_what_is_in_a_cluster_that_is_down_is_not_forgotten(
    monkeypatch: pytest.MonkeyPatch, state: State, demo: State, tmp_path: Path
) -> None:
    ground = Ground(monkeypatch, tmp_path, up=False)
    with pytest.raises(StepError, match=r"cluster\.py up"):
        remove.everything(demo)
    assert ground.told == ["status"]


def test_a_cluster_that_is_up_is_emptied(
    monkeypatch: pytest.MonkeyPatch, state: State, demo: State, tmp_path: Path
) -> None:
    ground = Ground(monkeypatch, tmp_path, up=True)
    assert remove.everything(demo) == 0
    assert ground.told == ["status", "uninstall"]


def test_the_shell_line_brings_kubectl_where_the_cluster_has_its_own(
    capsys: pytest.CaptureFixture[str], state: State
) -> None:
    console.say_where(clusters.Embedded(state), console.Address("http://x", "t"), "a")
    assert f'eval "$({clusters.EMBEDDED} env)"' in capsys.readouterr().out
    kind = clusters.Kind(state)
    kind.environment["KUBECONFIG"] = "/k"
    assert kind.shell() == "export KUBECONFIG=/k"
