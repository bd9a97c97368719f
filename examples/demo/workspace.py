#!/usr/bin/env python3
"""The demo's real input: a small package from PyPI, at a pinned hash, with one function broken.

`workspace.py archive OUT.tar.gz` writes the broken source as the Run's workspace. `workspace.py check PATCH` takes the
patch of a finished Run and shows, without Guildhall, that it undoes the fault and that the package's own tests pass.
"""

import argparse
import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCK = HERE / "input.lock"
FAULT = HERE / "fault.patch"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "guildhall" / "inputs"
SUITE = [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."]


def source_distribution() -> Path:
    """The pinned source distribution, downloaded once and checked by its hash at every use."""
    pin, digest = LOCK.read_text().split(" --hash=sha256:")
    target = CACHE / (pin.replace("==", "-") + ".tar.gz")
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*command, "--require-hashes", "-d", str(CACHE), "-r", str(LOCK)], check=True)
    found = hashlib.sha256(target.read_bytes()).hexdigest()
    if found != digest.strip():
        sys.exit(f"workspace: {target} has SHA-256 {found}, pinned is {digest.strip()}; delete the file and try again")
    return target


def unpack(into: Path, *, broken: bool) -> Path:
    """Unpacks the source below `into` and, if `broken`, applies the fault. Returns the source's folder."""
    with tarfile.open(source_distribution()) as archive:
        archive.extractall(into, filter="data")
    (tree,) = into.iterdir()
    if broken:
        git_apply(tree, FAULT)
    return tree


def git_apply(tree: Path, patch: Path, *options: str) -> None:
    """`git apply`, outside any repository. Exits with git's own words when the patch does not fit."""
    command = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", *options, str(patch.resolve())]
    environment = {"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(tree.parent), "HOME": str(tree.parent)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"workspace: {patch} does not apply: {done.stderr.strip()}")


def contents(tree: Path) -> dict[str, bytes]:
    """Every file below `tree` by relative path; what Python caches is left out."""
    files = (path for path in sorted(tree.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(tree)): path.read_bytes() for path in files}


def write_archive(out: Path) -> None:
    """A deterministic tar.gz of the broken source: same input, same bytes."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = unpack(Path(scratch), broken=True)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, data in contents(tree).items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode, entry.mtime = (
                    len(data),
                    (tree / name).stat().st_mode & 0o755 | 0o644,
                    1_700_000_000,
                )
                archive.addfile(entry, io.BytesIO(data))
        out.write_bytes(gzip.compress(buffer.getvalue(), mtime=0))


def run_suite(tree: Path) -> bool:
    """Whether the package's own test-suite passes in `tree`."""
    environment = {**os.environ, "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(SUITE, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    print("      " + done.stderr.strip().splitlines()[-1])
    return done.returncode == 0


def check(patch: Path) -> int:
    """Shows that `patch` repairs the broken source and is the exact reverse of the fault."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        broken, pristine = unpack(Path(first), broken=True), unpack(Path(second), broken=False)
        print("    the broken source, before the patch (must fail):")
        failed_before = not run_suite(broken)
        git_apply(broken, patch)
        print("    the broken source, after the patch (must pass):")
        passes_after = run_suite(broken)
        same = contents(broken) == contents(pristine)
        print(f"    the patched tree equals the pristine source byte for byte: {'yes' if same else 'NO'}")
    return 0 if failed_before and passes_after and same else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("archive", help="write the broken source as a tar.gz").add_argument("out", type=Path)
    commands.add_parser("check", help="prove a patch outside Guildhall").add_argument("patch", type=Path)
    chosen = parser.parse_args()
    if chosen.command == "check":
        return check(chosen.patch)
    write_archive(chosen.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
