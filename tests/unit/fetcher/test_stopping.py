"""Told to end, both programs end at once: nothing more is begun, and only what is known is said."""

import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import cast

import pytest
from guildhall_contracts.fetch import GitUrl
from guildhall_contracts.publish import PublishRequest
from guildhall_fetcher import publish, stopping
from guildhall_fetcher.git import Git
from guildhall_fetcher.places import Places
from guildhall_fetcher.process import Deadline
from guildhall_fetcher.publish import Publication
from guildhall_fetcher.stopping import Stopped
from support.cluster import eventually
from support.fetching import Pod, Servers
from support.publishing import BRANCH, PublishPod, Work
from support.repositories import Repository, ordinary

STOPPED = 143
AT_ONCE_SECONDS = 3.0


@pytest.fixture
def repository(served: Servers, tmp_path: Path) -> Repository:
    made = ordinary(served.root, f"{tmp_path.name}.git")
    made.git("config", "daemon.receivepack", "true")
    return made


@pytest.fixture
def work(repository: Repository, tmp_path: Path) -> Work:
    found = Work.of(repository, tmp_path / "work")
    (found.folder / "README.md").write_text("mended\n")
    return found


@pytest.fixture
def publisher(tmp_path: Path, served: Servers) -> PublishPod:
    return PublishPod(tmp_path / "publish", ca=served.ca)


def stopped(running: subprocess.Popen[str]) -> float:
    """Seconds from SIGTERM to the end."""
    began = time.monotonic()
    running.terminate()
    running.communicate(timeout=60)
    return time.monotonic() - began


def held_at(
    hook: str, served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> subprocess.Popen[str]:
    """A publisher whose push waits in that hook of the server."""
    repository.hold(hook)
    running = publisher.begin(served.git(repository.path.name), work.commit, work.patch())
    eventually((repository.path / "reached").exists, 30)
    return running


def is_made(repository: Repository) -> bool:
    return f"refs/heads/{BRANCH}" in repository.git("for-each-ref", "--format=%(refname)").splitlines()


def children_of(running: subprocess.Popen[str]) -> set[int]:
    found = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text()
    return {int(pid) for pid in found.split()}


def all_ended(pids: set[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.parametrize("kind", ["fetch", "publish"])
def test_one_that_waits_for_a_server_ends_without_a_word(pod: Pod, publisher: PublishPod, kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(30)
        url = f"git://127.0.0.1:{silent.getsockname()[1]}/x.git"
        running = pod.begin(url) if kind == "fetch" else publisher.begin(url, "a" * 40, b"x")
        first, _ = silent.accept()  # ours, to see that the host is there
        second, _ = silent.accept()  # git's
        git = children_of(running)
        assert git, "control: git is at work"
        assert stopped(running) < AT_ONCE_SECONDS
        first.close()
        second.close()
    used = pod if kind == "fetch" else publisher
    assert running.returncode == STOPPED
    assert all_ended(git)
    assert not (used.folder / "message").exists(), "whoever reads nothing knows that nothing is known"
    assert used.left_nothing()


def test_a_push_the_server_has_not_taken_is_no_branch_of_ours_yet(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    running = held_at("pre-receive", served, repository, work, publisher)
    assert stopped(running) < AT_ONCE_SECONDS
    assert running.returncode == STOPPED
    assert not (publisher.folder / "message").exists()
    assert publisher.left_nothing()
    assert not is_made(repository)
    (repository.path / "go").touch()


def test_a_push_the_server_has_taken_is_told(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    running = held_at("post-receive", served, repository, work, publisher)
    assert is_made(repository)
    assert stopped(running) < AT_ONCE_SECONDS
    message = publisher.word(running.returncode)
    assert message.outcome == "published"
    assert repository.git("rev-parse", f"refs/heads/{BRANCH}") == message.commit
    (repository.path / "go").touch()


def test_a_push_the_server_took_in_time_is_told_though_its_answer_came_too_late(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod
) -> None:
    """The same without a signal: the publisher's own time is over while the server is still at its hook."""
    repository.hold("post-receive")
    message = publisher.publish(served.git(repository.path.name), work.commit, work.patch(), timeoutSeconds=3)
    assert is_made(repository)
    assert message.outcome == "published"
    (repository.path / "go").touch()


@pytest.mark.parametrize(("left", "at_once", "seconds"), [(60, False, 60), (60, True, 4), (1, False, 4)])
def test_how_long_a_branch_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, left: int, at_once: bool, seconds: float
) -> None:
    """Briefly where the process is to end, or its time is over; else a slow server has all the time there is."""
    looked: list[float] = []

    def look(publication: Publication, _: str) -> bool:
        looked.append(publication.git.deadline.left())
        return True

    monkeypatch.setattr(publish, "_is_there", look)
    git = Git(GitUrl("https", "", "git.example.test", 443, "/x.git"), cast("Places", None), Deadline.after(left))
    publish._was_made(Publication(cast("PublishRequest", None), b"", git), "a" * 40, at_once=at_once)
    assert looked == [pytest.approx(seconds, abs=0.5)]


def test_told_to_end_while_it_looks_it_looks_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The push failed without an answer; the signal comes in the look that follows."""
    looks: list[bool] = []

    def look(publication: Publication, _: str) -> bool:
        looks.append(publication.git.deadline.left() < 10)
        if len(looks) == 1:
            raise Stopped(STOPPED)
        return True

    monkeypatch.setattr(publish, "_is_there", look)
    git = Git(GitUrl("https", "", "git.example.test", 443, "/x.git"), cast("Places", None), Deadline.after(60))
    publication = Publication(cast("PublishRequest", None), b"", git)
    assert publish._was_made(publication, "a" * 40, at_once=False)
    assert looks == [False, True], "the second look is a short one"


TELL = """
import os, signal, subprocess
def tell():
    os.kill(os.getpid(), signal.SIGTERM)
"""
IN_VOLUME = """
from guildhall_fetcher import volume
real = volume.{step}
volume.{step} = lambda places: (tell(), real(places))
"""
AT_PUSH = """
real = subprocess.Popen.__init__
def started(self, words, *rest, **named):
    real(self, words, *rest, **named)
    if "push" in words:
        tell()
subprocess.Popen.__init__ = started
"""
AT_WORD = """
from guildhall_fetcher import publish_program
real = publish_program.encoded
publish_program.encoded = lambda message: (tell(), real(message))[1]
"""
MOMENTS = {  # where the signal comes: what makes it come there, and whether the push is made by then
    "before it has read what is asked": ("from guildhall_fetcher import stopping\nstopping.listen()\ntell()", False),
    "as it clears its folder": (IN_VOLUME.format(step="stage"), False),
    "as git is started to push": (AT_PUSH, False),
    "as it clears up after the push": (IN_VOLUME.format(step="discard"), True),
    "as it writes its word": (AT_WORD, True),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_is_told_is_so_wherever_the_signal_comes(
    served: Servers, repository: Repository, work: Work, publisher: PublishPod, moment: str
) -> None:
    """A step that has begun is ended, and after the push there is none that could lose its word."""
    prelude, made = MOMENTS[moment]
    publisher.prelude = TELL + prelude
    running = publisher.begin(served.git(repository.path.name), work.commit, work.patch())
    running.communicate(timeout=60)
    assert running.returncode == (0 if made else STOPPED)
    assert publisher.left_nothing()
    if made:
        assert publisher.word(0).outcome == "published"
    time.sleep(0 if made else 1.0)  # a git that was left behind would push now
    assert is_made(repository) == made


def test_a_signal_is_told_once_and_at_once_where_somebody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = signal.getsignal(signal.SIGTERM)
    try:
        stopping.listen()
        began = time.monotonic()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
        with pytest.raises(Stopped), stopping.waiting():
            time.sleep(5)
        assert time.monotonic() - began < 1
        os.kill(os.getpid(), signal.SIGTERM)
        with stopping.waiting():
            time.sleep(0.05)
        stopping.listen()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.05)
        with pytest.raises(Stopped), stopping.waiting():
            raise AssertionError("it was told before")
    finally:
        signal.signal(signal.SIGTERM, kept)
