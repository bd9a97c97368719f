"""Promise: the executor listens on nothing, and nor does its pod but for the socket the workshop serves it on."""

import json
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.snapshot import SOCKET_PATH
from support.inpod import RunningPod

pytestmark = pytest.mark.cluster

# What the kernel lists for the pod's network, before and after this process itself listens in each way there is.
LOOK = """
import json, socket

def rows(name):
    try:
        return [line.split() for line in open(f"/proc/net/{name}").read().splitlines()[1:]]
    except FileNotFoundError:
        return []

def look():
    port = lambda address: int(address.rpartition(":")[2], 16)
    found = {name: [port(row[1]) for row in rows(name) if row[3] == "0A"] for name in ("tcp", "tcp6")}
    found |= {name: [port(row[1]) for row in rows(name) if port(row[2]) == 0] for name in ("udp", "udp6")}
    found["unix"] = [row[7] if len(row) > 7 else "" for row in rows("unix") if int(row[3], 16) & 0x10000]
    return found

before, mine, held = look(), {}, []
for name, family, kind, host in (
    ("tcp", socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1"), ("tcp6", socket.AF_INET6, socket.SOCK_STREAM, "::"),
    ("udp", socket.AF_INET, socket.SOCK_DGRAM, "0.0.0.0"), ("udp6", socket.AF_INET6, socket.SOCK_DGRAM, "::")):
    try:
        made = socket.socket(family, kind)
        made.bind((host, 0))
    except OSError:
        continue
    if kind == socket.SOCK_STREAM:
        made.listen()
    held.append(made)
    mine[name] = made.getsockname()[1]
made = socket.socket(socket.AF_UNIX)
made.bind("\\0here")
made.listen()
mine["unix"] = "@here"
print(json.dumps({"before": before, "mine": mine, "after": look()}))
"""


@pytest.fixture(scope="module")
def seen(shared_pod: RunningPod) -> dict[str, Any]:
    done = shared_pod.python("executor", LOOK)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_listens_is_seen(seen: dict[str, Any]) -> None:
    """The control: one more of each kind, and the same look finds it."""
    assert {"tcp", "udp", "unix"} <= set(seen["mine"])
    for name, mine in seen["mine"].items():
        assert mine in seen["after"][name], name


def test_nothing_listens_but_the_workshop(seen: dict[str, Any]) -> None:
    ports = {name: seen["before"][name] for name in ("tcp", "tcp6", "udp", "udp6")}
    assert ports == {"tcp": [], "tcp6": [], "udp": [], "udp6": []}
    (path,) = seen["before"]["unix"]
    assert Path(path).parent == Path(SOCKET_PATH).parent, "the server's own socket; it is renamed once it listens"
