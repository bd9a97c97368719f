"""The fetcher as its pod runs it, on folders of a test's own, against real servers on loopback."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guildhall_contracts.fetch import FetchMessage
from guildhall_contracts.gate import decode_message
from support.git_server import daemon_command, https_server
from support.repositories import ENV, certificate

MIB = 1024 * 1024


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Servers:
    """Where both servers listen, and the folder their repositories are in."""

    root: Path
    ca: Path
    https_port: int
    git_port: int

    def https(self, path: str) -> str:
        return f"https://localhost:{self.https_port}/{path}"

    def git(self, path: str) -> str:
        return f"git://localhost:{self.git_port}/{path}"

    @property
    def requests(self) -> list[str]:
        log = self.root / "requests.log"
        return log.read_text().splitlines() if log.exists() else []


@contextmanager
def servers(folder: Path) -> Iterator[Servers]:
    """Both servers on free ports of loopback."""
    root = folder / "repositories"
    (root / "private").mkdir(parents=True)
    ca, cert, key = certificate(folder, "DNS:localhost", "IP:127.0.0.1")
    server = https_server(root, 0, cert, key, "127.0.0.1")
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    port = free_port()
    command = [*daemon_command(root, port)[:-1], "--listen=127.0.0.1", str(root)]
    env = {**ENV, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    daemon = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while _closed(port):
            assert daemon.poll() is None
        yield Servers(root, ca, server.server_address[1], port)
    finally:
        server.shutdown()
        server.server_close()
        os.killpg(daemon.pid, 9)
        daemon.wait()


def _closed(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@dataclass
class Pod:
    """One fetch pod's folders. `secret` is what the named Secret holds; None where none is named."""

    folder: Path
    ca: Path | None = None
    secret: dict[str, bytes] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    output: str = ""

    def __post_init__(self) -> None:
        for name in ("workspace", "scratch", "secret"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def tree(self) -> Path:
        return self.workspace / "tree"

    def fetch(self, url: str, **request: Any) -> FetchMessage:
        """Runs the fetcher to its end; its termination message, read as the operator reads it."""
        running = self.begin(url, **request)
        self.output = running.communicate(timeout=120)[0]
        text = (self.folder / "message").read_text()
        message = decode_message(FetchMessage, text)
        assert message is not None, (text, self.output)
        assert (running.returncode == 0) == (message.outcome == "fetched"), self.output
        return message

    def begin(self, url: str, **request: Any) -> subprocess.Popen[str]:
        """Starts the fetcher."""
        for name, value in (self.secret or {}).items():
            (self.folder / "secret" / name).write_bytes(value)
        asked = {
            "url": url, "schemes": ["https", "ssh", "git"], "maxBytes": 64 * MIB, "memoryBytes": 1024 * MIB,
            "timeoutSeconds": 60, "secret": self.secret is not None, **request,
        }  # fmt: skip
        env = {"PATH": os.environ["PATH"], "GUILDHALL_FETCH": json.dumps(asked), **self.environment}
        return subprocess.Popen(self._command(), env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def _command(self) -> list[str]:
        folders = {name: self.folder / name for name in ("workspace", "scratch", "secret", "message")}
        folders |= {"ca": self.ca or self.folder / "none", "system-ca": self.folder / "none"}
        words = [f"--{name}={path}" for name, path in folders.items()]
        return [sys.executable, "-m", "guildhall_fetcher", *words]

    def git(self, *words: str) -> str:
        """git in the fetched tree, as the person in the workshop would run it."""
        done = subprocess.run(
            ["git", "-C", str(self.tree), *words], env=ENV, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def left_nothing(self) -> bool:
        return not self.tree.exists() and list(self.workspace.iterdir()) == []
