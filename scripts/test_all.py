#!/usr/bin/env python3
"""Runs every test there is and says so at the end: passed, failed, skipped, and what this machine could not do.

Exit status: 0 all passed; 1 something failed; 3 nothing failed but a part could not run here (each is named).
Runs before .venv exists, so it uses the standard library only.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET  # reads only reports that this program's own stages wrote
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "artifacts" / "test"
CLUSTER = ROOT / "tests" / "cluster" / "cluster.py"
CYCLE = "tests/cluster/test_leaves_nothing.py"  # takes the cluster down and up, so it comes before whoever uses it
PYTEST = [".venv/bin/pytest", "-q"]
COST = """\
make test runs everything: lint, types, unit, golden, chart, web (Node and Chromium), security, cluster, end-to-end.
It needs Python 3.11, uv, Go 1.26, Node 20, Chromium; for the cluster Linux, root, 8 GiB of memory, 8 GB of disk.
On two cores it takes about 33 minutes; the first run builds a Kubernetes before that (about 12 minutes more).
"""


@dataclass
class Stage:
    """One command, its log and, for pytest, its report."""

    name: str
    command: list[str]
    seconds: int = 1200
    vital: bool = False  # without it the stages that follow make no sense
    needs: str = ""  # an executable without which the stage cannot run
    report: bool = False
    again: bool = False  # try once more on failure, and name it: load on the machine can break a deadline
    env: dict[str, str] = field(default_factory=dict)


@dataclass
class Outcome:
    stage: Stage
    status: str  # passed | failed | impossible
    seconds: float
    why: str = ""
    passed: int = 0
    failed: int = 0
    skipped: list[str] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)


def pytest_stage(name: str, *args: str, seconds: int = 1200, workers: str = "2") -> Stage:
    """The tests of `args`; what fails is run once more, alone."""
    options = [f"--junitxml={OUT / name}.xml", "-o", f"cache_dir={OUT / name}.cache", "-n", workers]
    return Stage(name, [*PYTEST, *options, *args], seconds, report=True, again=True)


def lint_stages() -> list[Stage]:
    venv = ".venv/bin/"
    return [
        Stage("lint", [f"{venv}ruff", "check", "."]),
        Stage("format", [f"{venv}ruff", "format", "--check", "."]),
        Stage("layers", [f"{venv}lint-imports", "--no-cache"]),
        Stage("types", [f"{venv}mypy", "contracts", "operator", "executor", "gateway", "api", "fetcher"]),
        Stage("generated", ["make", "--no-print-directory", "verify"]),
        Stage("shell", ["sh", "-c", "git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck -x"], needs="shellcheck"),
        Stage("go-vet", ["sh", "-c", 'cd workshop && go vet ./... && test -z "$(gofmt -l .)"'], needs="go"),
    ]


def local_stages() -> list[Stage]:
    here = "not cluster and not browser"
    return [
        Stage("go-test", ["sh", "-c", "cd workshop && go test ./..."], needs="go"),
        Stage("workshop-build", ["workshop/build.sh"], needs="go"),
        pytest_stage("unit", "tests/unit", "tests/golden", "-m", here),
        pytest_stage("chart", "tests/chart", "-m", here),
        Stage("web-install", ["sh", "-c", "cd tests/web && npm ci --no-audit --no-fund --loglevel=error"], needs="npm"),
        Stage("web-node", ["sh", "-c", "cd tests/web && npm test"], needs="node"),
        pytest_stage("security-local", "tests/security", "-m", here),
        Stage("web-browser", ["sh", "-c", "cd tests/web && npm run test:browser"], needs="chromium", again=True),
    ]


def cluster_stages() -> list[Stage]:
    up = [sys.executable, str(CLUSTER), "up", "--yes"]
    everywhere = ("tests/cluster", "tests/unit", "tests/chart", "tests/security", "tests/e2e", f"--ignore={CYCLE}")
    cycle = pytest_stage("cluster-down", CYCLE, workers="0")
    cycle.env["GUILDHALL_CLUSTER_CYCLE"] = "1"
    return [
        Stage("cluster-up", up, 3000, vital=True),
        cycle,
        Stage("images", [".venv/bin/python", "images/build.py", "--load"], 1500, vital=True),
        pytest_stage(
            "cluster",
            *everywhere,
            "-m",
            "cluster and not alone",
            "--dist",
            "loadfile",
            "--no-loadscope-reorder",
            workers="4",
            seconds=2400,
        ),  # its tests wait more than they compute
        pytest_stage("cluster-alone", *everywhere, "-m", "cluster and alone", workers="0"),
    ]


def read_report(outcome: Outcome) -> list[str]:
    """Adds the counts of the stage's JUnit report to `outcome` and returns what failed; no report is a failure."""
    path = OUT / f"{outcome.stage.name}.xml"
    if not path.exists():
        outcome.status, outcome.why = "failed", "the runner wrote no report"
        return []
    failed = []
    for case in ET.parse(path).getroot().iter("testcase"):  # noqa: S314  our own report
        name, skip = f"{case.get('classname')}::{case.get('name')}", case.find("skipped")
        if skip is not None:
            outcome.skipped.append(f"{name}: {skip.get('message')}")
        elif case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        else:
            outcome.passed += 1
    outcome.failed += len(failed)
    return failed


def execute(stage: Stage, command: list[str], mode: str = "wb") -> str:
    """Runs one command into the stage's log. Returns why it failed, or empty; what it started dies with it."""
    with (OUT / f"{stage.name}.log").open(mode) as out:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env={**os.environ, **stage.env}, start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(stage.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"took longer than {stage.seconds} s"
    return "" if code == 0 else f"exit status {code}"


def run(stage: Stage) -> Outcome:
    """Runs one stage. What may be tried again is, once, and what then passes is named as flaky, never hidden."""
    if stage.needs and shutil.which(stage.needs) is None:
        return Outcome(stage, "impossible", 0, f"'{stage.needs}' is not installed")
    start = time.monotonic()
    why = execute(stage, stage.command)
    outcome = Outcome(stage, "failed" if why else "passed", 0, why)
    failed = read_report(outcome) if stage.report else [stage.name] if why else []
    if why and stage.again and failed:
        second = [*stage.command, "--last-failed", "-n", "0", "--junitxml="] if stage.report else stage.command
        if not execute(stage, second, "ab"):
            outcome.status, outcome.why, outcome.flaky = "passed", "", failed
            outcome.passed, outcome.failed = outcome.passed + outcome.failed, 0
    if not stage.report and outcome.status == "passed":
        outcome.passed = 1
    if outcome.status == "failed":
        outcome.failed = max(outcome.failed, 1)
    outcome.seconds = time.monotonic() - start
    return outcome


def tell(outcome: Outcome) -> None:
    mark = {"passed": "ok  ", "failed": "FAIL", "impossible": "n/a "}[outcome.status]
    counts = (
        f"{outcome.passed} passed" + (f", {len(outcome.skipped)} skipped" if outcome.skipped else "")
        if outcome.stage.report
        else ""
    )
    print(
        f"  {mark} {outcome.stage.name:<18} {outcome.seconds:6.0f} s  {counts}{outcome.why and ' ' + outcome.why}",
        flush=True,
    )
    if outcome.status == "failed":
        tail = (OUT / f"{outcome.stage.name}.log").read_text(errors="replace").splitlines()[-80:]
        print("\n".join(f"      | {line[:400]}" for line in tail), flush=True)


def run_all(stages: list[Stage]) -> list[Outcome]:
    """Runs the stages one at a time (deadlines are tested, and two cores are few); stops when a vital one fails."""
    outcomes: list[Outcome] = []
    for stage in stages:
        outcome = run(stage)
        tell(outcome)
        outcomes.append(outcome)
        if stage.vital and outcome.status == "failed":
            break
    return outcomes


def cluster_problem() -> str:
    """Why no cluster can be had here, or empty."""
    if sys.platform != "linux":
        return "the embedded cluster needs Linux; use CONTEXT=<kubeconfig context> or kind"
    return (
        "" if os.geteuid() == 0 else "the embedded cluster needs root; run as root, or use CONTEXT=<kubeconfig context>"
    )


def summary(outcomes: list[Outcome], missing: list[str]) -> int:
    passed, failed = sum(o.passed for o in outcomes), sum(o.failed for o in outcomes)
    skipped = [line for o in outcomes for line in o.skipped]
    missing += [f"{o.stage.name}: {o.why}" for o in outcomes if o.status == "impossible"]
    flaky = [f"{o.stage.name}: {name}" for o in outcomes for name in o.flaky]
    for title, rows in (("skipped", skipped), ("passed only when run again", flaky), ("could not run here", missing)):
        if rows:
            print(f"\n{title}:")
            print("\n".join(f"  {row}" for row in rows))
    print(f"\n{passed} passed, {failed} failed, {len(skipped)} skipped", flush=True)
    return 1 if failed else 3 if missing else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--fast", action="store_true", help="leave out what needs a cluster, and do not count that as missing"
    )
    only = parser.parse_args()
    print(COST, flush=True)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    missing: list[str] = []
    outcomes = run_all([Stage("setup", ["scripts/setup.sh"], vital=True), *lint_stages(), *local_stages()])
    problem = cluster_problem()
    if not only.fast and problem:
        missing.append(f"everything on a cluster: {problem}")
    elif not only.fast:
        outcomes += run_all(cluster_stages())
    return summary(outcomes, missing)


if __name__ == "__main__":
    sys.exit(main())
