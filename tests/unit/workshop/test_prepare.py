"""The init container: what it leaves in the pod's directories, and the message the operator reads."""

import io
import json
import os
import socket
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from guildhall_contracts import limits
from guildhall_contracts.gate import GateConfig, PrepareMessage, Target, decode_message
from support.workshop import prepare, snapshot, workshop_binary

pytestmark = pytest.mark.go


@contextmanager
def listener(reply: bytes = b"") -> Iterator[tuple[int, list[object]]]:
    """A TCP server on the loopback: its port, and a list that grows with every connection."""
    met: list[object] = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, peer = server.accept()
            except OSError:
                return
            met.append(peer)
            with connection:
                connection.sendall(reply)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1], met
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(5)


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def gate(gateway: int, canary: int, *, enforce: bool = True) -> dict[str, str]:
    config = GateConfig(
        targets=[
            Target(name="canary", host="127.0.0.1", port=canary),
            Target(name="node", host="127.0.0.1", port=gateway, required=False),
        ],
        gateway_host="127.0.0.1",
        gateway_port=gateway,
        attempt_timeout_milliseconds=200,
        timeout_seconds=1,
        enforce=enforce,
    )
    return {"GUILDHALL_GATE": json.dumps(config.to_wire())}


def message_of(done: subprocess.CompletedProcess[bytes]) -> PrepareMessage:
    message = decode_message(PrepareMessage, done.stdout.decode())
    assert message is not None, done.stdout + done.stderr
    return message


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("workspace", "baseline", "bin"):
        (tmp_path / name).mkdir()
    (tmp_path / "workspace" / "file").write_text("text\n")
    return tmp_path / "workspace", tmp_path / "baseline"


def test_all_steps(places: tuple[Path, Path], tmp_path: Path) -> None:
    log = tmp_path / "message"
    log.touch()
    with listener(b"HTTP/1.1 401 Unauthorized\r\n\r\n") as (gateway, _):
        options = ("--bin", str(tmp_path / "bin"), "--termination-log", str(log))
        done = prepare(*places, *options, env=gate(gateway, closed_port()))
    assert done.returncode == 0
    message = message_of(done)
    assert decode_message(PrepareMessage, log.read_text()) == message
    assert message.outcome == "passed"
    by_name = {target.name: target for target in message.targets}
    assert (by_name["canary"].last, by_name["canary"].denied_in_a_row) == ("refused", 3)
    assert (by_name["node"].last, by_name["node"].required) == ("answered", False)
    assert message.workspace is not None
    assert (message.workspace.files, message.workspace.content_bytes) == (1, 5)
    injected = tmp_path / "bin" / "guildhall-workshop"
    assert injected.stat().st_mode & 0o7777 == 0o555
    assert injected.read_bytes() == workshop_binary().read_bytes()


def test_a_canary_that_answers_fails_whatever_the_workspace_is(places: tuple[Path, Path]) -> None:
    with listener(b"x") as (gateway, _), listener() as (canary, met):
        done = prepare(*places, env=gate(gateway, canary))
        assert (done.returncode, message_of(done).outcome) == (3, "not_enforced")
        assert met  # control: the canary was reached
        relaxed = prepare(*places, env=gate(gateway, canary, enforce=False))
        assert (relaxed.returncode, message_of(relaxed).outcome) == (0, "passed")
        assert "not enforced" in message_of(relaxed).message
        (places[0] / ".orchestration").mkdir()
        both = prepare(*places, env=gate(gateway, canary))
        assert message_of(both).outcome == "not_enforced"


def test_a_gateway_that_is_away_is_named(places: tuple[Path, Path]) -> None:
    port = closed_port()
    done = prepare(*places, env=gate(port, closed_port()))
    assert (done.returncode, message_of(done).outcome) == (4, "gateway_unreachable")
    assert str(port) in message_of(done).message


@pytest.mark.parametrize("text", ["", "{}", "nonsense", '{"targets":[]}'])
def test_without_a_proper_gate_nothing_passes(places: tuple[Path, Path], text: str) -> None:
    done = prepare(*places, env={"GUILDHALL_GATE": text})
    assert (done.returncode, message_of(done).outcome) == (1, "internal")
    assert list(places[1].iterdir()) == []


def test_gate_alone(tmp_path: Path) -> None:
    with listener(b"x") as (gateway, _):
        environment = gate(gateway, closed_port())
        done = subprocess.run([workshop_binary(), "gate"], env=environment, capture_output=True, check=False)
        assert (done.returncode, message_of(done).outcome) == (0, "passed")
        assert message_of(done).workspace is None


@pytest.mark.skipif(os.getuid() != 0, reason="changing the uid needs root")
def test_a_workspace_of_somebody_else_is_told_in_seconds() -> None:
    """WG-01."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        base.chmod(0o755)
        subprocess.run([workshop_binary(), "inject", "--bin", name], check=True)
        (base / "workspace").mkdir(mode=0o755)
        command = [f"{name}/guildhall-workshop", "prepare", "--no-gate", "--workspace", f"{name}/workspace"]
        done = subprocess.run(command, capture_output=True, check=False, user=10_002, group=10_002, extra_groups=[])
        assert (done.returncode, message_of(done).outcome) == (5, "workspace_failed")
        assert "not writable by uid 10002" in message_of(done).message
        (base / "workspace").chmod(0o777)  # control
        assert subprocess.run(command, check=False, user=10_002, group=10_002, extra_groups=[]).returncode == 0


def tar(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def test_archives(places: tuple[Path, Path], tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(tar(("pkg/a", b"1"), ("pkg/sub/b", b"2")))
    done = prepare(*places, "--archive", str(source), "--strip-components", "1")
    assert done.returncode == 0, done.stdout
    assert sorted(snapshot(places[0])) == ["a", "file", "sub", "sub/b"]
    for hostile in (tar(("../evil", b"x")), tar(("/etc/evil", b"x")), b"\x1f\x8bnonsense", b"", tar()):
        source.write_bytes(hostile)
        done = prepare(*places, "--archive", str(source))
        assert (done.returncode, message_of(done).outcome) == (5, "workspace_failed")
        assert str(tmp_path) not in message_of(done).message
    assert not (tmp_path / "evil").exists()


def test_a_bomb_ends_at_the_limit(places: tuple[Path, Path], tmp_path: Path) -> None:
    source = tmp_path / "bomb"
    with tarfile.open(source, "w:gz", compresslevel=1) as archive:
        member = tarfile.TarInfo("zeros")
        member.size = limits.ARCHIVE_UNPACKED_MAX_BYTES + 1
        with Path("/dev/zero").open("rb") as zeros:
            archive.addfile(member, zeros)
    done = prepare(*places, "--archive", str(source))
    assert (done.returncode, message_of(done).outcome) == (6, "source_too_large")
    assert str(limits.ARCHIVE_UNPACKED_MAX_BYTES) in message_of(done).message


def test_a_clone_that_was_none_is_refused(places: tuple[Path, Path]) -> None:
    """A storage driver without cloning gives an empty volume; only a source that is a clone has to hold a file."""
    workspace, _ = places
    control = prepare(*places, "--no-gate", "--not-empty")
    assert message_of(control).outcome == "passed"
    (workspace / "file").unlink()
    (workspace / "lost+found").mkdir()
    done = prepare(*places, "--no-gate", "--not-empty")
    message = message_of(done)
    assert (done.returncode, message.outcome) == (5, "workspace_failed")
    assert "does not clone" in message.message
    assert message_of(prepare(*places, "--no-gate")).outcome == "passed", "an empty workspace of its own is fine"
