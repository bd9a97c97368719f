#!/usr/bin/env python3
"""The demo's real input: a small package from PyPI, at a pinned hash, with one function broken.

`workspace.py archive OUT.tar.gz` writes the broken source as the Run's workspace. `workspace.py check PATCH` takes the
patch of a finished Run and shows, without Guildhall, that it undoes the fault and that the package's own tests pass.
"""

import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import inputs  # noqa: E402

FAULT = HERE / "fault.patch"


def unpack(into: Path, *, broken: bool) -> Path:
    """Unpacks the source below `into` and, if `broken`, applies the fault. Returns the source's folder."""
    tree = inputs.unpack(inputs.pinned(HERE / "input.lock", "cachetools-6.2.1.tar.gz", source=True), into)
    if broken:
        inputs.git_apply(tree, FAULT)
    return tree


def check(patch: Path) -> int:
    """Shows that `patch` repairs the broken source and is the exact reverse of the fault."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        broken, pristine = unpack(Path(first), broken=True), unpack(Path(second), broken=False)
        print("    the broken source, before the patch (must fail):")
        failed_before = not inputs.run_suite(broken, "src")
        inputs.git_apply(broken, patch)
        print("    the broken source, after the patch (must pass):")
        passes_after = inputs.run_suite(broken, "src")
        same = inputs.contents(broken) == inputs.contents(pristine)
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
    with tempfile.TemporaryDirectory() as scratch:
        chosen.out.write_bytes(inputs.pack(unpack(Path(scratch), broken=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
