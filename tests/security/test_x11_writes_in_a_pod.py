"""Promise: in a pod too a command writes in /workspace and /tmp alone, whatever a volume or an image leaves open."""

import ctypes
from collections.abc import Iterator

import pytest
from support.inpod import RunningPod, waiting_run
from support.installation import Installation

LANDLOCK_CREATE_RULESET = 444  # of every architecture

OPEN = ["/workspace", "/tmp"]
ONLY_LANDLOCK = ["/guildhall/socket", "/data"]  # its uid may write there: what the server listens in, a VOLUME
READ_ONLY = ["/guildhall/bin", "/guildhall/baseline", "/etc"]


def landlock_abi() -> int:
    """What this machine's kernel has, which is the embedded cluster's too; 0 or less for none."""
    return int(ctypes.CDLL(None, use_errno=True).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1))


pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(landlock_abi() < 1, reason="this kernel has no Landlock"),
]


@pytest.fixture(scope="module")
def pod(installation: Installation) -> Iterator[RunningPod]:
    """A Run in an image with a VOLUME that belongs to the commands' uid."""
    with waiting_run(installation, "reaching-out", "reaching-out", image=installation.images["busybox"]) as running:
        yield running


def test_a_command_writes_in_its_two_places_alone(pod: RunningPod) -> None:
    places = [*OPEN, *ONLY_LANDLOCK, *READ_ONLY]
    script = "for place in {}; do (echo x > $place/unconfined) && echo $place; done; true"
    unconfined = pod.shell(script.format(" ".join(places))).stdout.split()
    assert unconfined == [*OPEN, *ONLY_LANDLOCK], "control: the same uid, unconfined, writes in four of them"
    (finished,) = [event for event in pod.events() if event["type"] == "tool.finished"]
    said = [line for line in finished["output"].splitlines() if line.startswith(("wrote ", "refused "))]
    refused = {f"refused {place}" for place in (*ONLY_LANDLOCK, *READ_ONLY)}
    assert set(said) == {f"wrote {place}" for place in OPEN} | refused
    assert pod.shell("test -e /data/of-the-image && ! test -e /data/reached").returncode == 0
