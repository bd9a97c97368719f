"""`make demo` and `make demo-down`: the main job, on a real cluster, step by step."""

import argparse
import os
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from demo import clusters, console, install, job, remove  # noqa: E402
from demo.state import State, say  # noqa: E402
from demo.tools import StepError  # noqa: E402

COST = """\
Guildhall demo: an agent team repairs a broken Python package inside your Kubernetes, cut off from the network.
  The model is scripted (no provider is called); everything else is real. What it takes:
  cluster  {cluster}
  images   8 images, about 3 minutes the first time, 1 GB of disk
  run      under a minute; the cluster uses about 2 GiB of memory while it is up
"""


def up(yes: bool) -> int:
    state = State.load()
    cluster = clusters.choose(os.environ.get("CONTEXT"), state)
    say(COST.format(cluster=cluster.cost))
    if not cluster.agreed(yes):
        say("Nothing was done.")
        return 2
    cluster.start()
    images = cluster.images()
    install.helm(cluster, images, state)
    run = job.start(cluster, state)
    address = console.open_console(cluster, state)
    finished = job.follow(cluster, run)
    proven = job.prove(cluster, run, address)
    console.say_where(cluster, address, run)
    return 0 if finished and proven else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="make", description=__doc__)
    parser.add_argument("act", choices=("up", "down"))
    parser.add_argument("--yes", action="store_true", default=bool(os.environ.get("YES")), help="ask nothing (YES=1)")
    chosen = parser.parse_args()
    try:
        return up(chosen.yes) if chosen.act == "up" else remove.everything(State.load())
    except clusters.NoClusterError as problem:
        say(str(problem))
        return 2
    except StepError as problem:
        say(f"demo: {problem}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
