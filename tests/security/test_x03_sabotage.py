"""Promise: code that attacks workshop, memory or process table never makes a Run succeed falsely, nor hang."""

import pytest
from support.inpod import RunningPod, waiting_run
from support.installation import Installation, condition, one_role_guild, run_manifest

pytestmark = pytest.mark.cluster

FAKE_SERVER = r"""
import os, socket, struct
path = "/guildhall/socket/workshop.sock"
try:
    os.unlink(path)
except OSError as error:
    print("unlink:", type(error).__name__)
server = socket.socket(socket.AF_UNIX)
try:
    server.bind(path); server.listen(); server.settimeout(20)
    connection, _ = server.accept()
    while True:
        connection.sendall(struct.pack(">I", 2**31) + b"{" * 65536)
except OSError as error:
    print("server:", type(error).__name__)
"""


def test_the_run_goes_on(installation: Installation) -> None:
    """The scenario itself holds the positive controls: what each command printed before and after."""
    installation.delete("run", "saboteur")
    installation.apply(run_manifest("saboteur", guild=one_role_guild("saboteur", "run_shell")))
    run = installation.wait_done("saboteur", 180)
    assert condition(run, "Succeeded")["status"] == "True", installation.story("saboteur")
    finished = [event for event in installation.events_of("saboteur") if event["type"] == "tool.finished"]
    assert len(finished) == 5
    assert "after the bomb" in finished[2]["output"] or finished[2].get("errorCode")
    assert finished[3].get("errorCode") in {"process_limit", "wall_timeout", "idle_timeout", "exit_status", None}


def test_a_fake_server_on_the_socket_never_succeeds(installation: Installation) -> None:
    with waiting_run(installation, "x03-fake") as pod:
        pod.inside("workshop", "python3", "-c", FAKE_SERVER, seconds=60)
        assert _still_honest(pod)


def _still_honest(pod: RunningPod) -> bool:
    phase = pod.here.get("run", pod.name)["status"]["phase"]
    return phase in {"Running", "Failed"}
