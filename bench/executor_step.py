"""CPU of the executor per step (one model call, one command with 1 KiB of output), early and late in a Run.

    python bench/executor_step.py [--steps 820] [--window 40]

The gateway is a server in this process, the workshop the real binary; only the executor's own CPU is read, from the
kernel's nanosecond counters, between the model calls that begin and end a window. Every input and event is durable.
The floor is the same number of steps of `write + fdatasync` of as many bytes.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from guildhall_contracts.model_api import ModelRequest
from support.executor_gateway import Answer, one, reply_line, serving
from support.executor_process import start
from support.executor_run import snapshot
from support.workshop import running


def cpu_milliseconds(pid: int) -> float:
    """Of all threads of the process, running and ended."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e6


def measure(steps: int, window: int, env: dict[str, str] | None = None) -> dict[str, float]:
    """Milliseconds of CPU per step around step 50 and at the end; `env` is added to the executor's environment."""
    marks: dict[int, float] = {}
    state: dict[str, int] = {}
    kept: list[list[ModelRequest]] = [[]]

    def answer(request: ModelRequest) -> Answer:
        number = int(request.call_id[1:])
        marks[number] = cpu_milliseconds(state["pid"])
        kept[0].clear()  # 840 histories would make this process the slowest of all
        last = number >= steps
        value = (
            one("finish", result="ok")
            if last
            else one("run_shell", command=f"head -c 1000 /dev/zero | tr '\\0' {number % 10}")
        )
        return Answer(200, [reply_line(request, value)])

    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "w" / "workspace").mkdir(parents=True)
        with running(base / "w", "--unconfined") as workshop, serving(*[answer] * (steps + 1)) as gateway:
            kept[0] = gateway.requests
            snap = snapshot(url=gateway.url, budget={"steps": 10_000, "seconds": 3_600})
            process = start(base / "x", snap, socket=workshop.socket_path, env=env)
            state["pid"] = process.popen.pid
            code = process.wait(1_200)
            if code != 0:
                raise SystemExit(f"the Run did not succeed: {process.message}")
            size = (base / "x/journal" / snap.run / "inputs.jsonl").stat().st_size
    result = {
        f"ms per step at {at}": (marks[at + window // 2] - marks[at - window // 2]) / window
        for at in (50, steps - window)
    }
    return result | {"floor ms per step": floor(size // steps), "start ms": marks[1]}


def floor(size: int) -> float:
    """CPU of appending and syncing `size` bytes, in milliseconds."""
    with tempfile.NamedTemporaryFile() as file:
        began = time.process_time()
        for _ in range(200):
            os.write(file.fileno(), b"x" * size)
            os.fdatasync(file.fileno())
        return (time.process_time() - began) * 1_000 / 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=840)
    parser.add_argument("--window", type=int, default=40)
    given = parser.parse_args()
    print(json.dumps({k: round(v, 3) for k, v in measure(given.steps, given.window).items()}))


if __name__ == "__main__":
    main()
