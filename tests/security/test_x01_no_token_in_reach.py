"""Promise: repository code finds the executor's token in no environment, memory, descriptor or file it can reach."""

from collections.abc import Iterator

import pytest
from support.inpod import RunningPod, waiting_run
from support.installation import Installation

pytestmark = pytest.mark.cluster

HUNT = r"""
import os, sys, glob
needle = sys.stdin.read().strip().encode()  # not an argument: its own command line would be found
found = []
def look(path, data):
    if needle in data and path not in found:
        found.append(path)
for pattern in ("/proc/[0-9]*/environ", "/proc/[0-9]*/cmdline", "/proc/[0-9]*/fd/*"):
    for path in glob.glob(pattern):
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            look(path, os.read(fd, 1 << 20)); os.close(fd)
        except OSError:
            pass
for maps in glob.glob("/proc/[0-9]*/maps"):
    pid = maps.split("/")[2]
    if pid == str(os.getpid()):
        continue
    try:
        with open(maps) as rows, open(f"/proc/{pid}/mem", "rb", 0) as mem:
            for row in rows:
                span, mode = row.split()[:2]
                start, end = (int(x, 16) for x in span.split("-"))
                if "r" in mode and end - start < 1 << 26:
                    try:
                        mem.seek(start); look(f"/proc/{pid}/mem", mem.read(end - start))
                    except (OSError, ValueError, OverflowError):
                        pass
    except OSError:
        pass
for top, dirs, files in os.walk("/"):
    dirs[:] = [d for d in dirs if os.path.join(top, d) not in ("/proc", "/sys", "/usr", "/dev")]
    for name in files:
        try:
            with open(os.path.join(top, name), "rb") as file:
                look(os.path.join(top, name), file.read(1 << 20))
        except OSError:
            pass
print("\n".join(found))
"""


@pytest.fixture(scope="module")
def pod(installation: Installation) -> Iterator[RunningPod]:
    with waiting_run(installation, "x01") as running:
        yield running


def hunt(pod: RunningPod, needle: str) -> str:
    """Where the workshop's user finds `needle`, a line each."""
    done = pod.inside("workshop", "python3", "-c", HUNT, stdin=needle, seconds=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_hunt_finds_what_is_in_reach(pod: RunningPod) -> None:
    """Positive control: a planted text is found in a file, in an environment and in another process's memory."""
    plant = (
        "echo canary-4711 > /tmp/planted; CANARY=canary-4711 sleep 60 >/dev/null 2>&1 & "
        "python3 -c \"import time; kept = 'canary-' + str(4711); time.sleep(60)\" >/dev/null 2>&1 & sleep 1"
    )
    assert pod.shell(plant + "; true").returncode == 0
    found = hunt(pod, "canary-4711")
    assert "/tmp/planted" in found
    assert "/environ" in found


def test_the_token_is_nowhere_in_reach(pod: RunningPod) -> None:
    token = pod.inside("executor", "cat", "/guildhall/token/token").stdout.strip()
    assert token.count(".") == 2, "the executor itself must have a token"
    assert hunt(pod, token[-40:]) == ""
    assert pod.shell("ls /guildhall/token /guildhall/snapshot /guildhall/journal /var/run/secrets").returncode != 0
