"""Promise: repository code cannot change the executor, the frozen Guild, the workshop server or its own image.

Three attackers: the tools a model has; a process of the workshop's user without the confinement of commands; such a
process put where the executor's own files are. Each does the same to something of its own, which works.
"""

import errno
import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from guildhall_contracts.canonical import digest
from guildhall_contracts.guild import GuildSpec
from guildhall_contracts.snapshot import SHARED_GID, WORKSHOP_UID
from support.inpod import RunningPod
from support.installation import Installation, condition, one_role_guild, run_manifest
from support.processes import host_process

pytestmark = pytest.mark.cluster

# Every way to change a folder or what is in it, on an entry that is there; the errno of each, 0 where it worked.
WAYS = r"""
import json, os, sys
def ways(place):
    names = sorted(os.listdir(place))
    entry = os.path.join(place, names[0]) if names else os.path.join(place, "nothing")
    new = os.path.join(place, "new-f07")
    return {
        "create": lambda: os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY)),
        "folder": lambda: os.mkdir(new + "d"),
        "symlink": lambda: os.symlink("x", new + "s"),
        "fifo": lambda: os.mkfifo(new + "f"),
        "append": lambda: os.close(os.open(entry, os.O_WRONLY | os.O_APPEND)),
        "chmod": lambda: os.chmod(entry, 0o777),
        "times": lambda: os.utime(entry, (1, 1)),
        "link": lambda: os.link(entry, new + "l"),
        "truncate": lambda: os.truncate(entry, 1),
        "rename": lambda: (os.rename(entry, new + "r"), os.rename(new + "r", entry)),
        "unlink": lambda: os.unlink(entry),
    }
found = {}
for place in sys.argv[1:]:
    for way, attempt in ways(place).items():
        try:
            attempt()
            found[f"{place} {way}"] = 0
        except OSError as error:
            found[f"{place} {way}"] = error.errno
print(json.dumps(found))
"""
READ_ONLY = ("/guildhall/bin", "/guildhall/baseline", "/guildhall", "/", "/etc", "/usr/bin")
# What of a folder that is not one of `entry`'s kind: a folder can be neither appended to nor cut nor linked.
OF_FOLDERS = {errno.EISDIR, errno.EPERM, errno.EROFS, errno.EACCES}

# Writes through /proc/self/mem go past the protection of a page, but never into a file that may not be written.
MEMORY = r"""
import ctypes, hashlib, json, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
def digest(path):
    return hashlib.sha256(open(path, "rb").read()).hexdigest()
def through_memory(path, sharing):
    fd = os.open(path, os.O_RDONLY)
    at = libc.mmap(None, 4096, mmap.PROT_READ, sharing, fd, 0)
    with open("/proc/self/mem", "r+b", 0) as memory:
        memory.seek(at)
        try:
            memory.write(b"forged")
        except OSError as error:
            return f"refused {error.errno}"
    return "seen" if ctypes.string_at(at, 6) == b"forged" else "nothing"
def opened(path):
    try:
        os.close(os.open(path, os.O_RDWR))
        return "opened"
    except OSError as error:
        return f"refused {error.errno}"
found = {}
for path in sys.argv[1:]:
    before = digest(path)
    private, shared = (through_memory(path, sharing) for sharing in (mmap.MAP_PRIVATE, mmap.MAP_SHARED))
    found[path] = [private, shared, digest(path) == before]
def looks_into(process):
    try:
        os.listdir(f"/proc/{process}/root/guildhall")
        return [opened(f"/proc/{process}/mem"), "its files"]
    except OSError as error:
        return [opened(f"/proc/{process}/mem"), f"refused {error.errno}"]
print(json.dumps({"files": found, "server": looks_into(1), "own": looks_into(os.getpid())}))
"""


@pytest.fixture(scope="module")
def tools(installation: Installation) -> Iterator[str]:
    """A Run whose model tries it all with its tools, under way beside the others."""
    name = "f07-tools"
    installation.delete("run", name)
    installation.apply(run_manifest(name, guild=one_role_guild("overwrites", "run_shell", "write_file", "edit_file")))
    yield name
    installation.delete("run", name)


def frozen(here: Installation, run: dict[str, Any], executor_sees: str = "") -> str:
    """The digest of the Guild in the Run's snapshot, computed from what is there: the ConfigMap, or its mount."""
    if not executor_sees:
        uid = run["metadata"]["uid"]
        (found,) = [item for item in here.items("configmaps", selector=f"guildhall.dev/run={uid}") if "data" in item]
        executor_sees = found["data"]["snapshot.json"]
    return digest(GuildSpec.model_validate(json.loads(executor_sees)["guild"]))


def test_the_tools_write_nothing_but_the_workspace(
    installation: Installation, tools: str, shared_pod: RunningPod
) -> None:
    run = installation.wait_done(tools, 120)
    assert condition(run, "Succeeded")["status"] == "True", installation.story(tools)
    events = installation.events_of(tools)
    first, *files, last = [event for event in events if event["type"] == "tool.finished"][:11]
    assert [event.get("errorCode") for event in files] == ["permission_denied"] * 8 + [None], "control: its own file"
    did = re.findall(r"did: (.*)", last["output"])
    assert {line.split()[0] for line in did} == {"touch", "mkdir", "ln", "cp", "mv", "chmod", "rm"}, "control: in own/"
    assert [line for line in did if " own/" not in line] == []
    sums = re.findall(r"[0-9a-f]{64}", first["output"])
    assert len(sums) == 2
    assert re.findall(r"[0-9a-f]{64}", last["output"]) == sums, "server and image are what they were"
    (started,) = [event for event in events if event["type"] == "run.started"]
    assert frozen(installation, run) == run["status"]["guildDigest"] == started["guildDigest"], "as at the start"
    other = shared_pod.run["status"]["guildDigest"]
    assert run["status"]["guildDigest"] != other, "control: another Guild has another digest"


def test_no_read_only_place_can_be_changed(shared_pod: RunningPod) -> None:
    own = "/workspace/f07"
    shared_pod.shell(f"mkdir -p {own}; echo y > {own}/entry; ln -s /proc/self/mem {own}-mem")
    done = shared_pod.inside("workshop", "python3", "-c", WAYS, own, *READ_ONLY)
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    control = {way: found.pop(way) for way in list(found) if way.startswith(f"{own} ")}
    assert set(control.values()) == {0}, f"positive control: all of it works on its own: {control}"
    made = {way: code for way, code in found.items() if way.split()[1] in ("create", "folder", "symlink", "fifo")}
    assert len(made) == 4 * len(READ_ONLY)
    assert set(made.values()) == {errno.EROFS}, made
    assert {way: code for way, code in found.items() if code not in {errno.EROFS, *OF_FOLDERS}} == {}
    shared_pod.shell(f"rm -rf {own} {own}-mem")


def test_memory_leads_into_no_file_and_no_other_process(shared_pod: RunningPod) -> None:
    files = ("/guildhall/bin/guildhall-workshop", "/usr/bin/env")
    found = json.loads(shared_pod.inside("workshop", "python3", "-c", MEMORY, *files).stdout)
    assert found["own"] == ["opened", "its files"], "positive control"
    assert found["server"] == [f"refused {errno.EACCES}"] * 2
    for path, (private, shared, unchanged) in found["files"].items():
        assert private == "seen", f"control: its own copy of {path} it may change"
        assert shared.startswith("refused")
        assert unchanged, path


def test_the_executors_files_refuse_the_workshops_user(shared_pod: RunningPod) -> None:
    """They are mounted in no container of his; were they, their owners and modes would still refuse him."""
    here, uid = shared_pod.here, shared_pod.run["metadata"]["uid"]
    own = "/tmp/f07"
    shared_pod.inside("executor", "sh", "-c", f"mkdir -m 777 {own} && umask 0 && echo x > {own}/entry")
    became = f"import os; os.setgroups([{SHARED_GID}]); os.setgid({WORKSHOP_UID}); os.setuid({WORKSHOP_UID})\n"
    places = ("/guildhall/snapshot", f"/guildhall/journal/{uid}", "/guildhall/token", "/guildhall/ca")
    pid = str(host_process(here, shared_pod.status("executor")))
    command = ["nsenter", "-t", pid, "-m", "--", "python3", "-c", became + WAYS, own, *places]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    worked = {way for way, code in found.items() if code == 0}
    assert f"{own} create" in worked, "positive control: where he may, he does"
    assert {way for way in worked if not way.startswith(f"{own} ")} == set()
    seen = shared_pod.inside("executor", "cat", "/guildhall/snapshot/snapshot.json").stdout
    assert frozen(here, shared_pod.run, seen) == here.get("run", shared_pod.name)["status"]["guildDigest"]
