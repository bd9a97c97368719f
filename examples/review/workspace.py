#!/usr/bin/env python3
"""The review's real input: a package from PyPI with somebody's change applied, and the change beside it as a patch.

`workspace.py archive OUT.tar.gz` writes it as the Run's workspace; `.review/` holds the description and the patch.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import inputs  # noqa: E402


def unpack(into: Path) -> Path:
    """The source with the change applied; its folder."""
    source = inputs.pinned(HERE.parent / "demo" / "input.lock", "cachetools-6.2.1.tar.gz", source=True)
    tree = inputs.unpack(source, into)
    inputs.git_apply(tree, HERE / "change.patch")
    (tree / ".review").mkdir()
    for name in ("change.patch", "DESCRIPTION.md"):
        shutil.copyfile(HERE / name, tree / ".review" / name)
    return tree


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("archive", help="write the workspace as a tar.gz").add_argument("out", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        chosen.out.write_bytes(inputs.pack(unpack(Path(scratch))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
