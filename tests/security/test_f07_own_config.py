"""Promise: repository code cannot change the executor, the frozen Guild, the workshop server or its own image."""

from collections.abc import Iterator

import pytest
from support.inpod import RunningPod, waiting_run
from support.installation import Installation

pytestmark = pytest.mark.cluster

TRY = r"""
import os, sys
out = []
for path in sys.argv[1:]:
    try:
        with open(path, "r+b", 0) as file:
            file.seek(0)
            file.write(b"x")
        out.append(path)
    except OSError:
        pass
print(" ".join(out))
"""
TARGETS = (
    "/guildhall/snapshot/snapshot.json",
    "/guildhall/journal/events.jsonl",
    "/guildhall/bin/guildhall-workshop",
    "/guildhall/baseline",
    "/proc/1/mem",
    "/proc/1/environ",
    "/usr/bin/python3",
    "/bin/sh",
    "/etc/passwd",
)


@pytest.fixture(scope="module")
def pod(installation: Installation) -> Iterator[RunningPod]:
    with waiting_run(installation, "f07") as running:
        yield running


def test_nothing_of_it_can_be_written(pod: RunningPod) -> None:
    own = "/workspace/own.txt"
    pod.shell(f"echo y > {own}")
    before = pod.inside("executor", "cat", "/guildhall/snapshot/snapshot.json").stdout
    links = "; ".join(f"ln -s {target} /workspace/link{number}" for number, target in enumerate(TARGETS))
    pod.shell(links)
    through = [f"/workspace/link{number}" for number in range(len(TARGETS))]
    wrote = pod.inside("workshop", "python3", "-c", TRY, own, *TARGETS, *through).stdout.split()
    assert wrote == [own], "positive control: its own file, and nothing else"
    after = pod.inside("executor", "cat", "/guildhall/snapshot/snapshot.json").stdout
    assert after == before != ""
    now = pod.here.get("run", pod.name)["status"]["guildDigest"]
    started = next(event for event in pod.events() if event["type"] == "run.started")
    assert started["guildDigest"] == now == pod.run["status"]["guildDigest"]
