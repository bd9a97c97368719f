"""A delivery that is cancelled while its publisher is at work, or waits: it ends at once, and what is told is so.

The git server's own hooks hold a push before and after it is taken, so that each moment lasts until it is seen.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.snapshot import PUBLISH_LABEL
from support.cluster import eventually
from support.git_pod import GitPod, git_pod
from support.installation import Installation, condition, one_role_guild, run_manifest
from support.repositories import ordinary

pytestmark = pytest.mark.cluster  # not among the first: its pushes are held, and its places with them
HOOKS = {"dc-held": "pre-receive", "dc-taken": "post-receive"}
NAMES = (*HOOKS, "dc-waits", "dc-control")
CANCELLED = tuple(name for name in NAMES if name != "dc-control")
SETTLED = {"True", "False"}
ENDS_SECONDS = {  # the kubelet's look at a deadline and the last look at the branch; a kill would come 10 s later
    "dc-held": 15.0,
    "dc-taken": 15.0,
    "dc-waits": 60.0,  # a kubelet that waits for a volume looks up only then; no container is there
}
READS, ABSENT = "dc-reads", "dc-comes-late"


@dataclass
class Cancelled:
    """The Runs once each delivery is over, and how long the pod of each lived on."""

    server: GitPod
    runs: dict[str, dict[str, Any]]
    seconds: dict[str, float]


def _build(root: Path, namespace: str) -> None:
    for name in NAMES:
        made = ordinary(root, f"{name}.git")
        made.git("config", "daemon.receivepack", "true")
        if name in HOOKS:
            made.hold(HOOKS[name])


def _publishers(here: Installation, uid: str) -> list[dict[str, Any]]:
    """Those of one Run that can still do something."""
    found = here.items("pods", selector=f"{PUBLISH_LABEL},guildhall.dev/fetch={uid}")
    return [pod for pod in found if pod["status"].get("phase") not in {"Succeeded", "Failed"}]


def _in_pod(server: GitPod, *command: str) -> str:
    done = server.cluster.execute(server.namespace, "git", *command)
    return done.stdout.strip() if done.returncode == 0 else ""


def _branch(server: GitPod, name: str) -> str:
    """The commit of the one branch of ours in the Run's repository; empty where there is none."""
    path = f"/srv/repositories/{name}.git"
    words = ("for-each-ref", "--format=%(objectname)", "refs/heads/guildhall")
    return _in_pod(server, "git", "-c", "safe.directory=*", "-C", path, *words)


def _at_its_moment(here: Installation, server: GitPod, name: str) -> bool:
    if name in HOOKS:
        return bool(_in_pod(server, "ls", f"/srv/repositories/{name}.git/reached"))
    run = here.get("run", name)
    if name == "dc-control":
        return condition(run, "Delivered").get("status") in SETTLED
    return bool(_publishers(here, run["metadata"]["uid"]))


@pytest.fixture(scope="module")
def done(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cancelled]:
    """Every Run brought to its moment, and cancelled there."""
    here, common = installation, {"guild": one_role_guild("mends-a-file", "run_shell"), "deliver": "branch"}
    with git_pod(here, tmp_path_factory.mktemp("git"), _build) as server:
        for name in NAMES:
            here.delete("run", name)
        ca = {"host": server.host, "username": "nobody", "password": "nothing", "ca.crt": server.ca.decode()}
        here.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": READS}, "stringData": ca})
        git = {name: {"workspace": {"git": {"url": server.git(f"{name}.git")}}} for name in NAMES}
        git["dc-waits"] = {"workspace": {"git": {"url": server.https("dc-waits.git"), "secretRef": {"name": READS}}}}
        git["dc-waits"]["publish"] = {"secretRef": {"name": ABSENT}}
        here.apply(*(run_manifest(name, **common, **git[name]) for name in NAMES))
        for name in NAMES:
            eventually(lambda name=name: _at_its_moment(here, server, name), 150)  # type: ignore[misc]
        seconds: dict[str, float] = {}
        for name in CANCELLED:
            here.kubectl("-n", here.namespace, "patch", "run", name, "--type=merge", "-p", '{"spec":{"cancel":true}}')
            began, uid = time.monotonic(), here.get("run", name)["metadata"]["uid"]
            eventually(lambda uid=uid: not _publishers(here, uid), 60)  # type: ignore[misc]
            seconds[name] = time.monotonic() - began
        runs = {name: here.wait_run(name, _settled, 60) for name in NAMES}
        yield Cancelled(server, runs, seconds)


def _settled(run: dict[str, Any]) -> bool:
    return condition(run, "Delivered").get("status") in SETTLED


def test_a_delivery_nobody_cancels_is_made(done: Cancelled) -> None:
    """Control: the same Run, patch and kind of repository."""
    run = done.runs["dc-control"]
    assert condition(run, "Delivered")["reason"] == "Pushed", run["status"]
    assert _branch(done.server, "dc-control") == run["status"]["delivery"]["commit"]


@pytest.mark.parametrize("name", CANCELLED)
def test_no_publisher_lives_on(done: Cancelled, name: str) -> None:
    assert done.seconds[name] < ENDS_SECONDS[name]
    assert done.runs[name]["status"]["phase"] == "Succeeded", "the work was done before"


@pytest.mark.parametrize("name", ["dc-held", "dc-waits"])
def test_what_was_not_heard_of_is_not_guessed(done: Cancelled, name: str) -> None:
    told = condition(done.runs[name], "Delivered")
    assert (told["status"], told["reason"]) == ("False", "Cancelled"), told
    assert done.runs[name]["status"]["delivery"]["branch"] in told["message"], "where to look"
    assert "commit" not in done.runs[name]["status"]["delivery"]


def test_a_push_that_was_taken_is_told(done: Cancelled) -> None:
    told = condition(done.runs["dc-taken"], "Delivered")
    assert (told["status"], told["reason"]) == ("True", "Pushed"), told
    assert _branch(done.server, "dc-taken") == done.runs["dc-taken"]["status"]["delivery"]["commit"]


def test_nothing_is_pushed_later(installation: Installation, done: Cancelled) -> None:
    """The Secret that was waited for comes, and nobody is there to use it."""
    run = done.runs["dc-waits"]
    installation.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": ABSENT}, "stringData": {"a": "b"}})
    try:
        sealed = installation.wait_run("dc-waits", lambda found: condition(found, "Sealed").get("status") == "True", 60)
        assert not _publishers(installation, run["metadata"]["uid"])
        assert _branch(done.server, "dc-waits") == ""
        assert condition(sealed, "Delivered") == condition(run, "Delivered")
    finally:
        installation.delete("secret", ABSENT)
