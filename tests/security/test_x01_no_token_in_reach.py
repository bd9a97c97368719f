"""Promise: repository code finds the executor's token in no environment, memory, descriptor or file it can reach.

One hunt looks for two texts: the token, and a mark planted in every kind of place the hunt claims to search.
"""

import json

import pytest
from support.inpod import RunningPod

pytestmark = pytest.mark.cluster

# The mark is put together at run time, and its holders are started before the token is known to this process.
HUNT = r"""
import glob, json, os, subprocess, sys, time
mark = b"canary-%d" % 4711
planted = {"file": "/tmp/planted-x01", "shared memory": "/dev/shm/planted-x01"}
for path in planted.values():
    with open(path, "wb") as file:
        file.write(mark)
ready, told = os.pipe()
holder = os.fork()
if holder == 0:
    kept = bytearray(mark)
    file = open("/tmp/unlinked-x01", "w+b", 0)
    os.unlink(file.name)
    file.write(mark)
    os.write(told, b"%d" % file.fileno())
    time.sleep(300)
    os._exit(0)
planted["descriptor"] = f"/proc/{holder}/fd/{int(os.read(ready, 9))}"
planted["memory"] = f"/proc/{holder}/mem"
sleeper = subprocess.Popen([mark, "300"], executable="/bin/sleep", env={"KEPT": mark})
planted["environment"], planted["arguments"] = f"/proc/{sleeper.pid}/environ", f"/proc/{sleeper.pid}/cmdline"

needle = sys.stdin.read().strip().encode()  # not an argument: its own command line would be found
found, control = [], set()
def look(path, data):
    if needle in data:
        found.append(path)
    if mark in data:
        control.add(path)

def read(path, most=1 << 20):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            look(path, os.pread(fd, most, 0) if "/fd/" in path else os.read(fd, most))
        finally:
            os.close(fd)
    except OSError:
        pass

for kind in ("environ", "cmdline", "fd/*", "task/*/environ", "root/guildhall/token/token"):
    for path in glob.glob(f"/proc/[0-9]*/{kind}"):
        read(path)
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
for root in ("/", "/dev/shm", "/dev/mqueue"):
    for top, dirs, files in os.walk(root):
        dirs[:] = [d for d in dirs if os.path.join(top, d) not in ("/proc", "/sys", "/usr", "/dev")]
        for name in files:
            read(os.path.join(top, name))
for one in (holder, sleeper.pid):
    os.kill(one, 9)
for path in (planted["file"], planted["shared memory"]):
    os.unlink(path)
print(json.dumps({"found": found, "missed": [kind for kind, path in planted.items() if path not in control]}))
"""


def test_the_token_is_nowhere_in_reach(shared_pod: RunningPod) -> None:
    pod = shared_pod
    token = pod.inside("executor", "cat", "/guildhall/token/token").stdout.strip()
    assert token.count(".") == 2, "the executor itself must have a token"
    done = pod.inside("workshop", "python3", "-c", HUNT, stdin=token[-40:], seconds=120)
    assert done.returncode == 0, done.stderr
    hunted = json.loads(done.stdout)
    assert hunted["missed"] == [], "positive control: the same hunt finds a mark in every kind of place"
    assert hunted["found"] == []


def test_the_hunt_finds_a_token_where_it_lies(shared_pod: RunningPod) -> None:
    """Positive control: in the executor's own container the same hunt finds the token's file."""
    token = shared_pod.inside("executor", "cat", "/guildhall/token/token").stdout.strip()
    done = shared_pod.inside("executor", "python3", "-c", HUNT, stdin=token[-40:], seconds=120)
    assert done.returncode == 0, done.stderr
    assert any(path.startswith("/guildhall/token/") for path in json.loads(done.stdout)["found"])


def test_what_holds_it_is_not_mounted(shared_pod: RunningPod) -> None:
    there = "for path in /guildhall/*; do echo $path; done; ls -d /var/run/secrets /run/secrets 2>/dev/null"
    assert shared_pod.shell(there).stdout.split() == ["/guildhall/baseline", "/guildhall/bin", "/guildhall/socket"]
    own = shared_pod.inside("executor", "ls", "/guildhall").stdout.split()
    assert {"token", "snapshot", "journal"} <= set(own), "positive control: that is where the executor has them"
