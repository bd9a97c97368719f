"""What `make test` tells: a line for each stage, at the end what was not run and why, and the same for programs."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from testing.counts import Counts
from testing.stages import OUT, Stage

TAIL_LINES = 80


@dataclass
class Outcome:
    """What became of one stage; `status` is passed, failed or impossible."""

    stage: Stage
    status: str
    why: str = ""
    seconds: float = 0
    counts: Counts = field(default_factory=Counts)
    flaky: list[str] = field(default_factory=list)  # passed only when run again


def log_of(stage: Stage) -> Path:
    return OUT / f"{stage.name}.log"


def say_beginning(stage: Stage) -> None:
    if stage.about:
        print(f"  …    {stage.name}: {stage.about}; it writes to {log_of(stage)}", flush=True)


def line(outcome: Outcome) -> str:
    """One row: mark, stage, seconds, counts where it has any, and why it did not pass."""
    mark = {"passed": "ok  ", "failed": "FAIL", "impossible": "n/a "}[outcome.status]
    found = outcome.counts
    parts = [f"{found.passed} passed"] if outcome.stage.reads and outcome.status != "impossible" else []
    parts += [f"{len(found.skipped)} skipped"] if found.skipped else []
    row = f"  {mark} {outcome.stage.name:<18} {outcome.seconds:6.0f} s  {', '.join(parts)}"
    return f"{row} {outcome.why}".rstrip()


def say_end(outcome: Outcome) -> None:
    print(line(outcome), flush=True)
    if outcome.status == "failed":
        tail = log_of(outcome.stage).read_text(errors="replace").splitlines()[-TAIL_LINES:]
        print("\n".join(f"      | {text[:400]}" for text in tail), flush=True)


def missing_of(outcomes: list[Outcome], lacks: list[str]) -> list[str]:
    """Everything that could not run here: what the machine lacks, then the stages."""
    return lacks + [f"{o.stage.name}: {o.why}" for o in outcomes if o.status == "impossible"]


def exit_status(outcomes: list[Outcome], missing: list[str]) -> int:
    """1 where something failed, else 3 where something could not run, else 0."""
    return 1 if any(o.status == "failed" for o in outcomes) else 3 if missing else 0


def record(outcomes: list[Outcome], missing: list[str], seconds: float) -> dict[str, object]:
    """The whole run as data: the same names and counts that are printed."""
    stages = [
        {
            "name": o.stage.name, "status": o.status, "why": o.why, "seconds": round(o.seconds, 1),
            "passed": o.counts.passed, "failed": o.counts.failed, "skipped": o.counts.skipped, "flaky": o.flaky,
        }
        for o in outcomes
    ]  # fmt: skip
    return {
        "exit": exit_status(outcomes, missing),
        "seconds": round(seconds, 1),
        "passed": sum(o.counts.passed for o in outcomes),
        "failed": sum(len(o.counts.failed) for o in outcomes),
        "skipped": sum(len(o.counts.skipped) for o in outcomes),
        "missing": missing,
        "stages": stages,
    }


def finish(outcomes: list[Outcome], lacks: list[str], seconds: float) -> int:
    """Says what was skipped, flaky and missing, and the sums; writes OUT/summary.json. Returns the exit status."""
    missing = missing_of(outcomes, lacks)
    skipped = [f"{o.stage.name}: {name}" for o in outcomes for name in o.counts.skipped]
    flaky = [f"{o.stage.name}: {name}" for o in outcomes for name in o.flaky]
    for title, rows in (("skipped", skipped), ("passed only when run again", flaky), ("could not run here", missing)):
        if rows:
            print(f"\n{title}:\n" + "\n".join(f"  {row}" for row in rows))
    told = record(outcomes, missing, seconds)
    (OUT / "summary.json").write_text(json.dumps(told, indent=1) + "\n")
    sums = ", ".join(f"{told[kind]} {kind}" for kind in ("passed", "failed", "skipped"))
    print(f"\n{sums} in {seconds:.0f} s; as data: {OUT / 'summary.json'}", flush=True)
    return exit_status(outcomes, missing)
