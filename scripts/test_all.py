#!/usr/bin/env python3
"""Runs every test there is and says so at the end: passed, failed, skipped, and what this machine could not do.

Exit status: 0 all passed; 1 something failed; 2 nothing could begin; 3 nothing failed but a part could not run here
(each is named); 130 interrupted. Runs before .venv exists, so it uses the standard library only.
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
sys.path[:1] = [str(SCRIPTS), str(SCRIPTS.parent / "tests"), str(SCRIPTS.parent)]

from needs import catalog, provide  # noqa: E402
from needs.catalog import Lack  # noqa: E402
from testing import report, runner, stages  # noqa: E402

COST = """\
make test runs everything: lint, types, unit, golden, chart, web (Node and Chromium), security, cluster, end-to-end.
It needs uv, Go, Node 20.19 or newer, Chromium and some Debian packages; for the cluster Linux, root, 8 GiB of memory,
13 GB of disk.
On two cores it takes about 40 minutes; where no Kubernetes and no images are built yet, about 10 minutes more.
It takes the embedded cluster down and up again: what is in it, as a demo that was left running, is gone then.
"""
INTERRUPTED = """
test: interrupted; what ran left its logs in artifacts/test. `make test` begins again (what was built stays),
`make cluster-down` takes the cluster down if it is up"""


def provided(lacks: list[Lack], yes: bool, cluster: bool) -> list[Lack]:
    """What is still missing after everything that may be installed here was: all at once, before anything long."""
    wanted = [lack for lack in lacks if provide.installable(lack)]
    if not wanted:
        return lacks
    print(f"To be installed first:\n{provide.plan(wanted)}\n", flush=True)
    if not provide.agreed("Install them?", yes):
        print("Going on without them.\n", flush=True)
        return lacks
    try:
        provide.install(wanted)
    except provide.ProvideError as problem:
        print(f"test: {problem}\n", flush=True)
    return catalog.lacking(catalog.for_tests(cluster))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--fast", action="store_true", help="leave out what needs a cluster, and do not count that as missing"
    )
    parser.add_argument("--yes", action="store_true", default=bool(os.environ.get("YES")), help="ask nothing (YES=1)")
    chosen = parser.parse_args()
    print(COST, flush=True)
    began = time.monotonic()
    provide.find_tools()
    lacks = catalog.lacking(catalog.for_tests(cluster=not chosen.fast))
    if any(lack.need.name == "uv" for lack in lacks):
        print(f"test: nothing can run without uv. This machine lacks:\n{provide.by_hand(lacks)}", flush=True)
        return 2
    if lacks := provided(lacks, chosen.yes, cluster=not chosen.fast):
        print(f"Missing on this machine, so that not everything can run:\n{provide.by_hand(lacks)}\n", flush=True)
    shutil.rmtree(stages.OUT, ignore_errors=True)
    stages.OUT.mkdir(parents=True)
    last = [stages.chart()] if chosen.fast else stages.cluster()
    outcomes = runner.run_all([*stages.lint(), *stages.local(), *last])
    return report.finish(outcomes, provide.by_hand(lacks).strip().splitlines(), time.monotonic() - began)


def interruptible() -> int:
    """`main`, and what a person who pressed Ctrl-C wants to know instead of a traceback."""
    try:
        return main()
    except KeyboardInterrupt:
        print(INTERRUPTED, flush=True)
        return 130


if __name__ == "__main__":
    sys.exit(interruptible())
