"""What is pushed, where, and what a person reads when nothing is: real servers and real git."""

import hashlib
import os
import re
import shutil
import socket
from pathlib import Path

import pytest
from guildhall_contracts.publish import PublishMessage
from support.fetching import Servers
from support.publishing import AT, BRANCH, MIB, UID, PublishPod, Work
from support.repositories import Repository, ordinary

PASSWORD = "sesame-open-sesame"
READ_ONLY = "look-but-do-not-touch"


@pytest.fixture
def repository(served: Servers, request: pytest.FixtureRequest) -> Repository:
    """A repository of the test's own, which anybody may push to over git://."""
    name = f"{re.sub('[^a-z0-9]+', '-', request.node.name.lower())[:80]}.git"
    shutil.rmtree(served.root / name, ignore_errors=True)
    made = ordinary(served.root, name)
    made.git("config", "daemon.receivepack", "true")
    return made


@pytest.fixture
def work(repository: Repository, tmp_path: Path) -> Work:
    return Work.of(repository, tmp_path / "work")


@pytest.fixture
def publisher(tmp_path: Path, served: Servers) -> PublishPod:
    return PublishPod(tmp_path / "pod", ca=served.ca)


def heads(repository: Repository) -> dict[str, str]:
    lines = repository.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split(" ") for line in lines)


def refused(message: PublishMessage, outcome: str, *words: str) -> None:
    assert message.outcome == outcome, message
    assert all(word in message.message for word in words), message
    assert message.commit is None


def test_the_commit_is_the_base_and_the_patch(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    before = heads(repository)
    (work.folder / "README.md").write_text("mended\n")
    (work.folder / "new file").write_bytes(b"\x00\x01\xff" * 100)
    (work.folder / "src" / "app.py").chmod(0o755)
    patch = work.patch()
    message = publisher.publish(served.git(repository.path.name), work.commit, patch)
    assert message.outcome == "published", (message, publisher.output)
    assert heads(repository) == {**before, f"refs/heads/{BRANCH}": message.commit}, "one branch, and no other ref"
    said = repository.git("cat-file", "-p", message.commit or "").splitlines()
    assert f"tree {work.tree()}" in said, "the very tree the workspace had"
    assert f"parent {work.commit}" in said
    assert [line.split(" <")[0] for line in said[2:4]] == ["author Guildhall", "committer Guildhall"]
    assert said[5:] == ["Mend it", "", "Guildhall-Run: team/fix", f"Guildhall-Run-UID: {UID}",
                        f"Guildhall-Patch-SHA256: {hashlib.sha256(patch).hexdigest()}"]  # fmt: skip
    repository.git("fsck", "--strict")


def test_a_second_try_finds_its_own_commit(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    (work.folder / "README.md").write_text("mended\n")
    patch, commit = work.patch(), work.commit
    first = publisher.publish(served.git(repository.path.name), commit, patch)
    before = heads(repository)
    repository.git("config", "daemon.receivepack", "false")  # it would be refused if it pushed
    second = publisher.publish(served.git(repository.path.name), commit, patch)
    assert (second.outcome, second.commit) == ("published", first.commit)
    assert heads(repository) == before


def test_a_branch_of_somebody_else_is_left_alone(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    repository.git("update-ref", f"refs/heads/{BRANCH}", work.commit)  # an ancestor: a plain push would move it
    before = heads(repository)
    (work.folder / "README.md").write_text("mended\n")
    message = publisher.publish(served.git(repository.path.name), work.commit, work.patch())
    refused(message, "branch_taken", BRANCH, "nothing was overwritten")
    assert heads(repository) == before


def test_a_tag_of_that_name_is_no_branch(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    repository.git("update-ref", f"refs/tags/{BRANCH}", work.commit)
    (work.folder / "README.md").write_text("mended\n")
    message = publisher.publish(served.git(repository.path.name), work.commit, work.patch())
    assert message.outcome == "published", message
    assert heads(repository)[f"refs/tags/{BRANCH}"] == work.commit
    assert heads(repository)[f"refs/heads/{BRANCH}"] == message.commit


def test_the_base_is_the_commit_of_the_run_wherever_the_branch_went(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    base = work.commit
    (work.folder / "README.md").write_text("mended\n")
    patch = work.patch()
    repository.files({"README.md": b"somebody else\n"}, parent=base)
    message = publisher.publish(served.git(repository.path.name), base, patch)
    assert message.outcome == "published", message
    assert repository.git("rev-parse", f"{message.commit}^") == base
    repository.git("update-ref", "refs/heads/main", base)


def test_a_commit_the_server_no_longer_has(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    (work.folder / "README.md").write_text("mended\n")
    message = publisher.publish(served.git(repository.path.name), "1" * 40, work.patch())
    refused(message, "failed", "does not give out the commit 111111111111")


def test_a_repository_larger_than_its_room_and_one_that_never_answers(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    base = repository.files({"big": os.urandom(3 * MIB), "README.md": b"two\n"}, ref="refs/heads/big")
    url, patch = served.git(repository.path.name), _changed("README.md", "two", "mended")
    refused(publisher.publish(url, base, patch, maxBytes=MIB), "failed", "storage.size")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        message = publisher.publish(f"git://127.0.0.1:{silent.getsockname()[1]}/x.git", base, patch, timeoutSeconds=1)
    refused(message, "failed", "could not be pushed within 1 s", "fetcher.timeoutSeconds")
    assert publisher.publish(url, base, patch).outcome == "published", "control"


def test_other_bytes_than_those_named(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    (work.folder / "README.md").write_text("mended\n")
    message = publisher.publish(
        served.git(repository.path.name), work.commit, work.patch(), patchSHA256="0" * 64, timeoutSeconds=5
    )
    refused(message, "unsound", "not the one the Run ended with")
    assert f"refs/heads/{BRANCH}" not in heads(repository)


LINE_ENDS = b"one\r\ntwo\r\nthree\nfour"


@pytest.mark.parametrize("attributes", ["", "* text=auto eol=crlf ident\n*.txt filter=evil diff=evil merge=evil\n"])
def test_bytes_stay_bytes_whatever_attributes_say(
    served: Servers, repository: Repository, tmp_path: Path, publisher: PublishPod, attributes: str
) -> None:
    files = {"a.txt": LINE_ENDS, "b.txt": b"$Id$\n", ".gitattributes": attributes.encode()}
    base = repository.files(files, ref="refs/heads/ends")
    work = Work.of(repository, tmp_path / "ends", "ends")
    work.git("config", "core.attributesFile", "/dev/null")
    shutil.rmtree(work.folder / ".git" / "info", ignore_errors=True)
    blob = repository.blob(LINE_ENDS.replace(b"two\r\n", b"2\r\n"))
    patch = (
        b"diff --git a/a.txt b/a.txt\nindex %b..%b 100644\n--- a/a.txt\n+++ b/a.txt\n"
        b"@@ -1,4 +1,4 @@\n one\r\n-two\r\n+2\r\n"
        b" three\n four\n\\ No newline at end of file\n" % (repository.blob(LINE_ENDS).encode(), blob.encode())
    )
    message = publisher.publish(served.git(repository.path.name), base, patch)
    assert message.outcome == "published", message
    assert repository.git("rev-parse", f"{message.commit}:a.txt") == blob


def test_links_types_deletions_and_modes(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    (work.folder / "README.md").unlink()
    (work.folder / "README.md").symlink_to("src/app.py")
    (work.folder / "src" / "up").symlink_to("../README.md")
    (work.folder / "src" / "app.py").unlink()
    (work.folder / 'zeile\n"ä"').write_text("odd name\n")
    (work.folder / "empty").touch()
    patch = work.patch()
    message = publisher.publish(served.git(repository.path.name), work.commit, patch)
    assert message.outcome == "published", message
    assert repository.git("rev-parse", f"{message.commit}^{{tree}}") == work.tree()


def test_pointers_and_submodules_stay_what_they_are(
    served: Servers, repository: Repository, tmp_path: Path, publisher: PublishPod
) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"1" * 64 + b"\nsize 9000000\n"
    attributes = b"*.bin filter=lfs diff=lfs merge=lfs -text\n"
    blobs = {b".gitattributes": attributes, b"README.md": b"two\n", b"model.bin": pointer}
    entries = [("100644", name, repository.blob(content)) for name, content in blobs.items()]
    module = ("160000", b"some module", "2" * 40)
    base = repository.commit(repository.tree(*entries, module), ref="refs/heads/heavy")
    patch = _changed("README.md", "two", "mended")
    message = publisher.publish(served.git(repository.path.name), base, patch)
    assert message.outcome == "published", message
    listed = repository.git("ls-tree", message.commit or "").splitlines()
    assert f"160000 commit {'2' * 40}\tsome module" in listed
    assert f"100644 blob {repository.blob(pointer)}\tmodel.bin" in listed
    assert repository.git("diff", "--name-only", base, message.commit or "") == "README.md"


def _blob(content: str) -> str:
    return hashlib.sha1(f"blob {len(content)}\0{content}".encode(), usedforsecurity=False).hexdigest()


def _changed(path: str, old: str, new: str) -> bytes:
    return (
        f"diff --git a/{path} b/{path}\nindex {_blob(old + chr(10))}..{_blob(new + chr(10))} 100644\n--- a/{path}\n"
        f"+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+{new}\n"
    ).encode()


def _new(path: str, content: str = "x", mode: str = "100644") -> bytes:
    blob = hashlib.sha1(f"blob {len(content)}\0{content}".encode(), usedforsecurity=False).hexdigest()
    return (
        f"diff --git a/{path} b/{path}\nnew file mode {mode}\nindex {'0' * 40}..{blob}\n--- /dev/null\n+++ b/{path}\n"
        f"@@ -0,0 +1 @@\n+{content}\n\\ No newline at end of file\n"
    ).encode()


HOSTILE: dict[str, bytes] = {
    "git's own": _new(".git/hooks/pre-push"),
    "git's own, in other letters": _new(".GIT/config"),
    "git's own, deeper": _new("src/.git/config"),
    "git's own, as Windows reads it": _new("git~1/config"),
    "git's own, with a sign nobody sees": _new(".g\u200cit/config"),
    "out of the tree": _new("../outside"),
    "out of the tree, from inside": _new("src/../../outside"),
    "an absolute path": _new("/etc/cron.d/x"),
    "ours": _new(".orchestration/x"),
    "a link out": _new("link", "../outside", "120000"),
    "a link to a place of the machine": _new("link", "/etc/passwd", "120000"),
    "a link that climbs behind another link": _new("link", "src/../../outside", "120000"),
    "a link into git's own": _new("link", ".git/hooks", "120000"),
    "a submodule": _new("module", f"Subproject commit {'1' * 40}", "160000"),
    "a rename": b"diff --git a/README.md b/else\nsimilarity index 100%\nrename from README.md\nrename to else\n",
    "a copy": b"diff --git a/README.md b/else\nsimilarity index 100%\ncopy from README.md\ncopy to else\n",
    "a name of its own below a harmless one": _new("harmless").replace(b"+++ b/harmless", b"+++ b/Makefile"),
    "a plain diff without a head": b"--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-two\n+evil\n",
    "a second file behind the first": _new("harmless")
    + b"--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-two\n+evil\n",
    "another base": _new("README.md"),
    "no patch": b"\x00\x01 just noise\n",
    "nothing": b"",
    "other content than its blob": _new("harmless").replace(b"+x\n", b"+y\n"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_no_branch_may_hold(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod, what: str
) -> None:
    before = heads(repository)
    message = publisher.publish(served.git(repository.path.name), work.commit, HOSTILE[what])
    refused(message, "unsound")
    assert heads(repository) == before
    control = publisher.publish(served.git(repository.path.name), work.commit, _new("harmless"))
    assert control.outcome == "published", "control: the same place takes a harmless patch"


def test_nothing_of_the_repository_runs(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod, tmp_path: Path
) -> None:
    """Hooks and configuration of the served repository are the server's: the publisher's own repository has none."""
    ran = tmp_path / "ran"
    for name in ("pre-push", "post-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
        hook = repository.path / "hooks" / name
        hook.write_text(f'#!/bin/sh\n[ -n "$GIT_WORK_TREE$GUILDHALL_PUBLISH" ] && touch {ran}\nexit 0\n')
        hook.chmod(0o755)
    (work.folder / ".gitattributes").write_text("* filter=evil diff=evil\n")
    (work.folder / ".gitconfig").write_text(f'[filter "evil"]\n\tclean = touch {ran}\n')
    publisher.environment = {"GIT_EXTERNAL_DIFF": f"touch {ran}", "GIT_SSH_COMMAND": f"touch {ran}",
                             "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath",
                             "GIT_CONFIG_VALUE_0": str(repository.path / "hooks")}  # fmt: skip
    message = publisher.publish(served.git(repository.path.name), work.commit, work.patch())
    assert message.outcome == "published", message
    assert not ran.exists()


def test_a_server_that_takes_nothing(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    (work.folder / "README.md").write_text("mended\n")
    url, patch = served.git(repository.path.name), work.patch()
    repository.git("config", "daemon.receivepack", "false")
    refused(publisher.publish(url, work.commit, patch), "failed", "lets nobody push without credentials")
    repository.git("config", "daemon.receivepack", "true")
    hook = repository.path / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho secret-words-of-the-server\nexit 1\n")
    hook.chmod(0o755)
    message = publisher.publish(url, work.commit, patch)
    refused(message, "failed", "hook", "refuse the branch")
    assert "secret-words" not in message.message
    hook.unlink()
    assert publisher.publish(url, work.commit, patch).outcome == "published", "control"


def test_a_branch_in_the_way_of_the_folder(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    repository.git("update-ref", "refs/heads/guildhall", work.commit)
    (work.folder / "README.md").write_text("mended\n")
    message = publisher.publish(served.git(repository.path.name), work.commit, work.patch())
    refused(message, "failed", "called 'guildhall'")


@pytest.fixture
def private(served: Servers, publisher: PublishPod) -> Repository:
    """A repository behind two passwords: one may read, one may push."""
    shutil.rmtree(served.root / "private" / "mine.git", ignore_errors=True)
    made = ordinary(served.root, "private/mine.git")
    (served.root / "private" / ".login").write_text(f"robot:{READ_ONLY}\n")
    (served.root / "private" / ".push").write_text(f"robot:{PASSWORD}\n")
    host = f"localhost:{served.https_port}".encode()
    publisher.secret = {
        "host": host,
        "username": b"robot",
        "password": PASSWORD.encode(),
        "ca.crt": served.ca.read_bytes(),
    }
    return made


def test_credentials_that_may_push(served: Servers, private: Repository, tmp_path: Path, publisher: PublishPod) -> None:
    work = Work.of(private, tmp_path / "work")
    (work.folder / "big").write_bytes(os.urandom(3 * 1024 * 1024))
    patch = work.patch()
    message = publisher.publish(served.https("private/mine.git"), work.commit, patch)
    assert message.outcome == "published", (message, publisher.output)
    assert private.git("rev-parse", f"refs/heads/{BRANCH}^{{tree}}") == work.tree()
    assert PASSWORD not in publisher.output
    left = [path for path in publisher.folder.rglob("*") if path.is_file() and path.parent.name != "secret"]
    assert not any(PASSWORD.encode() in path.read_bytes() for path in left)


@pytest.mark.parametrize(
    "case",
    [
        ({"password": READ_ONLY.encode()}, ("does not let", "push")),
        ({"password": b"wrong"}, ("refuses the Secret's credentials",)),
        ({"host": b"git.example.test"}, ("does not name", "nothing of it was sent")),
        ({"ca.crt": b""}, ("certificate is not trusted",)),
    ],
)
def test_credentials_that_may_not(
    served: Servers, private: Repository, tmp_path: Path, publisher: PublishPod,
    case: tuple[dict[str, bytes], tuple[str, ...]],
) -> None:  # fmt: skip
    change, words = case
    work = Work.of(private, tmp_path / "work")
    (work.folder / "README.md").write_text("mended\n")
    assert publisher.secret is not None
    publisher.secret |= change
    if "ca.crt" in change:
        publisher.ca = None
    message = publisher.publish(served.https("private/mine.git"), work.commit, work.patch())
    refused(message, "failed", *words)
    assert f"refs/heads/{BRANCH}" not in heads(private)
    shown = message.model_dump_json() + publisher.output
    assert not any(value in shown for value in (PASSWORD, READ_ONLY))


def test_a_redirect_is_not_followed(
    served: Servers, private: Repository, tmp_path: Path, publisher: PublishPod
) -> None:
    work = Work.of(private, tmp_path / "work")
    (work.folder / "README.md").write_text("mended\n")
    (served.root / "redirect.to").write_text(f"https://127.0.0.1:{served.https_port}")
    asked = len(served.requests)
    message = publisher.publish(served.https("redirect/private/mine.git"), work.commit, work.patch())
    refused(message, "failed", "redirects, which is not followed")
    assert all(" /redirect/" in line for line in served.requests[asked:]), "the other place was never asked"


def test_the_same_run_makes_the_same_commit_and_another_time_another(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    (work.folder / "README.md").write_text("mended\n")
    url, patch = served.git(repository.path.name), work.patch()
    first = publisher.publish(url, work.commit, patch, at=AT)
    again = publisher.publish(url, work.commit, patch, at="2026-03-01T12:00:01Z")
    refused(again, "branch_taken")
    assert first.commit == repository.git("rev-parse", f"refs/heads/{BRANCH}")
