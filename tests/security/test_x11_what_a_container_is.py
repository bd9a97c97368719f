"""Promise: each container is unprivileged, read-only, without credentials, and a command's environment is scrubbed."""

from collections.abc import Iterator

import pytest
from support.inpod import RunningPod, waiting_run
from support.installation import Installation

pytestmark = pytest.mark.cluster

UIDS = {"workshop": "10002", "executor": "10001"}


@pytest.fixture(scope="module")
def pod(installation: Installation) -> Iterator[RunningPod]:
    with waiting_run(installation, "x11") as running:
        yield running


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


@pytest.mark.parametrize("container", UIDS)
def test_the_root_is_read_only_and_tmp_is_not(pod: RunningPod, container: str) -> None:
    write = "import sys; open(sys.argv[1], 'w').write('x')"
    assert pod.inside(container, "python3", "-c", write, "/tmp/x").returncode == 0
    for path in ("/x", "/etc/x", "/usr/x", "/guildhall/bin/x", "/var/x"):
        assert pod.inside(container, "python3", "-c", write, path).returncode != 0, path


@pytest.mark.parametrize("container", UIDS)
def test_no_kubernetes_credentials(pod: RunningPod, container: str) -> None:
    assert pod.inside(container, "python3", "-c", "import os; os.listdir('/')").returncode == 0
    look = "import os; print([os.path.exists(f'/{top}/secrets/kubernetes.io') for top in ('run', 'var/run')])"
    assert pod.python(container, look).stdout.strip() == "[False, False]"


def test_namespaces_mounts_and_raw_sockets_are_refused(pod: RunningPod) -> None:
    assert pod.shell("unshare --user --map-root-user true").returncode != 0
    assert pod.shell("unshare --net true").returncode != 0
    assert pod.shell("mount -t tmpfs none /tmp").returncode != 0
    raw = "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)"
    assert pod.python("workshop", raw).returncode != 0
    plain = "import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM)"
    assert pod.python("workshop", plain).returncode == 0


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
