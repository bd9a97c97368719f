"""G1, G2: nothing a repository's git files say is run or followed by prepare, serve or diff."""

import os
import subprocess
from pathlib import Path

import pytest
from guildhall_contracts import frames
from guildhall_executor.changes import Change, examine
from guildhall_executor.patch import parse_patch
from support.workshop import prepare, running, snapshot

pytestmark = pytest.mark.go

CONFIG = """[core]
 fsmonitor = touch {mark}
 hooksPath = {hooks}
 sshCommand = touch {mark}
 pager = touch {mark}
 editor = touch {mark}
 attributesFile = {hooks}/attributes
[diff "x"]
 textconv = touch {mark}
[diff]
 external = touch {mark}
[filter "x"]
 clean = touch {mark}
 smudge = touch {mark}
 process = touch {mark}
 required = true
[alias]
 status = !touch {mark}
[include]
 path = {hooks}/more
"""


def plant(workspace: Path, mark: Path) -> None:
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    hooks = workspace / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "pre-commit", "post-index-change", "fsmonitor-watchman"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (hooks / name).chmod(0o755)
    (workspace / ".git" / "config").write_text(CONFIG.format(mark=mark, hooks=hooks))
    (workspace / ".gitattributes").write_text("* filter=x diff=x\n")
    (workspace / ".envrc").write_text(f"touch {mark}\n")
    (workspace / "file").write_text("one\n")


def test_g1_no_setting_of_the_repository_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "tmp" / "mark"
    (tmp_path / "workspace").mkdir()
    plant(tmp_path / "workspace", mark)
    with running(tmp_path) as shop, shop.client() as client:
        (shop.workspace / "file").write_text("two\n")
        client.call(frames.SearchRequest, pattern="two")
        client.call(frames.ListRequest, depth=5)
        patch = client.call(frames.DiffRequest).chunks
        assert b"+two" in patch
        assert not mark.exists()
        client.sh("git status; git diff")  # control: the traps do work, in the workshop's own shell
        assert mark.exists()


def test_g3_files_that_will_run_are_in_the_patch(tmp_path: Path) -> None:
    with running(tmp_path) as shop, shop.client() as client:
        names = [".envrc", "Makefile", ".github/workflows/ci.yml", "AGENTS.md", ".husky/pre-commit"]
        for name in names:
            (shop.workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (shop.workspace / name).write_text("run me\n")
        hook = shop.workspace / ".git" / "hooks" / "pre-commit"
        hook.parent.mkdir(parents=True)
        hook.write_text("run me\n")
        answer = client.call(frames.DiffRequest)
        marked = [change.name for change in parse_patch(answer.chunks) or [] if change.will_run]
        assert marked == sorted(names), "derived from the patch by trusted code"
        assert [line.partition(";")[0] for line in answer.last.omitted] == [".git/hooks/pre-commit: added"]


def test_g3_padding_hides_no_file_that_will_run(tmp_path: Path) -> None:
    """A patch over its bound is not kept, but every file of it is told."""
    with running(tmp_path) as shop, shop.client() as client:
        (shop.workspace / "Makefile").write_text("all:\n\ttouch /tmp/x\n")
        (shop.workspace / "padding.txt").write_text("x" * 99 + "\n")
        small = client.call(frames.DiffRequest)
        assert not small.last.too_large
        (shop.workspace / "padding.txt").write_text(("x" * 99 + "\n") * 100_000)
        answer = client.call(frames.DiffRequest)
        assert answer.last.too_large
        change = examine(answer.last, answer.chunks)
        assert isinstance(change, Change)
        assert {file.path: file.will_run for file in change.files} == {"Makefile": True, "padding.txt": False}


@pytest.mark.parametrize(
    "pointer",
    ["gitdir: {outside}", "gitdir: ../outside", "gitdir: /proc/self/cwd", "gitdir: \0", "gitdir: " + "../" * 500],
)
def test_g2_a_git_file_that_points_elsewhere_is_left_alone(tmp_path: Path, pointer: str) -> None:
    workspace, baseline, outside = tmp_path / "workspace", tmp_path / "baseline", tmp_path / "outside"
    for place in (workspace, baseline, outside, outside / "info"):
        place.mkdir()
    (outside / "info" / "exclude").write_text("theirs\n")
    (workspace / ".git").write_text(pointer.format(outside=outside) + "\n")
    before = snapshot(outside)
    done = prepare(workspace, baseline)
    assert done.returncode == 0, done.stdout
    assert b"left alone" in done.stdout
    assert snapshot(outside) == before


def as_worktree(workspace: Path) -> None:
    """The workspace as a worktree of a repository whose common directory is a folder of it."""
    store, spare = workspace / ".store", workspace / "spare"
    author = ["-c", "user.name=t", "-c", "user.email=t@example.test"]
    subprocess.run(["git", "init", "-q", "--bare", str(store)], check=True)
    empty = subprocess.run(["git", "-C", store, "mktree"], input=b"", check=True, capture_output=True).stdout.decode()
    made = ["git", "-C", store, *author, "commit-tree", "-m", "first", empty.strip()]
    first = subprocess.run(made, check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["git", "-C", store, "worktree", "add", "-q", "--detach", spare, first], check=True)
    (spare / ".git").unlink()
    spare.rmdir()
    (workspace / ".git").write_text("gitdir: .store/worktrees/spare\n")
    (store / "worktrees" / "spare" / "gitdir").write_text(f"{workspace}/.git\n")


@pytest.mark.parametrize("kind", ["plain", "worktree"])
def test_g2_control_the_exclude_file_git_reads_is_the_one_written(tmp_path: Path, kind: str) -> None:
    """Real git agrees, in a plain repository and in a worktree whose common directory lies inside the workspace."""
    workspace, baseline = tmp_path / "workspace", tmp_path / "baseline"
    workspace.mkdir()
    baseline.mkdir()
    if kind == "plain":
        subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    else:
        as_worktree(workspace)
    assert prepare(workspace, baseline).returncode == 0
    (workspace / ".orchestration").mkdir()
    (workspace / ".orchestration" / "journal").write_text("x")
    (workspace / "seen").write_text("x")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    command = ["git", "-C", str(workspace), "status", "--porcelain"]
    status = subprocess.run(command, check=True, capture_output=True, env=environment)
    found = status.stdout.decode().splitlines()
    assert "?? seen" in found, "positive control"
    assert "?? .orchestration/" not in found
