"""Promise: repository code finds the executor's token in no environment, memory, descriptor or file it can reach."""

import pytest
from support.hunt import hunt
from support.inpod import RunningPod

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def token(shared_pod: RunningPod) -> str:
    text = shared_pod.inside("executor", "cat", "/guildhall/token/token").stdout.strip()
    assert text.count(".") == 2, "the executor itself must have a token"
    return text[-40:]


def test_the_token_is_nowhere_in_reach(shared_pod: RunningPod, token: str) -> None:
    """The hunt holds its own control: a mark in a file, a descriptor, an environment, another process's memory."""
    assert hunt(shared_pod, "workshop", {"token": token}) == []


def test_where_it_is_the_same_hunt_finds_it(shared_pod: RunningPod, token: str) -> None:
    found = [path for _, path in hunt(shared_pod, "executor", {"token": token})]
    assert any(path.startswith("/guildhall/token/") for path in found), found


def test_what_holds_it_is_not_mounted(shared_pod: RunningPod) -> None:
    there = "for path in /guildhall/*; do echo $path; done; ls -d /var/run/secrets /run/secrets 2>/dev/null"
    assert shared_pod.shell(there).stdout.split() == ["/guildhall/baseline", "/guildhall/bin", "/guildhall/socket"]
    own = shared_pod.inside("executor", "ls", "/guildhall").stdout.split()
    assert {"token", "snapshot", "journal"} <= set(own), "positive control: that is where the executor has them"
