"""Promise: each container is unprivileged, read-only, without credentials, and a command's environment is scrubbed."""

import errno
import json
import subprocess
import sys

import pytest
from support.inpod import RunningPod
from support.powers import CORE, REFUSED, SCRIPT, answers

pytestmark = pytest.mark.cluster

UIDS = {"workshop": "10002", "executor": "10001"}


@pytest.fixture(scope="module")
def pod(shared_pod: RunningPod) -> RunningPod:
    return shared_pod


@pytest.fixture(scope="module")
def unconfined() -> dict[str, dict[str, int]]:
    """What the same calls come to as root of this machine, without confinement."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=30)
    return answers(done.stdout)


def status_of(text: str) -> dict[str, str]:
    """Fields of a /proc/<pid>/status."""
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


@pytest.mark.parametrize("container", UIDS)
def test_privileges(pod: RunningPod, container: str) -> None:
    facts = status_of(pod.inside(container, "cat", "/proc/self/status").stdout)
    assert facts["NoNewPrivs"] == "1"
    assert facts["Seccomp"] == "2"
    assert int(facts["CapEff"], 16) == int(facts["CapBnd"], 16) == 0
    assert set(facts["Uid"].split()) == {UIDS[container]}
    assert set(facts["Gid"].split()) == {UIDS[container]}


WRITE = r"""
import json, sys
found = {}
for path in sys.argv[1:]:
    try:
        open(path, "w").write("x")
        found[path] = 0
    except OSError as error:
        found[path] = error.errno
print(json.dumps(found))
"""


@pytest.mark.parametrize("container", UIDS)
def test_the_root_is_read_only_and_tmp_is_not(pod: RunningPod, container: str) -> None:
    """EROFS comes before any question of rights: it is the mount that refuses."""
    places = ["/x11", "/etc/x11", "/usr/x11", "/var/x11", "/usr/bin/x11", "/opt/x11"]
    found = json.loads(pod.inside(container, "python3", "-c", WRITE, "/tmp/x11", *places).stdout)
    assert found.pop("/tmp/x11") == 0, "positive control"
    assert found == dict.fromkeys(places, errno.EROFS)


@pytest.mark.parametrize("container", UIDS)
def test_no_kubernetes_credentials(pod: RunningPod, container: str) -> None:
    assert pod.inside(container, "python3", "-c", "import os; os.listdir('/')").returncode == 0
    look = "import os; print([os.path.exists(f'/{top}/secrets/kubernetes.io') for top in ('run', 'var/run')])"
    assert pod.python(container, look).stdout.strip() == "[False, False]"


@pytest.mark.parametrize("container", UIDS)
def test_calls_that_widen_powers_are_refused(
    pod: RunningPod, unconfined: dict[str, dict[str, int]], container: str
) -> None:
    """Namespaces, mounts, keys, bpf, raw sockets: refused by errno, where the same call unconfined is not."""
    allowed = {name for name, code in unconfined["widening"].items() if code != REFUSED}
    assert allowed >= CORE, "positive control: root of this machine may ask for them"
    done = pod.python(container, SCRIPT)
    assert done.returncode == 0, done.stderr
    found = answers(done.stdout)
    assert set(found["plain"].values()) == {0}, f"positive control: what needs no power works there: {found['plain']}"
    got = {name: errno.errorcode.get(code, code) for name, code in found["widening"].items() if code != REFUSED}
    assert got == {}


def test_the_server_cannot_be_traced(pod: RunningPod) -> None:
    """Its uid is the commands' own: what keeps it apart is that it may not be looked into."""
    trace = """
import ctypes, errno, os, subprocess
libc = ctypes.CDLL(None, use_errno=True)
def seize(pid):
    return 0 if libc.ptrace(0x4206, pid, None, None) == 0 else ctypes.get_errno()  # PTRACE_SEIZE
child = subprocess.Popen(["sleep", "30"])
print(seize(child.pid), seize(1))
child.kill()
"""
    assert pod.python("workshop", trace).stdout.split() == ["0", str(errno.EPERM)], "its own child it may"


def test_a_commands_environment_is_scrubbed(pod: RunningPod) -> None:
    (finished,) = [event for event in pod.events() if event["type"] == "tool.finished"]
    environment, _, status = finished["output"].partition("forged attempts start here")
    assert "PATH=" in environment, "positive control: the command printed its environment"
    names = {line.partition("=")[0] for line in environment.splitlines() if "=" in line}
    assert not {name for name in names if "KUBERNETES" in name or "GUILDHALL" in name or name.endswith("_SERVICE_HOST")}
    facts = status_of(status)
    assert facts["NoNewPrivs"] == "1"
    assert set(facts["Uid"].split()) == {"10002"}


def test_the_containers_do_not_see_each_other(pod: RunningPod) -> None:
    """No shared process namespace: neither finds the other's processes, so neither can signal them."""
    listing = "import glob; print([open(path).read() for path in glob.glob('/proc/[0-9]*/cmdline')])"
    workshop, executor = (pod.python(container, listing).stdout for container in ("workshop", "executor"))
    assert "guildhall-workshop" in workshop
    assert "guildhall-workshop" not in executor
    assert "guildhall_executor" not in workshop
