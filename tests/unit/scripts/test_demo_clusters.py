"""A cluster is the demo's to remove only if the demo made it, and only the very one."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from demo import clusters, install, remove
from demo.state import State
from demo.tools import StepError

from .conftest import Machine

KIND = """
case "$*" in
"ps "*) ! test -e "$HERE/kind" || cat "$HERE/kind" ;;
"create cluster"*) test ! -e "$HERE/broken" && echo made-by-demo >"$HERE/kind" ;;
"delete cluster"*) rm "$HERE/kind" ;;
esac
"""
KUBECTL = """
case "$*" in
*"config view"*) echo config ;;
*kube-system*) cat "$HERE/uid" ;;
*"get namespace guildhall-system"*) cat "$HERE/namespaces" 2>/dev/null ;;
esac
true
"""
HELM = """
case "$*" in
*"--filter"*) cat "$HERE/release" 2>/dev/null ;;
esac
true
"""


@pytest.fixture
def kind(machine: Machine) -> Machine:
    for name in ("docker", "kind"):
        machine.program(name, KIND)
    return machine


@pytest.fixture
def prod(machine: Machine) -> Machine:
    machine.program("kubectl", KUBECTL)
    machine.program("helm", HELM)
    (machine.folder / "uid").write_text("first")
    return machine


def test_a_kind_cluster_the_demo_made_goes_with_it(kind: Machine) -> None:
    clusters.Kind(State.load()).start()
    assert State.load().owned
    clusters.Kind(State.load()).start()
    assert State.load().owned, "a second demo in it does not forget that"
    assert len(kind.calls("kind create cluster")) == 1
    assert remove.everything(State.load()) == 0
    assert kind.calls("kind delete cluster")
    assert not kind.record.exists()


def test_a_kind_cluster_of_somebody_else_s_stays(kind: Machine) -> None:
    (kind.folder / "kind").write_text("theirs")
    clusters.Kind(State.load()).start()
    assert State.load() == State(cluster="kind", identity="theirs")
    assert remove.everything(State.load()) == 0
    assert not kind.calls("kind create") + kind.calls("kind delete")


@pytest.mark.parametrize("again", [False, True])
def test_a_cluster_made_since_under_the_demo_s_name_is_left_alone(
    kind: Machine, capsys: pytest.CaptureFixture[str], again: bool
) -> None:
    """The person deleted the demo's and made one of their own: what was recorded is not true of it."""
    clusters.Kind(State.load()).start()
    (kind.folder / "kind").write_text("theirs")
    if again:
        clusters.Kind(State.load()).start()
        assert not State.load().owned
    assert remove.everything(State.load()) == 0
    assert not kind.calls("kind delete")
    assert again or "a kind cluster that is there now was made since, and is left alone" in capsys.readouterr().out
    assert not kind.record.exists()


def test_where_no_cluster_came_of_it_nothing_is_recorded(kind: Machine) -> None:
    (kind.folder / "broken").touch()
    with pytest.raises(StepError, match="kind create cluster"):
        clusters.Kind(State.load()).start()
    assert not kind.record.exists()


def test_what_is_half_made_is_the_demo_s_to_remove(kind: Machine) -> None:
    kind.program("kind", KIND.replace('>"$HERE/kind"', '>"$HERE/kind" && exit 1'))
    with pytest.raises(StepError, match="kind create cluster"):
        clusters.Kind(State.load()).start()
    assert State.load() == State(cluster="kind", identity="made-by-demo", owned=True)
    assert remove.everything(State.load()) == 0
    assert kind.calls("kind delete cluster")


def test_an_earlier_demo_s_record_says_nothing_of_another_cluster(prod: Machine) -> None:
    """CRDs the demo made in one cluster must not be deleted in the next."""
    state = State(cluster="embedded", identity="x", owned=True, installed=True, namespaced=True, crds=True)
    cluster = clusters.Context(state, "prod")
    cluster.start()
    assert State.load() == State(cluster="context:prod", identity="first")
    install.claim(cluster, state)
    assert remove.everything(State.load()) == 0
    assert prod.calls("helm uninstall guildhall ")
    assert not prod.calls("delete crd") + prod.calls("uninstall guildhall-crds")


def test_a_context_that_leads_elsewhere_is_not_touched(prod: Machine) -> None:
    state = State()
    cluster = clusters.Context(state, "prod")
    cluster.start()
    install.claim(cluster, state)
    (prod.folder / "uid").write_text("second")
    acts: list[Callable[[], object]] = [
        lambda: remove.everything(State.load()),
        lambda: clusters.Context(State.load(), "prod").start(),
    ]
    for act in acts:
        with pytest.raises(StepError, match=r"context 'prod' leads to another cluster now .* delete .*state\.json"):
            act()
    assert not prod.calls("uninstall") + prod.calls("delete")
    assert State.load().installed, "it is still in the other one"
    (prod.folder / "uid").write_text("first")
    assert remove.everything(State.load()) == 0
    assert prod.calls("helm uninstall guildhall ")


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("release", "guildhall", "release guildhall is in namespace guildhall-system already"),
        ("namespaces", "namespace/guildhall-demo", "namespace guildhall-demo is there already"),
    ],
)
def test_what_somebody_else_installed_is_neither_upgraded_nor_removed(
    prod: Machine, file: str, content: str, told: str
) -> None:
    (prod.folder / file).write_text(content)
    state = State()
    cluster = clusters.Context(state, "prod")
    cluster.start()
    with pytest.raises(StepError, match=f"{told}, and the demo did not make it"):
        install.claim(cluster, state)
    assert not prod.record.exists()
    assert remove.everything(State.load()) == 0
    assert not prod.calls("upgrade") + prod.calls("uninstall") + prod.calls("delete")


def test_a_namespace_that_was_there_stays(prod: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    (prod.folder / "namespaces").write_text("namespace/guildhall-system")
    state = State()
    cluster = clusters.Context(state, "prod")
    cluster.start()
    install.claim(cluster, state)
    assert remove.everything(State.load()) == 0
    assert prod.calls("delete namespace guildhall-demo"), "the control: what the demo made is deleted"
    assert not prod.calls("delete namespace guildhall-system")
    assert "kept: namespace guildhall-system, which was there before" in capsys.readouterr().out


def test_the_embedded_cluster_is_known_by_its_authority(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    authority = machine.folder / "cluster" / "pki" / "ca.crt"

    def program(command: list[object], **_: object) -> subprocess.CompletedProcess[str]:
        told.append(str(command[2]))
        if command[2] == "up" and not authority.exists():
            authority.parent.mkdir(parents=True)
            authority.write_text("made by the demo")
        return subprocess.CompletedProcess(command, 0)  # type: ignore[arg-type]

    monkeypatch.setattr(clusters.subprocess, "run", program)
    monkeypatch.setattr(clusters, "run", lambda *_, **__: "export KUBECONFIG=/there\n")
    clusters.Embedded(State.load()).start()
    assert State.load().owned
    authority.write_text("made by somebody since")
    assert remove.everything(State.load()) == 0
    assert told == ["up"]
    clusters.Embedded(State.load()).start()
    assert not State.load().owned
    Path(authority).unlink()
    authority.parent.rmdir()
    clusters.Embedded(State.load()).start()
    assert remove.everything(State.load()) == 0
    assert told == ["up", "up", "up", "down"]
