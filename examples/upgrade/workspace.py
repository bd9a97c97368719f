#!/usr/bin/env python3
"""The upgrade's real input: a small program, and two versions of the package it uses; the newer one lacks a class.

`workspace.py archive OUT.tar.gz` writes it as the Run's workspace. `workspace.py check PATCH` takes the patch of a
finished Run and shows, without Guildhall, that the program's tests pass with the new version and only with the patch.
"""

import argparse
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import inputs  # noqa: E402

WHEELS = {
    "cachetools-5.lock": "cachetools-5.5.2-py3-none-any.whl",
    "cachetools-6.lock": "cachetools-6.2.1-py3-none-any.whl",
}


def wheels() -> list[Path]:
    """Both versions, the older one first."""
    return [inputs.pinned(HERE / lock, name, source=False) for lock, name in WHEELS.items()]


def build(into: Path) -> Path:
    """The program below `into`, with the wheels it may install."""
    tree = into / "app"
    shutil.copytree(HERE / "app", tree, ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "wheels").mkdir()
    for wheel in wheels():
        shutil.copyfile(wheel, tree / "wheels" / wheel.name)
    return tree


def check(patch: Path) -> int:
    """Whether the patch makes the program work with the new version, and was needed."""
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as libraries:
        tree = build(Path(scratch))
        for wheel in wheels():
            with zipfile.ZipFile(wheel) as opened:
                opened.extractall(Path(libraries) / wheel.name)
        old, new = (str(Path(libraries) / wheel.name) for wheel in wheels())
        print("    before the patch, with the old version (must pass):")
        worked = inputs.run_suite(tree, old)
        print("    before the patch, with the new version (must fail):")
        broke = not inputs.run_suite(tree, new)
        inputs.git_apply(tree, patch)
        print("    after the patch, with the new version (must pass):")
        works = inputs.run_suite(tree, new)
        pinned = (tree / "requirements.txt").read_text().split() == ["cachetools==6.2.1"]
        print(f"    requirements.txt pins the new version: {'yes' if pinned else 'NO'}")
    return 0 if worked and broke and works and pinned else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("archive", help="write the workspace as a tar.gz").add_argument("out", type=Path)
    commands.add_parser("check", help="prove a patch outside Guildhall").add_argument("patch", type=Path)
    chosen = parser.parse_args()
    if chosen.command == "check":
        return check(chosen.patch)
    with tempfile.TemporaryDirectory() as scratch:
        chosen.out.write_bytes(inputs.pack(build(Path(scratch))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
