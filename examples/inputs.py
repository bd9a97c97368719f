"""What the examples' workspaces are made of: files from PyPI at pinned hashes, packed to equal bytes every time."""

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

MOVED = os.environ.get("XDG_CACHE_HOME", "")  # counts only as an absolute path
CACHE = (Path(MOVED) if MOVED.startswith("/") else Path.home() / ".cache") / "guildhall" / "inputs"
STAMP = 1_700_000_000  # every entry's time


def pinned(lock: Path, name: str, *, source: bool) -> Path:
    """The file that `lock` (one line, `project==version --hash=sha256:…`) pins, downloaded once, checked at every use.

    `name` is the file's name; `source` asks for the source distribution instead of a wheel.
    """
    target, (_, digest) = CACHE / name, lock.read_text().strip().split(" --hash=sha256:")
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        form = "--no-binary" if source else "--only-binary"
        command = ["uvx", "--quiet", "pip@25.3", "download", "--quiet", "--no-deps", form, ":all:"]
        subprocess.run([*command, "--require-hashes", "-d", str(CACHE), "-r", str(lock)], check=True)
    found = hashlib.sha256(target.read_bytes()).hexdigest()
    if found != digest:
        sys.exit(f"examples: {target} has SHA-256 {found}, pinned is {digest}; delete the file and try again")
    return target


def unpack(archive: Path, into: Path) -> Path:
    """Unpacks a source distribution below `into`; its one folder."""
    with tarfile.open(archive) as opened:
        opened.extractall(into, filter="data")
    (tree,) = into.iterdir()
    return tree


def git_apply(tree: Path, patch: Path, *options: str) -> None:
    """`git apply`, outside any repository. Exits with git's own words when the patch does not fit."""
    command = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", *options, str(patch.resolve())]
    environment = {"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(tree.parent), "HOME": str(tree.parent)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"examples: {patch} does not apply: {done.stderr.strip()}")


def contents(tree: Path) -> dict[str, bytes]:
    """Every file below `tree` by relative path; what Python caches is left out."""
    files = (path for path in sorted(tree.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(tree)): path.read_bytes() for path in files}


def pack(tree: Path) -> bytes:
    """`tree` as a deterministic tar.gz."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in contents(tree).items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(data), STAMP
            entry.mode = (tree / name).stat().st_mode & 0o755 | 0o644
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


def run_suite(tree: Path, *search: str) -> bool:
    """Whether the unittest suite in `tree` passes with `search` on Python's path; prints its verdict."""
    environment = {**os.environ, "PYTHONPATH": ":".join(search), "PYTHONDONTWRITEBYTECODE": "1"}
    suite = [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."]
    done = subprocess.run(suite, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    print("      " + done.stderr.strip().splitlines()[-1])
    return done.returncode == 0
