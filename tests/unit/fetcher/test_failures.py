"""What a person reads when a fetch fails: each cause by a real server or a real refusal, and nothing left behind."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from guildhall_contracts.fetch import FetchedSource, FetchMessage
from guildhall_contracts.gate import decode_message
from guildhall_contracts.limits import TERMINATION_MESSAGE_MAX_BYTES
from guildhall_fetcher.fetch_program import encoded
from support.fetching import Pod, Servers, free_port
from support.repositories import ordinary, repository

PASSWORD = "sesame-open-sesame"


@pytest.fixture(scope="module", autouse=True)
def _repositories(served: Servers) -> None:
    ordinary(served.root)
    ordinary(served.root, "private/mine.git")
    (served.root / "private" / ".login").write_text(f"robot:{PASSWORD}\n")
    repository(served.root, "empty.git")


@contextmanager
def listener(*, answer: bool) -> Iterator[int]:
    """A port that takes connections and closes them, or never says a word."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                if answer:
                    connection.close()
                else:
                    held.append(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in held:
            connection.close()


def _expect(pod: Pod, message: FetchMessage, outcome: str, *words: str) -> None:
    assert message.outcome == outcome, (message, pod.output)
    for word in words:
        assert word in message.message, message
    assert pod.left_nothing()
    assert PASSWORD not in pod.output


def test_no_such_host(pod: Pod) -> None:
    _expect(pod, pod.fetch("https://no-such-host.invalid/x.git"), "host_not_found", "no-such-host.invalid")


def test_nobody_listens(pod: Pod) -> None:
    port = free_port()
    message = pod.fetch(f"https://127.0.0.1:{port}/x.git")
    _expect(pod, message, "unreachable", f"127.0.0.1:{port}", "fetcher.egress")
    assert message.elapsed_milliseconds >= 2_500, "three tries with pauses between"


def test_a_certificate_nobody_here_trusts(pod: Pod, served: Servers) -> None:
    pod.ca = None
    _expect(pod, pod.fetch(served.https("good.git")), "tls_failed", "fetcher.caBundle", "ca.crt")
    pod.secret = {"host": f"localhost:{served.https_port}".encode(), "ca.crt": served.ca.read_bytes()}
    assert pod.fetch(served.https("good.git")).outcome == "fetched", "the Secret's own CA is enough"


def test_no_such_repository(pod: Pod, served: Servers) -> None:
    _expect(pod, pod.fetch(served.https("none.git")), "denied", "no such repository")
    _expect(pod, pod.fetch(served.git("none.git")), "denied", "no such repository")


def test_credentials_are_needed_refused_or_right(pod: Pod, served: Servers) -> None:
    url = served.https("private/mine.git")
    _expect(pod, pod.fetch(url), "denied", "secretRef")
    host = f"localhost:{served.https_port}".encode()
    pod.secret = {"host": host, "username": b"robot", "password": b"wrong-password"}
    _expect(pod, pod.fetch(url), "denied", "refuses the Secret")
    pod.secret = {"host": host + b"\n", "username": b"robot\n", "password": f"{PASSWORD}\n".encode()}
    assert pod.fetch(url).outcome == "fetched"
    assert PASSWORD not in pod.output
    assert PASSWORD not in pod.git("config", "--list")
    kept = b"".join(path.read_bytes() for path in pod.tree.rglob("*") if path.is_file())
    assert PASSWORD.encode() not in kept
    assert any("Basic" in line for line in served.requests), "control: it did travel to the server"


@pytest.mark.parametrize(
    "host", [b"", b"example.com", b"localhost", b"localhost:1", b"evil.localhost", b"localhost:{}@evil", b"*", b"."]
)
def test_a_secret_for_another_place_leaves_nowhere(pod: Pod, served: Servers, host: bytes) -> None:
    """O5: the server of the address never sees it, not even after asking."""
    before = len(served.requests)
    pod.secret = {"host": host.replace(b"{}", str(served.https_port).encode()), "password": PASSWORD.encode()}
    _expect(pod, pod.fetch(served.https("private/mine.git")), "refused", "host")
    assert served.requests[before:] == [], "nothing was asked at all"


def test_a_secret_never_goes_over_a_clear_wire(pod: Pod, served: Servers) -> None:
    pod.secret = {"host": f"localhost:{served.git_port}".encode(), "password": PASSWORD.encode()}
    _expect(pod, pod.fetch(served.git("good.git")), "refused", "in the clear")


@pytest.mark.parametrize("keys", [{}, {"ssh-privatekey": b"k"}, {"known_hosts": b"h"}])
def test_ssh_needs_a_key_and_known_hosts(pod: Pod, keys: dict[str, bytes]) -> None:
    pod.secret = {"host": b"git.example.test", **keys}
    _expect(pod, pod.fetch("ssh://git@git.example.test/x.git"), "refused", "which ssh:// needs")


def test_a_ref_that_is_not_there(pod: Pod, served: Servers) -> None:
    _expect(pod, pod.fetch(served.git("good.git"), ref="nope"), "ref_not_found", "'nope'")
    _expect(pod, pod.fetch(served.git("good.git"), ref="refs/heads/nope"), "ref_not_found", "refs/heads/nope")
    _expect(pod, pod.fetch(served.git("empty.git")), "ref_not_found", "no commit")


def test_a_server_in_trouble_is_asked_again(pod: Pod, served: Servers) -> None:
    before = len(served.requests)
    _expect(pod, pod.fetch(served.https("broken/x.git")), "server_failed", "fault of its own")
    assert len(served.requests) - before == 3


def test_a_connection_that_breaks_off(pod: Pod) -> None:
    with listener(answer=True) as port:
        _expect(pod, pod.fetch(f"git://127.0.0.1:{port}/x.git"), "server_failed", "broke off")


def test_a_server_that_never_speaks(pod: Pod) -> None:
    with listener(answer=False) as port:
        message = pod.fetch(f"git://127.0.0.1:{port}/x.git", timeoutSeconds=1)
    _expect(pod, message, "timed_out", "within 1 s", "timeoutSeconds")


def test_a_protocol_the_platform_team_left_out(pod: Pod, served: Servers) -> None:
    _expect(pod, pod.fetch(served.git("good.git"), schemes=["https"]), "refused", "fetcher.schemes")


def test_a_volume_that_cannot_be_written(pod: Pod, served: Servers) -> None:
    """WG-01: the cause and the uid, at once."""
    pod.workspace.rmdir()
    pod.workspace.write_text("not a folder")
    message = pod.fetch(served.git("good.git"))
    assert (message.outcome, "uid 10002" in message.message) == ("workspace_failed", True)


def test_a_request_that_is_none(pod: Pod) -> None:
    message = pod.fetch("https://h/x", depth="five")
    assert (message.outcome, "depth" in message.message) == ("internal", True)


def test_every_message_fits_and_can_be_read() -> None:
    long = ["\u4e2d" * 80] * 5
    source = FetchedSource(
        commit="a" * 64, ref="refs/heads/" + "b" * 250, submodule_paths=long, lfs_paths=long, lfs_files=9
    )
    for message in (
        FetchMessage(outcome="fetched", source=source),
        FetchMessage(outcome="internal", message="\u4e2d" * 600),
    ):
        text = encoded(message)
        assert len(text.encode()) <= TERMINATION_MESSAGE_MAX_BYTES
        read = decode_message(FetchMessage, text)
        assert read is not None
        assert read.outcome == message.outcome
        assert (read.source is None) == (message.source is None)
    assert json.loads(encoded(FetchMessage(outcome="fetched", source=source)))["source"]["lfsFiles"] == 9
