"""A search through everything a process of a container can read, for texts that must not be there.

The same search looks for a mark of its own in every kind of place it claims to cover; one that misses it is an error.
"""

import json

from support.inpod import RunningPod

# The mark is put together at run time, and its holders are started before the texts are known to this process.
HUNT = r"""
import glob, json, os, subprocess, sys, time
mark = b"canary-%d" % 4711
planted = {"file": "/tmp/planted-mark", "shared memory": "/dev/shm/planted-mark"}
for path in planted.values():
    with open(path, "wb") as file:
        file.write(mark)
ready, told = os.pipe()
holder = os.fork()
if holder == 0:
    kept = bytearray(mark)
    file = open("/tmp/unlinked-mark", "w+b", 0)
    os.unlink(file.name)
    file.write(mark)
    os.write(told, b"%d" % file.fileno())
    time.sleep(300)
    os._exit(0)
planted["descriptor"] = f"/proc/{holder}/fd/{int(os.read(ready, 9))}"
planted["memory"] = f"/proc/{holder}/mem"
sleeper = subprocess.Popen([mark, "300"], executable="/bin/sleep", env={"KEPT": mark})
planted["environment"], planted["arguments"] = f"/proc/{sleeper.pid}/environ", f"/proc/{sleeper.pid}/cmdline"

needles = {name: text.encode() for name, text in json.load(sys.stdin).items()}  # not arguments: those are searched
found, control = set(), set()
def look(path, data):
    found.update((name, path) for name, needle in needles.items() if needle in data)
    if mark in data:
        control.add(path)

PIECE, OVERLAP = 1 << 20, 4096  # little at a time: the container's memory is small, and its processes share it

def read(path, most=1 << 20):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            look(path, os.pread(fd, most, 0) if "/fd/" in path else os.read(fd, most))
        finally:
            os.close(fd)
    except OSError:
        pass

def readable(maps):
    with open(maps) as rows:
        for row in rows:
            span, mode = row.split()[:2]
            start, end = (int(x, 16) for x in span.split("-"))
            if "r" in mode and end - start < 1 << 26:
                yield from ((at, min(PIECE + OVERLAP, end - at)) for at in range(start, end, PIECE))

def read_memory(pid):
    with open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for start, size in readable(f"/proc/{pid}/maps"):
            try:
                mem.seek(start)
                look(f"/proc/{pid}/mem", mem.read(size))
            except (OSError, ValueError, OverflowError):
                pass

for kind in ("environ", "cmdline", "fd/*", "task/*/environ", "root/guildhall/token/token"):
    for path in glob.glob(f"/proc/[0-9]*/{kind}"):
        read(path)
for folder in glob.glob("/proc/[0-9]*"):
    pid = int(folder[6:])
    try:
        if pid != os.getpid():
            read_memory(pid)
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
missed = [kind for kind, path in planted.items() if path not in control]
print(json.dumps({"found": sorted(found), "missed": missed}))
"""


def hunt(pod: RunningPod, container: str, needles: dict[str, str]) -> list[tuple[str, str]]:
    """Where the container's user finds which of `needles` (name to text), as (name, path)."""
    done = pod.inside(container, "python3", "-c", HUNT, stdin=json.dumps(needles), seconds=180)
    assert done.returncode == 0, done.stderr
    hunted = json.loads(done.stdout)
    assert hunted["missed"] == [], f"positive control: the hunt finds no mark in its {hunted['missed']}"
    return [(name, path) for name, path in hunted["found"]]
