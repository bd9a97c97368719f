"""`deliver: branch` on a real cluster: the branch is what was fetched and the patch that was shown.

The server is a pod of the cluster that takes pushes from one of two logins; Runs start side by side.
"""

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.git_pod import GitPod, git_pod
from support.installation import Installation, condition, one_role_guild, run_manifest
from support.repositories import ordinary

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
READS, WRITES = "look-but-do-not-touch", "sesame-open-sesame"
SETTLED = {"True", "False"}


def _build(root: Path, namespace: str) -> None:
    ordinary(root, "private/mine.git")
    (root / "private" / ".login").write_text(f"robot:{READS}\n")
    (root / "private" / ".push").write_text(f"robot:{WRITES}\n")
    ordinary(root, "open.git").git("config", "daemon.receivepack", "true")


@pytest.fixture(scope="module")
def server(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitPod]:
    with git_pod(installation, tmp_path_factory.mktemp("git"), _build) as found:
        yield found


def _secret(name: str, **values: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values}


def _runs(server: GitPod) -> dict[str, dict[str, Any]]:
    mends, ci = one_role_guild("mends-a-file", "run_shell"), one_role_guild("touches-ci", "run_shell")
    mine = {"git": {"url": server.https("private/mine.git"), "secretRef": {"name": "dl-reads"}}}
    open_ = {"git": {"url": server.git("open.git")}}
    writes = {"secretRef": {"name": "dl-writes"}}
    branch: dict[str, Any] = {"deliver": "branch"}
    return {
        "dl-https": {**branch, "guild": mends, "workspace": mine, "publish": writes, "task": "# Mend it\n\nAll of it."},
        "dl-git": {**branch, "guild": mends, "workspace": open_},
        "dl-patch": {"deliver": "patch", "guild": mends, "workspace": open_},
        "dl-nothing": {**branch, "guild": one_role_guild("finish-at-once"), "workspace": open_},
        "dl-ci": {**branch, "guild": ci, "workspace": open_},
        "dl-ci-allowed": {**branch, "guild": ci, "workspace": open_, "publish": {"allowWillRun": True}},
        "dl-denied": {**branch, "guild": mends, "workspace": mine},
    }


@pytest.fixture(scope="module")
def runs(installation: Installation, server: GitPod) -> dict[str, dict[str, Any]]:
    """Every Run of this module, started side by side, each at its end and its delivery settled."""
    common = {"host": server.host, "username": "robot", "ca.crt": server.ca.decode()}
    installation.apply(
        _secret("dl-reads", **common, password=READS),
        _secret("dl-writes", **common, password=WRITES),
    )
    asked = _runs(server)
    for name in asked:
        installation.delete("run", name)
    installation.apply(*(run_manifest(name, **spec) for name, spec in asked.items()))
    found = {name: installation.wait_done(name, 240) for name in asked}
    for name, spec in asked.items():
        if spec["deliver"] == "branch":
            found[name] = installation.wait_run(
                name, lambda run: condition(run, "Delivered").get("status") in SETTLED, 120
            )
    return found


def _git(server: GitPod, repository: str, *words: str) -> str:
    path = f"/srv/repositories/{repository}"
    done = server.cluster.execute(server.namespace, "git", "git", "-c", "safe.directory=*", "-C", path, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _branches(server: GitPod, repository: str) -> dict[str, str]:
    lines = _git(server, repository, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split(" ") for line in lines if "/guildhall/" in line)


def _applied(server: GitPod, repository: str, base: str, patch: bytes) -> str:
    """The tree of `base` and `patch`, by the server's own git."""
    git, there = "git -c safe.directory='*'", f"/srv/repositories/{repository}"
    script = (
        f"cd {there} && export GIT_INDEX_FILE={there}/other-index && {git} read-tree {base}"
        f" && echo {base64.b64encode(patch).decode()} | base64 -d | {git} apply --cached - && {git} write-tree"
    )
    done = server.cluster.execute(server.namespace, "git", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(("name", "repository"), [("dl-https", "private/mine.git"), ("dl-git", "open.git")])
def test_the_branch_is_what_was_fetched_and_the_patch_that_was_shown(
    installation: Installation, server: GitPod, runs: dict[str, dict[str, Any]], name: str, repository: str
) -> None:
    run = runs[name]
    assert run["status"]["phase"] == "Succeeded", installation.story(name)
    told = condition(run, "Delivered")
    assert (told["status"], told["reason"]) == ("True", "Pushed"), (told, installation.story(name))
    delivery = run["status"]["delivery"]
    assert delivery["branch"].startswith(f"guildhall/{name}-")
    assert _branches(server, repository)[f"refs/heads/{delivery['branch']}"] == delivery["commit"]
    changes = installation.api(f"/api/runs/{installation.namespace}.{name}/changes").body
    assert "git-ran" not in changes["patch"], "nobody ran git with the configuration the Run left behind"
    patch = changes["patch"].encode()
    assert hashlib.sha256(patch).hexdigest() == delivery["patchSHA256"] == changes["patchSHA256"], "one and the same"
    base = run["status"]["source"]["commit"]
    assert _git(server, repository, "rev-parse", f"{delivery['commit']}^@") == base
    tree = _git(server, repository, "rev-parse", f"{delivery['commit']}^{{tree}}")
    assert tree == _applied(server, repository, base, patch)
    assert tree != _git(server, repository, "rev-parse", f"{base}^{{tree}}"), "control: it did change something"
    message = _git(server, repository, "log", "-1", "--format=%an%n%B", delivery["commit"])
    assert f"Guildhall-Run: {installation.namespace}/{name}" in message
    assert delivery["patchSHA256"] in message


def test_the_first_line_of_the_task_is_the_title(server: GitPod, runs: dict[str, dict[str, Any]]) -> None:
    commit = runs["dl-https"]["status"]["delivery"]["commit"]
    assert _git(server, "private/mine.git", "log", "-1", "--format=%an: %s", commit) == "Guildhall: Mend it"


def test_nothing_else_reached_the_servers(
    installation: Installation, server: GitPod, runs: dict[str, dict[str, Any]]
) -> None:
    """Control of all that pushes nothing: the branches are those of the Runs that say so, and no other ref moved."""
    wanted = {
        "private/mine.git": {runs["dl-https"]["status"]["delivery"]["branch"]},
        "open.git": {runs[name]["status"]["delivery"]["branch"] for name in ("dl-git", "dl-ci-allowed")},
    }
    for repository, branches in wanted.items():
        assert set(_branches(server, repository)) == {f"refs/heads/{branch}" for branch in branches}
        base = runs["dl-https"]["status"]["source"]["commit"]
        assert _git(server, repository, "rev-parse", "refs/heads/main") == base, "main is where it was"


@pytest.mark.parametrize(
    ("name", "status", "reason", "words"),
    [
        ("dl-nothing", "True", "NothingToDeliver", "changed nothing"),
        ("dl-ci", "False", "RunsUnasked", "publish.allowWillRun"),
        ("dl-denied", "False", "DeliveryFailed", "does not let"),
    ],
)
def test_what_is_not_pushed_says_why(
    runs: dict[str, dict[str, Any]], name: str, status: str, reason: str, words: str
) -> None:
    told = condition(runs[name], "Delivered")
    assert (told["status"], told["reason"]) == (status, reason), told
    assert words in told["message"]
    assert runs[name]["status"]["phase"] == "Succeeded", "the work was done"
    assert "commit" not in runs[name]["status"].get("delivery", {})


def test_a_run_that_delivers_a_patch_has_no_word_about_a_branch(runs: dict[str, dict[str, Any]]) -> None:
    assert condition(runs["dl-patch"], "Delivered") == {}
    assert "delivery" not in runs["dl-patch"]["status"]


def test_the_credentials_are_in_nothing_people_see(
    installation: Installation, server: GitPod, runs: dict[str, dict[str, Any]]
) -> None:
    login = base64.b64encode(f"robot:{WRITES}".encode()).decode()
    pushes = [line for line in server.requests().splitlines() if "git-receive-pack" in line]
    assert any(login in line for line in pushes), "control: it did travel"
    assert all("/private/mine.git/" in line for line in server.requests().splitlines() if login in line)
    everything = [str(runs), str(installation.events_of("dl-https")), installation.story("dl-https")]
    assert not any(secret in text for secret in (READS, WRITES, login) for text in everything)


def test_afterwards_everything_of_the_run_is_freed(installation: Installation, runs: dict[str, dict[str, Any]]) -> None:
    uids = [run["metadata"]["uid"] for run in runs.values()]
    for name in runs:
        installation.wait_run(name, lambda found: condition(found, "Sealed").get("status") == "True", 60)
    left: list[str] = []
    for _ in range(150):
        left = [item["metadata"]["name"] for kind in ("jobs", "pvc") for item in installation.items(kind)]
        if not any(uid in name for uid in uids for name in left):
            return
    raise AssertionError(left)
