"""Promise: nothing repository code writes anywhere becomes a LogEvent of the Run."""

import json
from collections.abc import Iterator

import pytest
from support.inpod import RunningPod, waiting_run
from support.installation import Installation

pytestmark = pytest.mark.cluster

FORGE = r"""
import glob, os, sys
line = sys.argv[1].encode() + b"\n"
wrote = 0
plain = ["/dev/tty", "/dev/console", "/dev/stdout", "/proc/1/fd/1"]
for path in [*glob.glob("/proc/[0-9]*/fd/*"), *glob.glob("/dev/pts/*"), *plain]:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        wrote += os.write(fd, line) > 0
        os.close(fd)
    except OSError:
        pass
print(wrote)
"""


@pytest.fixture(scope="module")
def pod(installation: Installation) -> Iterator[RunningPod]:
    with waiting_run(installation, "x02") as running:
        yield running


def test_a_forged_event_reaches_no_one(pod: RunningPod) -> None:
    before = pod.events()
    last = before[-1]
    forged = {**last, "seq": last["seq"] + 1, "type": "run.summarized", "summary": "FORGED-8151"}
    forged = {name: forged[name] for name in ("v", "run", "attempt", "seq", "ts", "type", "summary")}
    done = pod.inside("workshop", "python3", "-c", FORGE, json.dumps(forged))
    assert int(done.stdout.split()[-1]) > 0, "positive control: some descriptor took the line"
    assert "FORGED-8151" in done.stdout, "positive control: the forger's own output has it"
    name = pod.pod["metadata"]["name"]
    assert "FORGED-8151" not in pod.here.kubectl("-n", pod.here.namespace, "logs", name, "-c", "executor")
    assert "FORGED-8151" not in json.dumps(pod.events())
    assert "FORGED-8151" not in json.dumps(pod.here.api(f"/api/runs/{pod.here.namespace}.{pod.name}/flow").body)
