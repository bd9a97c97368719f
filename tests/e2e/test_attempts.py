"""A Run that loses its pod on the way: it goes on in another one, does nothing twice, and keeps what it had done.

All Runs are applied at once; each test acts on its own and waits for it.
"""

import functools
import hashlib
import io
import json
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.eviction import evict
from support.git_pod import GitPod, git_pod
from support.installation import Installation, archive_map, condition, one_role_guild, run_manifest
from support.repositories import Repository, repository

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

REPOSITORY = "seed.git"
FETCHED = "evicted-git"
TALLY = one_role_guild("tally", "run_shell")
SEEDED = {"archive": {"configMap": "seed"}}
KEPT = {**SEEDED, "storage": {"size": "32Mi"}}
RUNS: dict[str, dict[str, Any]] = {
    "evicted": {"guild": TALLY, "workspace": KEPT},
    "evicted-folder": {"guild": TALLY, "workspace": SEEDED},
    "suspended": {"guild": TALLY, "workspace": KEPT},
    "preempted": {"guild": TALLY, "workspace": KEPT},
    "hoarder": {"guild": one_role_guild("hoarder", "run_shell"), "resources": {"ephemeralStorage": "64Mi"}},
}


def seed() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        member = tarfile.TarInfo("seed.txt")
        member.size = 9
        archive.addfile(member, io.BytesIO(b"original\n"))
    return data.getvalue()


def tool_outputs(events: list[dict[str, Any]]) -> list[str]:
    return [event.get("output", "") for event in events if event["type"] == "tool.finished"]


def evict_without_its_server(server: GitPod, here: Installation, run: dict[str, Any]) -> None:
    """From here on there is nothing that could be fetched again."""
    gone = server.cluster.execute(server.namespace, "git", "rm", "-rf", f"/srv/repositories/{REPOSITORY}")
    assert gone.returncode == 0, gone.stderr
    evict(here, run)


def patch(here: Installation, kind: str, name: str, spec: dict[str, Any]) -> None:
    here.kubectl("-n", here.namespace, "patch", kind, name, "--type=merge", "-p", json.dumps({"spec": spec}))


def suspend(here: Installation, run: dict[str, Any]) -> None:
    patch(here, "run", run["metadata"]["name"], {"suspend": True})


def suspend_job(here: Installation, run: dict[str, Any]) -> None:
    """What Kueue does to take a place back."""
    patch(here, "job", run["status"]["attempts"][0]["job"], {"suspend": True})


Act = Callable[[Installation, dict[str, Any]], None]
ACTS: dict[str, tuple[int, Act]] = {
    "evicted": (2, evict),
    "evicted-folder": (1, evict),
    "suspended": (1, suspend),
    "preempted": (1, suspend_job),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the git server's repositories, as they are before any Run."""
    return tmp_path_factory.mktemp("git")


@pytest.fixture(scope="module", name="here")
def _here(installation: Installation, served: Path) -> Iterator[Installation]:
    """Every Run applied, and each acted on as soon as it has done so many calls."""
    for name in (*RUNS, FETCHED):
        installation.delete("run", name)
    with git_pod(installation, served, build) as server:
        asked = {**RUNS, FETCHED: {"guild": TALLY, "workspace": {"git": {"url": server.git(REPOSITORY)}}}}
        manifests = [run_manifest(name, **spec) for name, spec in asked.items()]
        installation.apply(archive_map("seed", seed()), *manifests)
        act_on_all(installation, {**ACTS, FETCHED: (2, functools.partial(evict_without_its_server, server))})
        yield installation


def build(root: Path, _: str) -> None:
    repository(root, REPOSITORY).files({"seed.txt": b"original\n"})


def act_on_all(installation: Installation, acts: dict[str, tuple[int, Act]]) -> None:
    left, end = dict(acts), time.monotonic() + 240  # with the wait for a place among the Runs of other files
    while left:
        assert time.monotonic() < end, f"never got so far: {left}\n{installation.story(min(left))}"
        for name, (calls, act) in list(left.items()):
            run = installation.get("run", name)
            assert run.get("status", {}).get("phase") not in {"Succeeded", "Failed"}, f"{name}: too late to act"
            if run.get("status", {}).get("phase") == "Running" and done_calls(installation, name) >= calls:
                act(installation, run)
                del left[name]
        time.sleep(0.1)


def done_calls(here: Installation, name: str) -> int:
    return len(tool_outputs(here.events_of(name)))


def went_on(here: Installation, name: str, first: str) -> None:
    """It ended well in its second attempt: every line once, every call settled once, one record without a hole."""
    run = here.wait_done(name, 120)
    assert condition(run, "Succeeded")["status"] == "True", here.story(name)
    attempts = run["status"]["attempts"]
    assert [item.get("reason") for item in attempts] == [first, "Completed"]
    assert attempts[0]["podUid"] != attempts[1]["podUid"]
    here.wait_run(name, lambda found: condition(found, "Sealed").get("status") == "True", 60)

    events = here.events_of(name)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    starts = [event for event in events if event["type"] == "run.started"]
    assert [start["attempt"] for start in starts] == [1, 2]
    assert starts[1]["resumedFrom"] >= 1
    assert {event["attempt"] for event in events if event["seq"] < starts[1]["seq"]} == {1}
    done = [event for event in events if event["type"] == "tool.finished" and event["outcome"] == "success"]
    counted = Counter(done[-1]["output"].split())
    assert max(counted.values()) == 1, f"something was done twice: {counted}"
    assert {"original", "changed"} <= set(counted)

    shown = here.api(f"/api/runs/{here.namespace}.{name}/flow").body
    calls = [call for call in shown["ledger"]["calls"] if call["state"] == "settled"]
    assert max(Counter(call["callId"] for call in calls).values()) == 1, "one settlement for each call"
    assert len({call["callId"] for call in calls}) == 6
    changes = here.api(f"/api/runs/{here.namespace}.{name}/changes").body
    assert "+changed" in json.dumps(changes), "what the first attempt changed is part of the change set"


def test_an_evicted_run_goes_on_in_a_second_pod(here: Installation) -> None:
    """OP-11."""
    here.wait_run("evicted", lambda found: len(found["status"]["attempts"]) == 2, 60)
    went_on(here, "evicted", "Evicted")


def made_jobs(here: Installation, uid: str) -> list[str]:
    """The kinds and numbers of every Job that was ever made for a Run."""
    acts = [act["objectRef"] for act in here.cluster.writes(here.namespace) if act["verb"] == "create"]
    names = {act.get("name", "") for act in acts if act["resource"] == "jobs"}
    return sorted(name.rpartition("-")[2] for name in names if uid in name)


def test_an_evicted_run_goes_on_in_the_tree_that_was_fetched(here: Installation, served: Path) -> None:
    """Its repository is gone from the server by then: a second fetch would end it, and its commit would be lost."""
    here.wait_run(FETCHED, lambda found: len(found["status"]["attempts"]) == 2, 60)
    went_on(here, FETCHED, "Evicted")
    run = here.get("run", FETCHED)
    made = Repository(served / "repositories" / REPOSITORY)
    assert run["status"]["source"]["commit"] == made.git("rev-parse", "main")
    assert made_jobs(here, run["metadata"]["uid"]) == ["a1", "a2", "f1"]
    last = tool_outputs(here.events_of(FETCHED))[-1]
    assert last.split()[-2:] == ["committed", "one"], "the first attempt's commit on what was fetched"

    changes = here.api(f"/api/runs/{here.namespace}.{FETCHED}/changes").body
    whole = changes["patch"].encode()
    assert hashlib.sha256(whole).hexdigest() == changes["patchSHA256"] == run["status"]["changes"]["patchSHA256"]
    made.git("read-tree", "main")
    made.git("apply", "--cached", "-", stdin=whole)
    assert made.git("show", ":seed.txt") == "original\nchanged"
    assert made.git("show", ":tally.txt") == "1\n2\n3\n4"


def test_an_evicted_run_in_a_folder_of_its_pod_ends_and_says_why(here: Installation) -> None:
    run = here.wait_done("evicted-folder", 60)
    ended = condition(run, "Succeeded")
    assert (ended["status"], ended["reason"]) == ("False", "Evicted")
    assert "workspace.storage" in ended["message"]
    assert len(run["status"]["attempts"]) == 1


def test_suspend_after_start_and_release(here: Installation) -> None:
    run = here.wait_run("suspended", lambda found: found["status"]["phase"] == "Queued", 60)
    assert condition(run, "Queued")["reason"] == "Suspended"
    pods = alive(here, run["metadata"]["uid"])
    assert pods == [], "a suspended Run uses nothing"
    patch(here, "run", "suspended", {"suspend": False})
    went_on(here, "suspended", "Suspended")


def alive(here: Installation, uid: str) -> list[str]:
    pods = here.items("pods", selector=f"guildhall.dev/run={uid}")
    return [pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] not in {"Succeeded", "Failed"}]


def test_a_job_its_queue_suspends_goes_on_in_another(here: Installation) -> None:
    went_on(here, "preempted", "Suspended")


def test_a_run_that_filled_its_own_disk_is_not_tried_again(here: Installation) -> None:
    """SQ-05: the kubelet evicts it, and it says why."""
    run = here.wait_done("hoarder", 270)  # the kubelet measures disks when it has the time
    ended = condition(run, "Succeeded")
    assert (ended["status"], ended["reason"]) == ("False", "Evicted")
    assert 'EmptyDir volume "workspace"' in ended["message"]
    assert "ephemeralStorage" in ended["message"]
    assert len(run["status"]["attempts"]) == 1
