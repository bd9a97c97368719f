"""X10, X7 (local part), and the confinement: commands start alike and write only where they may."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from guildhall_contracts import frames
from support.workshop import running

pytestmark = pytest.mark.go

CANARIES = {
    "KUBERNETES_SERVICE_HOST": "10.9.8.7",
    "GATEWAY_SERVICE_HOST": "10.9.8.7",
    "GUILDHALL_GATE": "canary",
    "GUILDHALL_RUN_ENV": '{"FROM_RUN": "yes"}',
    "OPENAI_API_KEY": "canary",
    "LD_PRELOAD": "/canary.so",
    "BASH_ENV": "/canary",
    "GIT_DIR": "/canary",
}


@pytest.fixture
def ours() -> Iterator[Path]:
    """A directory any uid may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def environment(text: bytes) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.decode().splitlines() if "=" in line)


def test_what_one_call_sets_the_next_does_not_see(tmp_path: Path) -> None:
    with running(tmp_path, with_baseline=False, env=CANARIES) as shop, shop.client() as client:
        first = client.sh("env").text
        (shop.workspace / "evil.sh").write_text("echo INJECTED\n")
        dirty = {
            "PATH": f"{shop.workspace}:/usr/bin:/bin", "BASH_ENV": str(shop.workspace / "evil.sh"),
            "GIT_SSH_COMMAND": "evil", "LD_LIBRARY_PATH": str(shop.workspace),
        }  # fmt: skip
        assert b"INJECTED" in client.sh("env", env=dirty).text  # control: the call's own variables do take effect
        client.sh("export PATH=/nowhere LD_PRELOAD=/x.so GIT_DIR=/x; cd /; umask 0; alias ls=evil; set -e")
        assert client.sh("env").text == first
        seen = environment(first)
        assert seen["FROM_RUN"] == "yes"
        assert "canary" not in first.decode()
        assert "10.9.8.7" not in first.decode()
        assert not [name for name in seen if name.startswith(("KUBERNETES", "GUILDHALL", "LD_")) or "SERVICE" in name]
        assert seen["GIT_TERMINAL_PROMPT"] == "0"
        assert Path(seen["HOME"]).is_dir()
        assert client.sh("umask").text == b"0022\n"


def test_bad_variables_are_refused(tmp_path: Path) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        for env in ({"A B": "x"}, {"GUILDHALL_X": "x"}, {"A": "a\0b"}, {"": "x"}):
            assert client.sh("true", env=env).code == "invalid_argument"
        assert client.sh("echo $A", env={"A": "$(id)"}).text == b"$(id)\n"


def test_no_descriptor_of_the_server_reaches_a_command(tmp_path: Path) -> None:
    with running(tmp_path) as shop, shop.client() as client:
        listed = client.sh("exec 9</dev/null; ls -l /proc/self/fd; ls -l /proc/$$/fd").text.decode()
        assert " 9 -> /dev/null" in listed  # control
        assert "socket:" not in listed
        assert str(shop.baseline) not in listed
        flags = client.sh("python3 -c 'import fcntl; print([fcntl.fcntl(f, 3) & 0o4000 for f in (0, 1, 2)])'")
        assert flags.text == b"[0, 0, 0]\n"  # nobody expects a non-blocking stdout


def test_writes_land_only_where_they_may(tmp_path: Path) -> None:
    with running(tmp_path) as shop, shop.client() as client:
        if not client.call(frames.HelloRequest).last.landlock_abi:
            pytest.skip("this kernel has no Landlock")
        outside, target = tmp_path / "outside", tmp_path / "target"
        outside.mkdir()
        target.write_text("whole\n")
        target.chmod(0o666)
        commands = [
            f"echo x > {outside}/new", f"echo x >> {target}", f"truncate -s 0 {target}", f"rm {target}",
            f"mv {target} {shop.workspace}/moved", f"ln {target} {shop.workspace}/hard", f"mkdir {outside}/d",
            f"ln -s x {outside}/l", f"mkfifo {outside}/f", f"echo x > {shop.baseline}/new",
            f"rm -rf {shop.baseline}/manifest", f"rm {shop.socket_path}",
            f"ln -s {outside} link && echo x > link/new", f"cd {outside} && echo x > here",
        ]  # fmt: skip
        before = sorted(path.name for path in tmp_path.iterdir())
        for command in commands:
            assert client.sh(command).last.exit_code != 0, command
        assert list(outside.iterdir()) == []
        assert target.read_text() == "whole\n"
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        assert sorted(path.name for path in shop.baseline.iterdir()) == ["content", "manifest"]
        allowed = client.sh(
            f"echo a > in && mv in {shop.tmp}/x && mv {shop.tmp}/x back && echo x > /dev/null && cat back"
        )
        assert (allowed.last.exit_code, allowed.text) == (0, b"a\n")  # control
        assert client.sh(f"cat {target}").text == b"whole\n"  # reading the image stays possible


def test_calls_that_widen_powers_are_refused(tmp_path: Path) -> None:
    probe = (
        "import ctypes, os, sys, socket\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def call(*a):\n"
        "    ctypes.set_errno(0); return libc.syscall(*a), ctypes.get_errno()\n"
        "print('unshare', call(272, 0x10000000))\n"
        "print('mount', call(165, b'none', b'/', b'tmpfs', 0, 0))\n"
        "print('bpf', call(321, 0, 0, 0))\n"
        "print('clone', call(56, 0x10000000 | 17, 0, 0, 0, 0))\n"
        "print('io_uring', call(425, 1, 0))\n"
        "print('keyctl', call(250, 0, 0))\n"
        "print('getpid', call(39)[0] == os.getpid())\n"
        "for name, args in (('packet', (17, 3)), ('raw', (2, 3)), ('raw6', (10, 3)), ('vsock', (40, 1))):\n"
        "    try:\n"
        "        socket.socket(*args).close(); print(name, 'OPEN')\n"
        "    except PermissionError: print(name, 'denied')\n"
        "    except OSError as e: print(name, 'other', e.errno)\n"
        "socket.socket(2, 1).close(); socket.socket(1, 1).close(); socket.socket(16, 3, 0).close()\n"
        "print('tcp unix netlink fine')\n"
        "import subprocess, threading; threading.Thread(target=print, args=('thread fine',)).start()\n"
        "print(subprocess.run(['echo', 'child fine'], capture_output=True).stdout)\n"
    )
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        if not client.call(frames.HelloRequest).last.seccomp or os.uname().machine != "x86_64":
            pytest.skip("needs seccomp on x86-64")
        (shop.workspace / "probe.py").write_text(probe)
        text = client.sh("python3 probe.py").text.decode()
        for name in ("unshare", "mount", "bpf", "clone", "io_uring", "keyctl"):
            assert f"{name} (-1, 1)" in text, text
        for name in ("packet", "raw", "raw6", "vsock"):
            assert f"{name} denied" in text, text
        for fine in ("getpid True", "tcp unix netlink fine", "thread fine", "child fine"):
            assert fine in text, text


def test_a_command_cannot_signal_or_read_the_server(tmp_path: Path) -> None:
    with running(tmp_path, with_baseline=False) as shop, shop.client() as client:
        if client.call(frames.HelloRequest).last.landlock_abi < 6:
            pytest.skip("this kernel's Landlock does not scope signals")
        pid = shop.process.pid
        assert client.sh(f"kill -9 {pid}; kill -TERM {pid}").last.exit_code == 1
        assert client.sh(f"kill -9 $PPID; echo still; kill -STOP {pid}").text.startswith(b"/usr/bin/bash")
        assert client.sh(f"cat /proc/{pid}/mem").last.exit_code != 0
        assert client.sh("sleep 50 & kill $!; wait $!").last.exit_code == 128 + 15  # control: its own it may
        assert shop.process.poll() is None


@pytest.mark.skipif(os.getuid() != 0, reason="changing the uid needs root")
def test_as_in_the_pod_the_server_keeps_its_own_memory_and_descriptors(ours: Path) -> None:
    with running(ours, user=10_002) as shop, shop.client() as client:
        assert client.call(frames.HelloRequest).last.uid == 10_002
        pid = shop.process.pid
        for name in ("mem", "environ", "maps", "fd/", "root/etc/hostname", "cwd/"):
            assert (
                client.sh(f"ls -lL /proc/{pid}/{name}/. 2>/dev/null || cat /proc/{pid}/{name}").last.exit_code != 0
            ), name
        for name in ("environ", "maps", "fd/", "root/etc/hostname", "cwd/"):  # control: of its own it may
            assert client.sh(f"ls -lL /proc/$$/{name} && cat /proc/$$/environ").last.exit_code == 0, name
        assert client.sh("id -u; echo x > /etc/passwd").text.startswith(b"10002\n")


def test_only_the_named_uid_may_connect(ours: Path) -> None:
    with running(ours, "--peer-uid", "4242") as shop:
        client = shop.connect()
        assert client.exchange(frames.encode_frame(frames.HelloRequest(id=1))) is None
        client.sock.close()
    with running(ours) as shop, shop.client() as client:  # control
        assert client.call(frames.HelloRequest).last.version == 1
        second = shop.connect()
        assert second.exchange(frames.encode_frame(frames.HelloRequest(id=1))) is None
        second.sock.close()
        assert client.call(frames.HelloRequest).last.version == 1
