"""ssh:// against a real sshd: the key and the known host of the Secret, and neither anybody else's."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fetching import Pod
from support.publishing import BRANCH, PublishPod, Work
from support.repositories import Repository, ordinary
from support.sshd import Sshd, new_key, sshd


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("sshd")) as found:
        yield found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return ordinary(tmp_path_factory.mktemp("repositories"))


@pytest.fixture
def pod(tmp_path: Path, server: Sshd) -> Pod:
    host = f"127.0.0.1:{server.port}".encode()
    secret = {"host": host, "ssh-privatekey": server.private_key, "known_hosts": server.known_hosts}
    return Pod(tmp_path / "pod", secret=secret)


def _url(server: Sshd, made: Repository) -> str:
    return f"ssh://root@127.0.0.1:{server.port}{made.path}"


def test_the_key_of_the_secret_opens_it(pod: Pod, server: Sshd, made: Repository) -> None:
    assert pod.secret is not None
    pod.secret["ssh-privatekey"] = server.private_key.rstrip(b"\n")  # as a careless paste leaves it
    message = pod.fetch(_url(server, made), ref="v2")
    assert message.outcome == "fetched", pod.output
    assert message.source is not None
    assert message.source.commit == made.git("rev-parse", "v2^{commit}")
    assert b"PRIVATE KEY" not in b"".join(path.read_bytes() for path in pod.tree.rglob("*") if path.is_file())


def test_a_server_with_another_key_gets_nothing(pod: Pod, server: Sshd, made: Repository) -> None:
    assert pod.secret is not None
    other = server.known_hosts.split(b" ")
    pod.secret["known_hosts"] = b" ".join([other[0], other[1], b"AAAAC3NzaC1lZDI1NTE5AAAAI" + b"B" * 43])
    message = pod.fetch(_url(server, made))
    assert (message.outcome, "known_hosts" in message.message) == ("tls_failed", True)
    pod.secret["known_hosts"] = b"[127.0.0.2]:22 " + other[1] + b" " + other[2]
    assert pod.fetch(_url(server, made)).outcome == "tls_failed", "an unknown host is not trusted the first time"
    assert pod.left_nothing()


def test_a_key_it_does_not_know(pod: Pod, server: Sshd, made: Repository, tmp_path: Path) -> None:
    assert pod.secret is not None
    pod.secret["ssh-privatekey"] = new_key(tmp_path / "other").read_bytes()
    message = pod.fetch(_url(server, made))
    assert (message.outcome, "refuses the Secret" in message.message) == ("denied", True)
    pod.secret["ssh-privatekey"] = b"not a key"
    assert pod.fetch(_url(server, made)).outcome == "denied"


def test_no_such_repository(pod: Pod, server: Sshd, made: Repository) -> None:
    message = pod.fetch(f"{_url(server, made)}-none")
    assert (message.outcome, "no such repository" in message.message) == ("denied", True), pod.output


def test_a_branch_is_pushed_with_the_key_and_with_no_other(
    pod: Pod, server: Sshd, made: Repository, tmp_path: Path
) -> None:
    work = Work.of(made, tmp_path / "work")
    (work.folder / "README.md").write_text("mended\n")
    assert pod.secret is not None
    publisher = PublishPod(tmp_path / "publisher", secret=dict(pod.secret))
    message = publisher.publish(_url(server, made), work.commit, work.patch())
    assert message.outcome == "published", publisher.output
    assert made.git("rev-parse", f"refs/heads/{BRANCH}") == message.commit
    assert "PRIVATE KEY" not in publisher.output + message.model_dump_json()
    made.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    other = PublishPod(
        tmp_path / "other-pod", secret={**pod.secret, "ssh-privatekey": new_key(tmp_path / "k").read_bytes()}
    )
    refused = other.publish(_url(server, made), work.commit, work.patch())
    assert (refused.outcome, "refuses the Secret" in refused.message) == ("failed", True), refused
    assert BRANCH not in made.git("for-each-ref")
