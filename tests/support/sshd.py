"""A real sshd on loopback, from Debian's package, in a mount namespace of its own: its user exists nowhere else."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from cluster.embedded.layout import user_cache
from support.fetching import free_port

CACHE = user_cache() / "sshd"


@dataclass(frozen=True)
class Sshd:
    """Where it listens, the key it lets in, and the line that names its own key."""

    port: int
    private_key: bytes
    known_hosts: bytes


def _binary() -> Path:
    """sshd of this machine, else Debian's, unpacked once; a skip where neither can be had."""
    found = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin") or CACHE / "usr" / "sbin" / "sshd"
    if Path(found).exists():
        return Path(found)
    if os.geteuid() != 0 or shutil.which("apt-get") is None or shutil.which("unshare") is None:
        pytest.skip("no sshd here, and it is unpacked from Debian's package only as root on Debian")
    CACHE.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["apt-get", "download", "openssh-server"], cwd=CACHE, capture_output=True, check=False)
    packages = list(CACHE.glob("openssh-server*.deb"))
    if done.returncode != 0 or not packages:
        pytest.skip("no sshd here, and Debian's package cannot be downloaded")
    subprocess.run(["dpkg", "-x", packages[0], CACHE], check=True)
    return Path(found)


def new_key(path: Path) -> Path:
    """A key pair at `path` and `path.pub`."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path], check=True)
    return path


def _config(folder: Path, port: int) -> Path:
    config = folder / "sshd_config"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder / 'host'}\nAuthorizedKeysFile {folder / 'user.pub'}\n"
        "PermitRootLogin prohibit-password\nUsePAM no\nStrictModes no\nPidFile none\nAcceptEnv GIT_PROTOCOL\n"
    )
    return config


def _command(binary: Path, folder: Path, config: Path) -> list[str]:
    """sshd wants a user of its own and a folder in /run; both are there only in its namespace."""
    passwd = folder / "passwd"
    passwd.write_text(Path("/etc/passwd").read_text() + "sshd:x:22222:65534::/run/sshd:/usr/sbin/nologin\n")
    steps = f"mount --bind {passwd} /etc/passwd && mount -t tmpfs none /run && mkdir /run/sshd"
    return ["unshare", "--mount", "sh", "-c", f"{steps} && exec {binary} -D -e -f {config}"]


@contextmanager
def sshd(folder: Path) -> Iterator[Sshd]:
    """Listening while the context is open."""
    if os.geteuid() != 0:
        pytest.skip("sshd is started in a mount namespace, which needs root")
    binary, port = _binary(), free_port()
    host, user = new_key(folder / "host"), new_key(folder / "user")
    command = _command(binary, folder, _config(folder, port))
    server = subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)
    try:
        while not _listens(port):
            assert server.poll() is None, server.stderr and server.stderr.read()
        line = b"[127.0.0.1]:%d %s" % (port, host.with_suffix(".pub").read_bytes())
        yield Sshd(port, user.read_bytes(), line)
    finally:
        os.killpg(server.pid, 9)
        server.wait()
        if server.stderr is not None:
            server.stderr.close()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
