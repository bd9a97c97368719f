"""The console's address: a port-forward that is recorded, and a token that lives for an hour."""

import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass

from demo.clusters import Cluster
from demo.state import CACHE, CONTROL, ROOT, RUNS, State, process_start, say
from demo.tools import StepError

PORT = 8080
END_SECONDS = 5.0
VIEWER_NAME = "demo-viewer"
VIEWER = ROOT / "examples" / "demo" / "viewer.yaml"


@dataclass
class Address:
    url: str
    token: str


def free_port() -> int:
    """`PORT` if nobody listens there, else any free one."""
    for port in (PORT, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise StepError("no free port on 127.0.0.1")


def _runs(state: State) -> bool:
    return bool(state.forward_pid and state.forward_start) and process_start(state.forward_pid) == state.forward_start


def stop_forward(state: State) -> None:
    """Ends the recorded port-forward, and only that process; back when it is over and its port is free."""
    for end in (signal.SIGTERM, signal.SIGKILL):
        if not _runs(state):
            break
        with suppress(ProcessLookupError):  # it may end by itself right now
            os.kill(state.forward_pid, end)
        until = time.monotonic() + END_SECONDS
        while _runs(state) and time.monotonic() < until:
            time.sleep(0.02)
    state.forward_pid, state.forward_start = 0, ""
    state.save()


def open_console(cluster: Cluster, state: State) -> Address:
    """Starts a recorded port-forward to the api and makes a token for a viewer who may watch and start Runs."""
    stop_forward(state)
    port = free_port()
    log = CACHE / "demo" / "port-forward.log"
    with log.open("wb") as out:
        forward = subprocess.Popen(
            ["kubectl", "--namespace", CONTROL, "port-forward", "service/guildhall-api", f"{port}:80"],
            env=cluster.environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    state.forward_pid, state.forward_start = forward.pid, process_start(forward.pid)
    state.save()
    _wait(port, log.name)
    cluster.kubectl("--namespace", RUNS, "apply", "--filename", str(VIEWER))
    token = cluster.kubectl("--namespace", RUNS, "create", "token", VIEWER_NAME, "--duration", "1h").strip()
    return Address(f"http://127.0.0.1:{port}", token)


def _wait(port: int, log: str) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise StepError(f"the port-forward to the api did not open; see {log}")


def say_where(cluster: Cluster, address: Address, run: str) -> None:
    say(f"""
Watch it in the console (left running; the port-forward is recorded and ends with `make demo-down`):
  {address.url}/#/runs/{RUNS}.{run}
  sign in with this token, good for one hour:
  {address.token}

  To use kubectl yourself:  {cluster.shell()}
  Another token:            kubectl create token {VIEWER_NAME} -n {RUNS}
  The Run:                  kubectl describe run {run} -n {RUNS}
  To remove everything:     make demo-down""")
