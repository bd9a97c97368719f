"""Git sources on a real cluster: fetched by a pod of its own, worked on by another, and every failure with its cause.

The server is a pod of the cluster; the fetcher's egress names its namespace on two ports, and nothing else.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guildhall_operator.names import snapshot_name
from support.git_pod import GitPod, git_pod
from support.installation import NAMESPACE, Installation, condition, one_role_guild, run_manifest
from support.remains import remains_of
from support.repositories import ordinary, repository

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
PASSWORD = "sesame-open-sesame"
GUILD = one_role_guild("in-a-repository", "run_shell")


def _build(root: Path, namespace: str) -> None:
    ordinary(root)
    ordinary(root, "private/mine.git")
    (root / "private" / ".login").write_text(f"robot:{PASSWORD}\n")
    (root / "redirect.to").write_text(f"https://git.{namespace}.svc.cluster.local:8444")
    planted = repository(root, "planted.git")
    folder = planted.tree(("100644", b"journal", planted.blob(b"{}\n")))
    planted.commit(planted.tree(("40000", b".orchestration", folder), ("100644", b"README.md", planted.blob(b"x\n"))))
    hooked = repository(root, "hooked.git")
    hooks = hooked.tree(("100755", b"post-checkout", hooked.blob(b"#!/bin/sh\ntouch /workspace/ran\n")))
    hooked.commit(hooked.tree(("40000", b".git", hooked.tree(("40000", b"hooks", hooks)))))


@pytest.fixture(scope="module")
def server(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitPod]:
    with git_pod(installation, tmp_path_factory.mktemp("git"), _build) as found:
        yield found


def _secret(name: str, **values: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values}


@pytest.fixture(scope="module")
def runs(installation: Installation, server: GitPod) -> dict[str, dict[str, Any]]:
    """Every Run of this module, started side by side, each at its end."""
    ca = server.ca.decode()
    installation.apply(
        _secret("git-mine", **{"host": server.host, "username": "robot", "password": PASSWORD, "ca.crt": ca}),
        _secret("git-elsewhere", **{"host": "git.example.test", "password": PASSWORD, "ca.crt": ca}),
    )
    sources: dict[str, dict[str, Any]] = {
        "src-git": {"url": server.git("good.git"), "ref": "feature/side"},
        "src-https": {"url": server.https("private/mine.git"), "secretRef": {"name": "git-mine"}},
        "src-elsewhere": {"url": server.https("private/mine.git"), "secretRef": {"name": "git-elsewhere"}},
        "src-no-secret": {"url": server.https("private/mine.git"), "secretRef": {"name": "never-made"}},
        "src-no-ref": {"url": server.git("good.git"), "ref": "no-such-branch"},
        "src-redirect": {"url": server.https("redirect/good.git"), "secretRef": {"name": "git-mine"}},
        "src-shut": {"url": f"https://{server.host}:8444/good.git"},
        "src-untrusted": {"url": server.https("good.git")},
        "src-planted": {"url": server.git("planted.git")},
        "src-hooked": {"url": server.git("hooked.git")},
    }
    for name in sources:
        installation.delete("run", name)
    manifests = [run_manifest(name, guild=GUILD, workspace={"git": git}) for name, git in sources.items()]
    installation.apply(*manifests)
    return {name: installation.wait_done(name, 240) for name in sources}


def _outputs(installation: Installation, name: str) -> list[str]:
    events = installation.events_of(name)
    return [event["output"] for event in events if event["type"] == "tool.finished"]


def test_a_branch_over_git_is_worked_on_by_its_own_git(
    installation: Installation, runs: dict[str, dict[str, Any]]
) -> None:
    run = runs["src-git"]
    assert condition(run, "Succeeded")["status"] == "True", installation.story("src-git")
    source = run["status"]["source"]
    assert source["ref"] == "refs/heads/feature/side"
    assert source["commit"] in condition(run, "WorkspaceReady")["message"]
    looked, worked, _, *_ = _outputs(installation, "src-git")
    assert source["commit"] in looked.splitlines()
    assert "side" in looked
    assert ".git" in looked
    assert looked.rstrip().endswith("10002"), "WG-03: git sees its own user, with no safe.directory"
    assert "README.md | 2 +-" in worked
    assert "1 file changed" in worked, "WG-07: nothing of ours is swept into the commit"
    assert "sesame" not in worked


def test_only_the_change_is_in_the_patch(installation: Installation, runs: dict[str, dict[str, Any]]) -> None:
    changes = installation.api(f"/api/runs/{installation.namespace}.src-git/changes").body
    assert [file["path"] for file in changes["files"] if not file["path"].startswith(".git/")] == ["README.md"]


def test_credentials_reach_the_server_and_nobody_else(
    installation: Installation, server: GitPod, runs: dict[str, dict[str, Any]]
) -> None:
    run = runs["src-https"]
    assert condition(run, "Succeeded")["status"] == "True", installation.story("src-https")
    assert "Basic" in server.requests(), "control: they did travel"
    found, control = _outputs(installation, "src-https")[2].split()[-2:]
    assert control == "1", "control: the search reads variables"
    assert found == "0", "no file, variable or process of the run pod has them"
    everything = [str(run), str(installation.events_of("src-https")), installation.story("src-https")]
    assert not any(PASSWORD in text for text in everything)


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("src-elsewhere", "WorkspaceFailed", "does not name"),
        ("src-no-secret", "MountFailed", f"there is no Secret 'never-made' in namespace '{NAMESPACE}'; create it"),
        ("src-no-ref", "WorkspaceFailed", "no branch or tag 'no-such-branch'"),
        ("src-redirect", "WorkspaceFailed", "redirects, which is not followed"),
        ("src-shut", "WorkspaceFailed", "fetcher.egress"),
        ("src-untrusted", "WorkspaceFailed", "certificate is not trusted"),
        ("src-planted", "WorkspaceFailed", "top-level '.orchestration'"),
        ("src-hooked", "WorkspaceFailed", "hasDotgit"),
    ],
)
def test_a_failed_fetch_says_why_and_leaves_nothing(
    installation: Installation, runs: dict[str, dict[str, Any]], name: str, reason: str, words: str
) -> None:
    run = runs[name]
    done = condition(run, "Succeeded")
    assert (done["status"], done["reason"]) == ("False", reason), done
    assert words in done["message"], done
    assert "attempts" not in run["status"], "no run pod was made"
    uid = run["metadata"]["uid"]
    expected = [f"configmap/{snapshot_name(name, uid)}"]
    assert remains_of(installation, name, expected) == expected


def test_a_secret_for_another_host_was_shown_to_nobody(server: GitPod, runs: dict[str, dict[str, Any]]) -> None:
    """O5, and the redirect: every request with credentials is for the one repository they are for."""
    with_credentials = [line for line in server.requests().splitlines() if not line.endswith(" -")]
    assert with_credentials
    assert all(line.split()[1].startswith("/private/mine.git/") for line in with_credentials), with_credentials


def test_the_shut_port_does_answer(installation: Installation, server: GitPod, runs: dict[str, dict[str, Any]]) -> None:
    """Control of src-shut: from a place whose egress nobody narrows the same address gives the repository."""
    url = "https://localhost:8444/good.git"
    words = ("env", "GIT_SSL_NO_VERIFY=1", "git", "ls-remote", url)
    assert "refs/heads/main" in server.cluster.execute(server.namespace, "git", *words).stdout
    assert all("good.git/info" not in line for line in server.requests().splitlines() if ":8444" in line)
