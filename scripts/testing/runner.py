"""Runs stages one at a time: deadlines are tested, and two cores are few. What a stage started dies with it."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass

from testing import counts, report
from testing.counts import Counts
from testing.report import Outcome, log_of
from testing.stages import OUT, ROOT, Stage

CLEAN_UP_SECONDS = 20


@dataclass
class Ended:
    """One run of a command: its exit status, or None when its time was up; what it wrote."""

    status: int | None
    wrote: str

    def why(self, stage: Stage) -> str:
        return f"took longer than {stage.seconds} s" if self.status is None else f"exit status {self.status}"


def execute(stage: Stage, command: list[str]) -> Ended:
    """Runs `command`, its output added to the stage's log."""
    with log_of(stage).open("ab") as out:
        begin = out.tell()
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env={**os.environ, **stage.env}, start_new_session=True,
        )  # fmt: skip
        try:
            status: int | None = process.wait(stage.seconds)
        except subprocess.TimeoutExpired:
            interrupt(process)  # what it holds of the cluster is given back first
            status = None
        except KeyboardInterrupt:
            interrupt(process)
            raise
    return Ended(status, log_of(stage).read_bytes()[begin:].decode(errors="replace"))


def interrupt(process: subprocess.Popen[bytes]) -> None:
    """Passes Ctrl-C on to a stage, which is in a session of its own; gives it time to clean up, then ends it."""
    try:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(CLEAN_UP_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        pass  # a second Ctrl-C means now
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def counted(stage: Stage, ended: Ended) -> Counts:
    """What the stage's own runner says it did. One that failed has at least one failure, whatever it says."""
    found = Counts(passed=1)
    match stage.reads:
        case "junit":
            path = OUT / f"{stage.name}.xml"
            found = counts.junit(path.read_bytes()) if path.exists() else Counts(failed=["the runner wrote no report"])
        case "tap":
            found = counts.tap(ended.wrote)
        case "go":
            found, plain = counts.go(ended.wrote)
            log_of(stage).write_text(plain)
    if ended.status != 0 and not found.failed:
        found.failed, found.passed = [ended.why(stage)], found.passed if stage.reads else 0
    return found


def once_more(stage: Stage) -> list[str]:
    """The command for what failed: pytest knows which tests that was."""
    if stage.reads != "junit":
        return stage.command
    return [*stage.command, "--last-failed", "--last-failed-no-failures=none", "-n", "0", "--junitxml="]


def run(stage: Stage) -> Outcome:
    """Runs one stage. What may be tried again is, once, and what then passes is named as flaky, never hidden."""
    if why := stage.needs():
        return Outcome(stage, "impossible", why)
    began = time.monotonic()
    ended = execute(stage, stage.command)
    outcome = judge(stage, ended)
    outcome.seconds = time.monotonic() - began
    return outcome


def judge(stage: Stage, ended: Ended) -> Outcome:
    if stage.refuses and ended.status == 2:
        return Outcome(stage, "impossible", last_line(ended.wrote).removeprefix("cluster: "))
    found = counted(stage, ended)
    if ended.status == 0 and not found.failed:
        return Outcome(stage, "passed", counts=found)
    tried_again = stage.again and ended.status is not None  # one that took too long would take as long again
    if not tried_again or execute(stage, once_more(stage)).status != 0:
        return Outcome(stage, "failed", ended.why(stage), counts=found)
    passed = Counts(found.passed + len(found.failed), [], found.skipped)
    return Outcome(stage, "passed", counts=passed, flaky=found.failed)


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def run_all(stages: list[Stage]) -> list[Outcome]:
    """Runs what can run. A stage after one that did not pass is not tried, and named."""
    outcomes: list[Outcome] = []
    lost: set[str] = set()
    for stage in stages:
        report.say_beginning(stage)
        lacks = stage.after in lost
        outcome = Outcome(stage, "impossible", f"'{stage.after}' did not pass") if lacks else run(stage)
        if outcome.status != "passed":
            lost.add(stage.name)
        report.say_end(outcome)
        outcomes.append(outcome)
    return outcomes
