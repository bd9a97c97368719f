"""`make test` says what could not run and ends with 3; it takes no refusal for a fault and no silence for a pass."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.cluster import eventually
from testing import report, runner, stages
from testing.stages import Stage

from .conftest import NOT_ROOT, ROOT, START, Machine

CLUSTER = ROOT / "tests" / "cluster" / "cluster.py"


@pytest.fixture
def out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    for module in (runner, report):
        monkeypatch.setattr(module, "OUT", folder)
    return folder


def sh(name: str, script: str, **more: object) -> Stage:
    return Stage(name, ["sh", "-c", script], **({"after": "", "seconds": 20} | more))  # type: ignore[arg-type]


def ended(out: Path, *given: Stage) -> tuple[int, dict[str, object]]:
    """The exit status of a run of these stages, and its summary as a program reads it."""
    status = report.finish(runner.run_all(list(given)), [], 1)
    told = json.loads((out / "summary.json").read_text())
    assert told["exit"] == status
    return status, told


def test_a_machine_that_cannot_have_the_cluster_ends_with_3_and_the_cluster_s_own_line(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real program, refused for want of root: the stages behind it are named too."""
    code = NOT_ROOT.format(argv=[str(CLUSTER), "up"]) + START.format(path=str(CLUSTER))
    up, chart, *behind = stages.cluster()
    up.after = chart.after = ""
    up.command = [sys.executable, "-c", code]
    up.env = {"HOME": str(tmp_path)}
    chart.needs = lambda: "helm is not installed"
    status, _ = ended(out, sh("unit", "exit 0"), up, chart, *behind)
    told = capsys.readouterr().out
    assert status == 3
    why = "the embedded cluster needs root (it mounts, bridges and filters); start this as root"
    assert f"\n  cluster-up: {why}\n" in told.split("could not run here:")[1]
    for name in ("chart: helm is not installed", "images: 'cluster-up' did not pass", "cluster: 'images' did not pass"):
        assert f"\n  {name}\n" in told
    assert "CONTEXT" not in told, "advice that would not help"


def test_a_cluster_that_breaks_is_a_failure(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    up = sh("cluster-up", "echo 'cluster: etcd did not start' >&2; exit 1", refuses=True)
    status, told = ended(out, up, sh("images", "exit 0", after="cluster-up"))
    assert status == 1
    assert told["missing"] == ["images: 'cluster-up' did not pass"]
    assert "| cluster: etcd did not start" in capsys.readouterr().out


def test_status_2_of_anything_else_is_a_failure(out: Path) -> None:
    assert ended(out, sh("unit", "exit 2"))[0] == 1


def test_all_passed_is_0_and_the_summary_has_the_same_counts(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = "echo 'ok 1 - a'; echo 'ok 2 - b # SKIP no corpora'; echo '# pass 1'"
    status, told = ended(out, sh("lint", "exit 0"), sh("web", script, reads="tap"))
    assert (status, told["passed"], told["failed"], told["skipped"], told["missing"]) == (0, 2, 0, 1, [])
    printed = capsys.readouterr().out
    assert "skipped:\n  web: b: no corpora\n" in printed
    assert "\n2 passed, 0 failed, 1 skipped in 1 s" in printed


def test_what_fails_once_and_then_passes_is_named(out: Path, tmp_path: Path) -> None:
    first = f"test -e {tmp_path}/x || {{ touch {tmp_path}/x; exit 1; }}"
    status, told = ended(out, sh("browser", first, again=True))
    assert status == 0
    assert told["stages"][0]["flaky"] == ["exit status 1"]  # type: ignore[index]
    assert ended(out, sh("unit", "exit 1", again=True))[0] == 1, "the control: what fails twice has failed"


def test_a_stage_that_hangs_is_ended_with_all_it_started(out: Path, tmp_path: Path) -> None:
    script = f"sleep 60 & echo $! >{tmp_path}/pid; wait"
    status, told = ended(out, sh("unit", script, seconds=1))
    assert (status, told["stages"][0]["why"]) == (1, "took longer than 1 s")  # type: ignore[index]
    child = int((tmp_path / "pid").read_text())
    state = Path(f"/proc/{child}/stat")

    def gone() -> bool:
        return not state.exists() or state.read_text().rsplit(") ", 1)[1][0] == "Z"

    eventually(gone, 5)  # a process that was killed takes a moment to be gone


def test_a_runner_that_dies_without_a_word_has_failed(out: Path) -> None:
    for reads in ("junit", "tap", "go", ""):
        status, told = ended(out, sh("x", "exit 1", reads=reads))
        assert (status, told["passed"], told["failed"]) == (1, 0, 1), reads


def test_pytest_that_passes_without_a_report_has_failed(out: Path) -> None:
    assert ended(out, sh("x", "exit 0", reads="junit"))[0] == 1


def test_the_chart_s_tests_come_after_what_brings_helm(machine: Machine) -> None:
    """From a clean clone the cluster's build brings helm; before it the chart's tests could only be skipped."""
    names = [stage.name for stage in (*stages.lint(), *stages.local(), *stages.cluster())]
    assert names.index("chart") > names.index("cluster-up")
    assert stages.helm() == "helm is not installed, and no cluster was built, which brings it"
    built = machine.folder / "cache" / "guildhall" / "cluster" / "bin-0123" / "helm"
    built.parent.mkdir(parents=True)
    built.touch()
    assert stages.helm() == ""
    built.unlink()
    machine.program("helm")
    assert stages.helm() == ""


def test_every_stage_stands_behind_one_that_comes_before_it() -> None:
    seen = {""}
    for stage in (*stages.lint(), *stages.local(), *stages.cluster()):
        assert stage.after in seen, stage.name
        assert stage.name not in seen
        seen.add(stage.name)


def test_without_uv_nothing_begins(machine: Machine) -> None:
    machine.program("apt-get")
    done = machine.run(ROOT / "scripts" / "test_all.py", "--fast", YES="1")
    assert (done.returncode, done.stderr) == (2, "")
    assert "\ntest: nothing can run without uv. This machine lacks:\n  uv: not installed; pip install uv" in done.stdout
    assert not machine.calls("apt-get"), "nothing was installed first"


GONE = """
import support.cluster_fixture as fixture
from support.cluster import ClusterError
from support.cluster_fixture import cluster

def gone():
    raise ClusterError("it went away")

fixture.running = gone

def test_it(cluster):
    pass
"""


@pytest.mark.parametrize(("required", "status", "told"), [("", 0, "1 skipped"), ("1", 1, "1 error")])
def test_a_cluster_that_went_away_after_it_was_up_is_an_error(
    tmp_path: Path, required: str, status: int, told: str
) -> None:
    (tmp_path / "test_gone.py").write_text(GONE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests"), "GUILDHALL_CLUSTER_REQUIRED": required},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout
    assert told in done.stdout
    assert all(stage.env == stages.REQUIRED for stage in stages.cluster() if stage.name in {"cluster", "cluster-alone"})
