"""CPU per step of the executor against mini-swe-agent, at step 50 and at step 800, in pairs (ABBA).

    python bench/executor_rival.py [--rounds 1] [--steps 840] [--window 40]

A step is one model call with the whole history and one command with 1 KiB of output. Read from the kernel's nanosecond
counters between the model calls that begin and end a window, of the agent's own process alone. The executor syncs every
input and event to disk; the rival, as it comes, writes nothing. It is installed once from PyPI into a venv of its
own under ~/.cache/guildhall. Bounds: at most 1.5 times the rival at step 50, at most as much at step 800. An executor
that is bad on purpose (`bad_executor`) must break one of them, else the bench itself is at fault (exit 2).
"""

import argparse
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import mean

from executor_step import cpu_milliseconds, measure

HERE = Path(__file__).resolve().parent
CACHE = os.environ.get("XDG_CACHE_HOME", "")
VENV = (Path(CACHE) if CACHE.startswith("/") else Path.home() / ".cache") / "guildhall/mini/venv"
RIVAL = "mini-swe-agent==2.4.6"
BOUNDS = {50: 1.5, 800: 1.0}
Steps = dict[int, float]


def installed() -> Path:
    """The rival's Python; installs it the first time."""
    python = VENV / "bin/python"
    if not list(VENV.glob("lib/python*/site-packages/minisweagent")):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", RIVAL], check=True)
    return python


class _Model(BaseHTTPRequestHandler):
    """Notes the rival's CPU time at every call, and has it print 1 KiB until the steps are over."""

    protocol_version = "HTTP/1.1"
    marks: dict[int, float]
    pid: list[int]
    steps: int

    def log_message(self, *_: object) -> None:
        return

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        number = len(self.marks) + 1
        self.marks[number] = cpu_milliseconds(self.pid[0])
        last = number > self.steps
        command = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT" if last else "head -c 1000 /dev/zero | tr '\\0' x"
        body = json.dumps({"text": "I look.", "command": command}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def rival(python: Path, steps: int, window: int) -> Steps:
    marks: dict[int, float] = {}
    pid: list[int] = []
    handler = type("Model", (_Model,), {"marks": marks, "pid": pid, "steps": steps})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    quiet = os.environ | {"MSWEA_SILENT_STARTUP": "1", "MSWEA_GLOBAL_CONFIG_DIR": str(VENV.parent / "config")}
    process = subprocess.Popen([python, HERE / "rival/mini_agent.py", url], env=quiet, stdout=subprocess.DEVNULL)
    pid.append(process.pid)
    code = process.wait(1_200)
    server.shutdown()
    server.server_close()
    if code != 0:
        raise SystemExit(f"the rival ended with {code}")
    return {
        at: (marks[middle + window // 2] - marks[middle - window // 2]) / window
        for at, middle in middles(steps, window)
    }


def middles(steps: int, window: int) -> list[tuple[int, int]]:
    """(50 or 800, the step in the middle of its window)."""
    return [(50, 50), (800, steps - window)]


def ours(steps: int, window: int, env: dict[str, str] | None = None) -> Steps:
    found = measure(steps, window, env)
    return {at: found[f"ms per step at {middle}"] for at, middle in middles(steps, window)}


def ratios(a: list[Steps], b: list[Steps]) -> Steps:
    return {at: round(mean(one[at] for one in a) / mean(one[at] for one in b), 2) for at in BOUNDS}


def within(found: Steps) -> bool:
    return all(found[at] <= bound for at, bound in BOUNDS.items())


def main() -> int:
    """0 within the bounds, 1 over one, 2 when the bad executor is not found out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=840)
    parser.add_argument("--window", type=int, default=40)
    given = parser.parse_args()
    python, steps, window = installed(), given.steps, given.window
    mine: list[Steps] = []
    theirs: list[Steps] = []
    for _ in range(given.rounds):
        mine.append(ours(steps, window))
        theirs += [rival(python, steps, window), rival(python, steps, window)]
        mine.append(ours(steps, window))
    bad = [ours(steps, window, {"PYTHONPATH": str(HERE / "bad_executor")})]
    good, worse = ratios(mine, theirs), ratios(bad, theirs)
    load = [round(value, 1) for value in os.getloadavg()]
    result = {"executor": mine, "rival": theirs, "bad": bad, "ratio": good, "badRatio": worse, "load": load}
    sys.stdout.write(json.dumps(result, indent=2, default=str) + "\n")
    return 2 if within(worse) else 0 if within(good) else 1


if __name__ == "__main__":
    sys.exit(main())
