"""The publisher as its pod runs it, on folders of a test's own, against real servers on loopback."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guildhall_contracts.gate import decode_message
from guildhall_contracts.publish import PublishMessage, branch_of
from support.repositories import ENV, Repository

MIB = 1024 * 1024
UID = "0f0e0d0c-2222-4333-8444-555555555555"
BRANCH = branch_of("fix", UID)
AT = "2026-03-01T12:00:00Z"


@dataclass
class PublishPod:
    """One publish pod's folders. `secret` is what the named Secret holds; None where none is named."""

    folder: Path
    ca: Path | None = None
    secret: dict[str, bytes] | None = None
    output: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    prelude: str = ""  # Python that is run in the publisher before it begins

    def __post_init__(self) -> None:
        for name in ("workspace", "scratch", "secret", "delivery"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    def publish(self, url: str, commit: str, patch: bytes, **request: Any) -> PublishMessage:
        """Runs the publisher to its end; its termination message, read as the operator reads it."""
        running = self.begin(url, commit, patch, **request)
        self.output = running.communicate(timeout=120)[0]
        return self.word(running.returncode)

    def begin(self, url: str, commit: str, patch: bytes, **request: Any) -> subprocess.Popen[str]:
        """Starts the publisher."""
        (self.folder / "delivery" / "patch").write_bytes(patch)
        for name, value in (self.secret or {}).items():
            (self.folder / "secret" / name).write_bytes(value)
        asked = {
            "url": url, "schemes": ["https", "ssh", "git"], "commit": commit, "branch": BRANCH, "at": AT, "run": UID,
            "patchSHA256": hashlib.sha256(patch).hexdigest(), "namespace": "team", "name": "fix", "title": "Mend it",
            "maxBytes": 64 * MIB, "memoryBytes": 1024 * MIB, "timeoutSeconds": 60, "secret": self.secret is not None,
            **request,
        }  # fmt: skip
        env = {"PATH": os.environ["PATH"], "GUILDHALL_PUBLISH": json.dumps(asked), **self.environment}
        return subprocess.Popen(self._command(), env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def word(self, exit_code: int) -> PublishMessage:
        """What the publisher said at its end."""
        text = (self.folder / "message").read_text()
        message = decode_message(PublishMessage, text)
        assert message is not None, (text, self.output)
        assert (exit_code == 0) == (message.outcome == "published"), self.output
        assert self.left_nothing(), "nothing of the repository is left"
        return message

    def left_nothing(self) -> bool:
        return list((self.folder / "workspace").iterdir()) == []

    def _command(self) -> list[str]:
        folders = {name: self.folder / name for name in ("workspace", "scratch", "secret", "message")}
        folders |= {"ca": self.ca or self.folder / "none", "system-ca": self.folder / "none"}
        folders["delivery"] = self.folder / "delivery" / "patch"
        words = [f"--{name}={path}" for name, path in folders.items()]
        if self.prelude:
            whole = (
                f"{self.prelude}\nimport runpy\nrunpy.run_module('guildhall_fetcher.publisher', run_name='__main__')"
            )
            return [sys.executable, "-c", whole, *words]
        return [sys.executable, "-m", "guildhall_fetcher.publisher", *words]


@dataclass
class Work:
    """A clone in which a test makes changes as an agent would, and takes them as a patch."""

    folder: Path

    @classmethod
    def of(cls, repository: Repository, folder: Path, ref: str = "main") -> "Work":
        _git(folder.parent, "clone", "--quiet", f"--branch={ref}", str(repository.path), str(folder))
        return cls(folder)

    def git(self, *words: str) -> bytes:
        return _git(self.folder, *words)

    @property
    def commit(self) -> str:
        return self.git("rev-parse", "HEAD").decode().strip()

    def patch(self) -> bytes:
        """What differs from HEAD, in the form of the workshop's: no renames, whole names of blobs, binary content."""
        self.git("add", "--all", "--force")
        return self.git("diff", "--cached", "--no-renames", "--full-index", "--binary", "--no-ext-diff")

    def tree(self) -> str:
        return self.git("write-tree").decode().strip()


def _git(folder: Path, *words: str) -> bytes:
    done = subprocess.run(["git", "-C", str(folder), *words], env=ENV, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout
