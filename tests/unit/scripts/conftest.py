"""The scripts' packages importable, and a machine whose programs are what a test says they are."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.extend([str(ROOT / "scripts"), str(ROOT)])

SYSTEM = ("sh", "cat", "rm", "sleep", "touch")  # all there is of the real machine
NOT_ROOT = "import os, runpy, sys; os.geteuid = lambda: 1000; sys.argv = {argv!r}; "
START = "runpy.run_path({path!r}, run_name='__main__')"


@dataclass
class Machine:
    """Programs are small shell scripts in a folder of their own; each call is written down."""

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def record(self) -> Path:
        return self.folder / "cache" / "guildhall" / "demo" / "state.json"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": str(self.bin),
            "HOME": str(self.folder),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "GUILDHALL_CLUSTER_STATE": str(self.folder / "cluster"),
        }

    def program(self, name: str, body: str = "") -> None:
        """A program that writes down how it is called and then does `body`; $HERE is the machine's folder."""
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f'#!/bin/sh\nHERE={self.folder}\necho "{name} $*" >>"$HERE/calls"\n{body}\n')
        path.chmod(0o755)

    def calls(self, *words: str) -> list[str]:
        """The calls so far that hold all of `words`, in order."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if all(word in line for word in words)]

    def run(self, path: Path, *arguments: str, root: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
        """A Python program of the repository as a process of its own on this machine, with nobody at its terminal."""
        code = NOT_ROOT.format(argv=[str(path), *arguments]) + START.format(path=str(path))
        argv = [sys.executable, str(path), *arguments] if root else [sys.executable, "-c", code]
        return subprocess.run(
            argv, env={**self.environment, **more}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine without git, uv, Go, apt, docker, kind, kubectl and helm; this process is on it too."""
    from demo import remove, state
    from needs import catalog

    made = Machine(tmp_path)
    made.bin.mkdir()
    for name in SYSTEM:
        (made.bin / name).symlink_to(shutil.which(name) or name)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    for module in (state, sys.modules["demo.clusters"], remove):
        for name, value in (("FILE", made.record), ("KUBECONFIG", made.record.with_name("kubeconfig"))):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    catalog.engine.cache_clear()
    return made
