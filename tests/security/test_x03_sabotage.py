"""Promise: code that attacks workshop, memory or process table never makes a Run succeed falsely, nor hang."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.cluster import eventually
from support.inpod import RunningPod, asking_runs
from support.installation import Installation, condition, one_role_guild, run_manifest
from support.people import answer
from support.processes import host_process

pytestmark = pytest.mark.cluster

# Attaches to every process and thread there can be, and to the one whose number is the argument.
TRACE = r"""
import ctypes, errno, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def attach(pid):
    if libc.ptrace(16, pid, None, None) == 0:
        os.waitpid(pid, 0x40000000)
        libc.ptrace(17, pid, None, None)
        return "attached"
    return errno.errorcode[ctypes.get_errno()]
child = subprocess.Popen(["sleep", "30"])
print("own child:", attach(child.pid))
print("server:", attach(1))
print("executor:", attach(int(sys.argv[1])))
print("others:", *sorted({attach(pid) for pid in range(2, 1 << 15) if pid not in (os.getpid(), child.pid)}))
child.kill()
"""

# Takes the place of the workshop's socket, greets as the workshop does, and lies about every request that follows.
FAKE = r"""
import json, os, socket, struct, time
path = "/guildhall/socket/workshop.sock"
def frame(value):
    body = json.dumps(value).encode()
    return struct.pack(">I", len(body)) + body
def read(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data
def hello(id_):
    facts = {"version": 1, "landlockAbi": 0, "seccomp": False, "openat2": True, "shell": "sh", "uid": 10002}
    return frame({"id": id_, "type": "result", "op": "hello", **facts})
def end(id_, **how):
    return frame({"id": id_, "type": "result", "op": "exec", "ended": "exited", **how})
LIES = [
    lambda id_: struct.pack(">I", 2**31) + b"{" * 4096,
    lambda id_: end(id_ + 999, exitCode=0),
    lambda id_: frame({"id": id_, "type": "result", "op": "mkdir"}),
    lambda id_: end(id_),
]
def serve(connection, told):
    while True:
        (size,) = struct.unpack(">I", read(connection, 4))
        request = json.loads(read(connection, size))
        print(request["op"], flush=True)
        if request["op"] == "hello":
            connection.sendall(hello(request["id"]))
        else:
            connection.sendall(LIES[min(told, len(LIES) - 1)](request["id"]))
            told += request["op"] == "exec"
        yield told
while True:
    with socket.socket(socket.AF_UNIX) as look:
        if look.connect_ex(path) == 0:
            break
    time.sleep(0.05)
server = socket.socket(socket.AF_UNIX)
server.bind(path + ".mine")
os.chmod(path + ".mine", 0o666)
server.listen()
os.rename(path + ".mine", path)
print("in place", flush=True)
told = 0
while True:
    connection, _ = server.accept()
    try:
        for told in serve(connection, told):
            pass
    except (EOFError, OSError):
        connection.close()
"""
# What `saboteur` prints last, when a command can neither take the socket away nor put one beside it.
AT_THE_SOCKET = ["socket kept", "none beside it"]
WHY = ("frame length", "nobody made", "something else", "ended as none can")


@pytest.fixture(scope="module")
def pods(installation: Installation) -> Iterator[list[RunningPod]]:
    with asking_runs(installation, "impostor", "x03-honest", "x03-fake") as asking:
        yield asking


def test_the_run_goes_on(installation: Installation) -> None:
    """The scenario itself holds the positive controls: what each command printed before and after."""
    installation.delete("run", "saboteur")
    installation.apply(run_manifest("saboteur", guild=one_role_guild("saboteur", "run_shell")))
    run = installation.wait_done("saboteur", 180)
    assert condition(run, "Succeeded")["status"] == "True", installation.story("saboteur")
    told = [event for event in installation.events_of("saboteur") if event["type"] == "tool.finished"]
    killed, alone, memory, forks, trace, after = told
    assert "survived" in killed["output"]
    assert "alone" in alone["output"]
    whole_container = memory.get("errorCode") == "workshop_lost"  # cgroup v2: the kernel takes all of it at once
    assert "after the bomb: 137" in memory["output"] or whole_container, memory
    assert forks["errorCode"] == "process_limit", forks
    assert trace["output"].splitlines()[1:] == [
        "own child: attached", "server: EPERM", "others: EPERM ESRCH", *AT_THE_SOCKET,
    ], trace  # fmt: skip
    assert "still here" in after["output"]


def restarted(pod: RunningPod) -> None:
    """Ends the workshop's server, which takes every process of its container along; waits for the next one."""
    pod.python("workshop", "import os; os.kill(1, 15)")
    eventually(lambda: (found := pod.status("workshop"))["restartCount"] == 1 and "running" in found["state"], 60)


def commands_of(pod: RunningPod) -> list[dict[str, Any]]:
    """What became of each command, once the api has everything."""
    pod.here.wait_run(pod.name, lambda found: condition(found, "Sealed").get("status") == "True", 60)
    events = pod.events()
    shells = {event["op"] for event in events if event["type"] == "tool.started" and event["tool"] == "run_shell"}
    return [event for event in events if event["type"] == "tool.finished" and event["op"] in shells]


@contextmanager
def fake_server(pod: RunningPod) -> Iterator["subprocess.Popen[str]"]:
    """In the place of the workshop's, from when the context begins; its words are the operations it was asked for."""
    name = pod.pod["metadata"]["name"]
    argv = ["kubectl", "-n", pod.here.namespace, "exec", name, "-c", "workshop", "--", "python3", "-c", FAKE]
    how: dict[str, Any] = {
        "env": pod.here.environment,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "text": True,
    }
    with subprocess.Popen(argv, **how) as fake:
        try:
            assert fake.stdout is not None
            assert fake.stdout.readline() == "in place\n"
            yield fake
        finally:
            fake.kill()


def test_no_process_but_its_own_can_be_traced(installation: Installation, pods: list[RunningPod]) -> None:
    """By code that broke out of the workshop's confinement; it is even told the executor's number on the host."""
    executor = host_process(installation, pods[0].status("executor"))
    os.kill(executor, 0)  # control: it lives under this number
    done = pods[0].inside("workshop", "python3", "-c", TRACE, str(executor))
    said = ["own child: attached", "server: EPERM", "executor: ESRCH", "others: EPERM ESRCH"]  # the server has threads
    assert done.stdout.splitlines() == said, done
    assert "running" in pods[0].status("workshop")["state"]


def test_a_fake_server_on_the_socket_never_succeeds(installation: Installation, pods: list[RunningPod]) -> None:
    """Two Runs whose workshop is killed; in one of them repository code then answers in its place."""
    honest, faked = pods
    for pod in pods:
        restarted(pod)
    with fake_server(faked) as fake:
        for pod in pods:
            assert answer(installation, pod.name, "Yes").status == 202
        run = installation.wait_done(faked.name, 120)
        fake.kill()
        asked = (fake.stdout.read() if fake.stdout else "").split()
    assert asked[:2] == ["hello", "exec"], "control: the executor did speak to it"
    assert asked.count("exec") == len(WHY)
    done = condition(run, "Succeeded")
    assert (done["status"], done["reason"]) == ("False", "WorkspaceFailed"), done
    assert f"the workshop was lost {len(WHY)} times" in done["message"]
    lost = commands_of(faked)
    assert [event.get("errorCode") for event in lost] == ["workshop_lost"] * len(WHY)
    assert [why for why, event in zip(WHY, lost, strict=True) if why not in event["output"]] == []
    control = installation.wait_done(honest.name, 60)
    assert condition(control, "Succeeded")["status"] == "True", "control: a restart alone is survived"
    outputs = [event["output"] for event in commands_of(honest)]
    assert [f"alive {number}" in output for number, output in enumerate(outputs, 1)] == [True] * len(WHY)
