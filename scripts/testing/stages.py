"""The stages of `make test`, in their order. Records; `needs` looks at the machine when its stage's turn comes."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cluster.embedded.layout import from_environment

ROOT = Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "artifacts" / "test"
CYCLE = "tests/cluster/test_leaves_nothing.py"  # takes the cluster down and up, so it comes before whoever uses it
PYTEST = [".venv/bin/pytest", "-q"]
EVERYWHERE = ("tests/cluster", "tests/unit", "tests/chart", "tests/security", "tests/e2e", f"--ignore={CYCLE}")
REQUIRED = {"GUILDHALL_CLUSTER_REQUIRED": "1"}  # a cluster that is gone fails the tests that need it; no skips


ABOUT_CLUSTER = "a Kubernetes on this machine; about 8 minutes where it is not built yet"


@dataclass
class Stage:
    """One command and its log in OUT. `reads` says how it is counted: junit, tap, go, or as one."""

    name: str
    command: list[str]
    seconds: int = 1200
    after: str = "setup"  # the stage without which this one makes no sense
    needs: Callable[[], str] = lambda: ""  # why it cannot run here, or empty
    reads: str = ""
    refuses: bool = False  # exit status 2 says, in its last line, that it cannot run here
    again: bool = False  # try once more on failure, and name it: load on the machine can break a deadline
    about: str = ""  # said when it begins
    env: dict[str, str] = field(default_factory=dict)


def program(name: str) -> Callable[[], str]:
    return lambda: "" if shutil.which(name) else f"{name} is not installed"


def helm() -> str:
    """Why there is no helm, or empty: on PATH, or built with the cluster (`tests/support/chart.py` looks so too)."""
    if shutil.which("helm") or any(from_environment().cache.glob("bin-*/helm")):
        return ""
    return "helm is not installed, and no cluster was built, which brings it"


def pytest_stage(name: str, *args: str, seconds: int = 1200, workers: str = "2", after: str = "setup") -> Stage:
    """The tests of `args`; what fails is run once more, alone."""
    options = [f"--junitxml={OUT / name}.xml", "-o", f"cache_dir={OUT / name}.cache", "-n", workers]
    return Stage(name, [*PYTEST, *options, *args], seconds, after, reads="junit", again=True)


def node_stage(name: str, script: str, needs: str, *, again: bool = False) -> Stage:
    command = ["sh", "-c", f"cd tests/web && npm run {script}"]
    env = {"NODE_OPTIONS": "--test-reporter=tap"}
    return Stage(name, command, after="web-install", needs=program(needs), reads="tap", again=again, env=env)


def lint() -> list[Stage]:
    venv = ".venv/bin/"
    shell = ["sh", "-c", "git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck -x"]
    return [
        Stage("setup", ["scripts/setup.sh"], after=""),
        Stage("lint", [f"{venv}ruff", "check", "."]),
        Stage("format", [f"{venv}ruff", "format", "--check", "."]),
        Stage("layers", [f"{venv}lint-imports", "--no-cache"]),
        Stage("types", [f"{venv}mypy", "contracts", "operator", "executor", "gateway", "api", "fetcher"]),
        Stage("generated", ["make", "--no-print-directory", "verify"], needs=program("node")),
        Stage("shell", shell, needs=program("shellcheck")),
        Stage("go-vet", ["sh", "-c", 'cd workshop && go vet ./... && test -z "$(gofmt -l .)"'], needs=program("go")),
    ]


def local() -> list[Stage]:
    """What needs no cluster. Without Go the tests that build the workshop are left out; its absence is named."""
    here = "not cluster and not browser" if shutil.which("go") else "not cluster and not browser and not go"
    install = ["sh", "-c", "cd tests/web && npm ci --no-audit --no-fund --loglevel=error"]
    return [
        Stage("go-test", ["sh", "-c", "cd workshop && go test -json ./..."], needs=program("go"), reads="go"),
        Stage("workshop-build", ["workshop/build.sh"], needs=program("go")),
        pytest_stage("unit", "tests/unit", "tests/golden", "-m", here, workers="3"),  # on two they idle half the time
        Stage("web-install", install, needs=program("npm")),
        node_stage("web-node", "test", "node"),
        pytest_stage("security-local", "tests/security", "-m", here, workers="3"),
        node_stage("web-browser", "test:browser", "chromium", again=True),
    ]


def chart() -> Stage:
    stage = pytest_stage("chart", "tests/chart", "-m", "not cluster and not browser")
    stage.needs = helm
    return stage


def cluster() -> list[Stage]:
    """The embedded cluster and all that runs on it; the chart's own tests come after it, since it brings helm."""
    up = [sys.executable, "tests/cluster/cluster.py", "up"]
    cycle = pytest_stage("cluster-down", CYCLE, workers="0", after="cluster-up")
    cycle.env = {"GUILDHALL_CLUSTER_CYCLE": "1"}
    side = pytest_stage(
        "cluster", *EVERYWHERE, "-m", "cluster and not alone", "--dist", "loadfile", "--no-loadscope-reorder",
        workers="4", seconds=2400, after="images",
    )  # fmt: skip  # four workers on two cores: these tests wait more than they compute
    alone = pytest_stage("cluster-alone", *EVERYWHERE, "-m", "cluster and alone", workers="0", after="images")
    side.env, alone.env = dict(REQUIRED), dict(REQUIRED)
    images = [".venv/bin/python", "images/build.py", "--load"]
    return [
        Stage("cluster-up", up, 3000, refuses=True, about=ABOUT_CLUSTER),
        chart(),
        cycle,
        Stage("images", images, 1500, after="cluster-up", needs=program("go")),
        side,
        alone,
    ]
