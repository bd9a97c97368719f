"""`make demo` and `make demo-down`: the main job, on a real cluster, step by step."""

import argparse
import os
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent
sys.path[:1] = [str(SCRIPTS), str(SCRIPTS.parent / "tests"), str(SCRIPTS.parent)]

from demo import flow, remove  # noqa: E402
from demo.clusters import NoClusterError  # noqa: E402
from demo.state import State, say  # noqa: E402
from demo.tools import StepError  # noqa: E402

INTERRUPTED = (
    "\ndemo: interrupted; `make demo` goes on (what is built stays), `make demo-down` removes what there is of it"
)


def main() -> int:
    """Exit status: 0 done; 1 a step or the proof failed; 2 nothing was done, and the last lines say why; 130 Ctrl-C."""
    os.environ["GUILDHALL_WITHIN"] = "demo"  # the programs it starts leave the last word to it
    parser = argparse.ArgumentParser(prog="make", description=__doc__)
    parser.add_argument("act", choices=("up", "down"))
    parser.add_argument("--yes", action="store_true", default=bool(os.environ.get("YES")), help="ask nothing (YES=1)")
    chosen = parser.parse_args()
    try:
        return flow.up(chosen.yes) if chosen.act == "up" else remove.everything(State.load())
    except NoClusterError as problem:
        say(str(problem))
        return 2
    except StepError as problem:
        say(f"demo: {problem}")
        return 1
    except KeyboardInterrupt:
        say(INTERRUPTED)
        return 130


if __name__ == "__main__":
    sys.exit(main())
