"""What a fetch brings, against real servers: the commit asked for, a `.git` of our own, and nothing beside it."""

import os
from pathlib import Path

import pytest
from guildhall_contracts.snapshot import WORKSHOP_UID
from support.fetching import Pod, Servers
from support.repositories import ordinary, repository


@pytest.fixture(scope="module", autouse=True)
def good(served: Servers) -> dict[str, str]:
    """Ids of what the good repository names."""
    made = ordinary(served.root)
    return {name: made.git("rev-parse", f"{name}^{{commit}}") for name in ("main", "feature/side", "v1", "v2")}


@pytest.mark.parametrize("way", ["https", "git"])
def test_head_arrives_whole(pod: Pod, served: Servers, good: dict[str, str], way: str) -> None:
    message = pod.fetch(getattr(served, way)("good.git"))
    assert message.outcome == "fetched", message
    assert message.source is not None
    assert (message.source.commit, message.source.ref) == (good["main"], "refs/heads/main")
    assert (message.source.files, message.source.content_bytes) == (2, 13)
    assert (pod.tree / "README.md").read_bytes() == b"two\n"
    assert pod.git("status", "--porcelain=v1", "--branch") == "## main"
    assert pod.git("rev-parse", "HEAD") == good["main"]
    assert pod.git("log", "--format=%s") == "one", "depth 1 is one commit"
    assert sorted(path.name for path in pod.workspace.iterdir()) == ["baseline", "tree"]
    assert list((pod.workspace / "baseline").iterdir()) == []


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ("main", "refs/heads/main"),
        ("feature/side", "refs/heads/feature/side"),
        ("v1", "refs/tags/v1"),
        ("v2", "refs/tags/v2"),
        ("refs/tags/v2", "refs/tags/v2"),
    ],
)
def test_a_ref_is_a_branch_a_tag_or_a_full_name(
    pod: Pod, served: Servers, good: dict[str, str], ref: str, name: str
) -> None:
    source = pod.fetch(served.git("good.git"), ref=ref).source
    assert source is not None
    assert (source.commit, source.ref) == (good[ref.removeprefix("refs/tags/")], name)
    assert pod.git("rev-parse", "--abbrev-ref", "HEAD") == (ref if "heads" in name else "HEAD")
    if "tags" in name:
        assert pod.git("cat-file", "-t", name) == ("tag" if "v2" in name else "commit")


def test_a_full_commit_id_is_fetched_and_nothing_else_passes_for_it(
    pod: Pod, served: Servers, good: dict[str, str]
) -> None:
    source = pod.fetch(served.https("good.git"), ref=good["v1"]).source
    assert source is not None
    assert (source.commit, source.ref) == (good["v1"], "")
    assert pod.git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
    assert (pod.tree / "README.md").read_bytes() == b"one\n"
    other = pod.fetch(served.https("good.git"), ref="0" * 39 + "1")
    assert other.outcome == "ref_not_found"
    assert pod.left_nothing()


def test_a_branch_wins_over_a_tag_of_its_name(pod: Pod, served: Servers) -> None:
    made = ordinary(served.root, "twice.git")
    (made.path / "refs/tags/main").write_text(made.git("rev-parse", "v1") + "\n")
    source = pod.fetch(served.git("twice.git"), ref="main").source
    assert source is not None
    assert (source.ref, source.commit) == ("refs/heads/main", made.git("rev-parse", "refs/heads/main"))


def test_depth_is_how_much_history_there_is(pod: Pod, served: Servers) -> None:
    assert pod.fetch(served.git("good.git"), depth=2).outcome == "fetched"
    assert len(pod.git("log", "--format=%H").splitlines()) == 2


def test_files_keep_mode_link_and_bytes(pod: Pod, served: Servers) -> None:
    made = repository(served.root, "modes.git")
    mixed = b"a\r\nb\xff\n"
    made.commit(
        made.tree(
            ("100644", "gr\u00fc\u00df.txt".encode(), made.blob(mixed)),
            ("120000", b"link", made.blob(b"run")),
            ("100755", b"run", made.blob(b"#!/bin/sh\n")),
        )
    )
    assert pod.fetch(served.git("modes.git")).outcome == "fetched"
    assert os.access(pod.tree / "run", os.X_OK)
    assert (pod.tree / "link").readlink() == Path("run")
    assert (pod.tree / "gr\u00fc\u00df.txt").read_bytes() == mixed


def test_what_was_left_out_is_said(pod: Pod, served: Servers) -> None:
    """WG-04, WG-05: pointers stay pointers; submodules are folders, without one question for a password."""
    made = repository(served.root, "partly.git")
    pointer = made.blob(b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12\n")
    modules = made.blob(
        b'[submodule "a b"]\n\tpath = lib/a b\n\turl = ext::sh -c "touch /tmp/gotcha"\n'
        b'[submodule "c"]\n\tpath = c\n\turl = https://127.0.0.1:1/none\n'
    )
    inner = made.tree(("160000", b"a b", "1" * 40), ("100644", b"keep", made.blob(b"k")))
    made.commit(
        made.tree(
            ("100644", b".gitattributes", made.blob(b"*.bin filter=lfs diff=lfs merge=lfs -text\n")),
            ("100644", b".gitmodules", modules),
            ("100644", b"big.bin", pointer),
            ("160000", b"c", "2" * 40),
            ("40000", b"lib", inner),
        )
    )
    source = pod.fetch(served.https("partly.git")).source
    assert source is not None
    assert (source.lfs_files, source.lfs_paths) == (1, ["big.bin"])
    assert (source.submodules, sorted(source.submodule_paths)) == (2, ["c", "lib/a b"])
    assert (pod.tree / "big.bin").read_bytes().startswith(b"version https://git-lfs")
    assert list((pod.tree / "lib/a b").iterdir()) == []
    assert pod.git("status", "--porcelain=v1") == "", "no change is shown for what was left out"


def test_the_config_that_stays_is_ours(pod: Pod, served: Servers) -> None:
    assert pod.fetch(served.https("good.git")).outcome == "fetched"
    lines = sorted(pod.git("config", "--local", "--list").splitlines())
    assert lines == [
        "core.bare=false",
        "core.filemode=true",
        "core.logallrefupdates=true",
        "core.repositoryformatversion=0",
        "remote.origin.fetch=+refs/heads/*:refs/remotes/origin/*",
        f"remote.origin.url={served.https('good.git')}",
    ]
    assert not (pod.tree / ".git" / "hooks").exists()


def test_a_second_attempt_starts_from_nothing(pod: Pod, served: Servers) -> None:
    """What a pod that was killed left is not mixed with what the next one brings."""
    (pod.workspace / ".fetch-1" / "deep").mkdir(parents=True)
    (pod.workspace / ".fetch-1" / "deep" / "half").write_text("half")
    (pod.workspace / "tree").mkdir()
    (pod.workspace / "tree" / "stale").write_text("stale")
    (pod.workspace / "lost+found").mkdir()
    assert pod.fetch(served.git("good.git"), attempt=2).outcome == "fetched"
    assert sorted(path.name for path in pod.workspace.iterdir()) == ["baseline", "lost+found", "tree"]
    assert not (pod.tree / "stale").exists()


def test_the_workshops_user_owns_the_tree(pod: Pod, served: Servers) -> None:
    """WG-03: in the pod both are uid 10002; here the tree belongs to whoever ran the fetcher, never to another."""
    assert WORKSHOP_UID == 10_002
    pod.fetch(served.git("good.git"))
    owners = {path.lstat().st_uid for path in [pod.tree, *pod.tree.rglob("*")]}
    assert owners == {os.getuid()}
