"""What the demo tells of its Run is what is true in the end; its port-forward leaves the port when it goes."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from demo import clusters, console, job
from demo.console import Address
from demo.state import State, process_start

from .conftest import Machine

# The Run is over from the first look; its figures are whole from the fourth.
KUBECTL = """
case "$*" in
*"--output json"*)
    echo . >>"$HERE/looks"
    if [ "$(cat "$HERE/looks")" = "$(cat "$HERE/enough" 2>/dev/null)" ]; then touch "$HERE/whole"; fi
    if test -e "$HERE/whole"; then cat "$HERE/late"; else cat "$HERE/early"; fi ;;
*"get run"*) if test -e "$HERE/whole"; then echo 'Succeeded $0.0457'; else echo 'Succeeded $0.0234'; fi ;;
esac
"""


def run_status(calls: int, cost: int) -> dict[str, Any]:
    return {"status": {"phase": "Succeeded", "reason": "Completed", "usage": {"calls": calls, "costMicroUSD": cost}}}


@pytest.fixture
def api() -> Iterator[Address]:
    """An api whose ledger has 13 calls; what else it is asked for it does not have."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/api/runs/guildhall-demo.x/flow" else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"ledger": {"totals": {"calls": 13, "costMicroUSD": 45_700}}}).encode())

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield Address(f"http://127.0.0.1:{server.server_address[1]}", "token")
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def over(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A cluster whose Run is over, with what it has cost only in part in its row."""
    monkeypatch.setattr(job.time, "sleep", lambda _: None)
    machine.program("kubectl", KUBECTL)
    (machine.folder / "early").write_text(json.dumps(run_status(7, 23_400)))
    (machine.folder / "late").write_text(json.dumps(run_status(13, 45_700)))
    return machine


def test_the_row_is_shown_with_all_that_the_run_cost(
    over: Machine, api: Address, capsys: pytest.CaptureFixture[str]
) -> None:
    (over.folder / "enough").write_text(".\n" * 4)
    assert job.follow(clusters.Kind(State()), "x", api)
    told = capsys.readouterr().out
    assert "$0.0457" in told
    assert "$0.0234" not in told
    assert len((over.folder / "looks").read_text().split()) == 4, "no longer than it takes"


def test_figures_that_do_not_come_are_not_waited_for_without_end(
    over: Machine, api: Address, capsys: pytest.CaptureFixture[str]
) -> None:
    job._settle(clusters.Kind(State()), "x", api, seconds=1)
    assert "not in its row yet" in capsys.readouterr().out
    job._settle(clusters.Kind(State()), "x", Address("http://127.0.0.1:1", "t"), seconds=0.2)
    assert "not in its row yet" in capsys.readouterr().out, "an api that is not there ends nothing"
    (over.folder / "whole").touch()
    job._settle(clusters.Kind(State()), "x", api, seconds=1)
    assert capsys.readouterr().out == "", "the control"


LISTENER = """
import signal, socket, sys, time
def slowly(*_):
    time.sleep(0.4)
    sys.exit()
signal.signal(signal.SIGTERM, slowly if sys.argv[1] == "slow" else signal.SIG_IGN)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    time.sleep(60)
"""


@pytest.mark.parametrize("how", ["slow", "deaf"])
def test_the_port_is_free_again_when_the_forward_is_stopped(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(console, "END_SECONDS", 2.0 if how == "slow" else 0.3)
    forward = subprocess.Popen([sys.executable, "-c", LISTENER, how], stdout=subprocess.PIPE, text=True)
    assert forward.stdout is not None
    try:
        port = int(forward.stdout.readline())
        monkeypatch.setattr(console, "PORT", port)
        assert console.free_port() != port, "the control: it is taken"
        state = State(cluster="kind", forward_pid=forward.pid, forward_start=process_start(forward.pid))
        console.stop_forward(state)
        assert console.free_port() == port
        assert (state.forward_pid, State.load().forward_pid) == (0, 0)
    finally:
        forward.kill()
        forward.wait()
        forward.stdout.close()


def test_a_process_that_has_the_recorded_number_now_is_left_alone(machine: Machine) -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        console.stop_forward(State(cluster="kind", forward_pid=other.pid, forward_start="1"))
        console.stop_forward(State(cluster="kind", forward_pid=other.pid, forward_start=""))
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_kubectl_is_put_on_the_path_before_it_is_used_and_a_new_token_has_a_line(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.program("kubectl")
    monkeypatch.setattr(job, "config_map", dict)
    cluster = clusters.Embedded(State())
    name = job.start(cluster, State())
    console.say_where(cluster, Address("http://x", "t"), name)
    told = capsys.readouterr().out
    assert "kubectl create token demo-viewer -n guildhall-demo" in told
    assert 0 < told.index(cluster.shell()) < told.index("kubectl --namespace")


def test_a_socket_that_was_just_used_does_not_cost_the_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections of the demo before linger for a minute; nobody listens all the same."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            accepted, _ = listener.accept()
            accepted.close()  # this side first: its port is the one that lingers
    monkeypatch.setattr(console, "PORT", port)
    assert console.free_port() == port
