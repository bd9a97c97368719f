#!/usr/bin/env python3
"""Builds the project's images: `images/build.py [NAME …] [--load] [--json]`."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

from images.imaging.builders import choose  # noqa: E402
from images.imaging.cache import folder  # noqa: E402
from images.imaging.catalog import CATALOG, ROOT  # noqa: E402
from images.imaging.errors import ImageError  # noqa: E402
from images.imaging.pipeline import Built, Settings, chart_values, make  # noqa: E402

CACHE = folder()
INTERRUPTED = "images: interrupted; the same command goes on, and builds only what is not built yet"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(CATALOG)} (all)")
    parser.add_argument("--builder", choices=("auto", "buildah", "docker", "podman"), default="auto")
    parser.add_argument("--base", help="base image to pull, instead of the one made from Debian packages")
    parser.add_argument("--refresh-base", action="store_true", help="make the Debian base anew (security updates)")
    parser.add_argument("--load", action="store_true", help="import the archives into the embedded cluster")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    parser.add_argument("--values", type=Path, metavar="FILE", help="write the references as values for Helm")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in CATALOG]:
        parser.error(f"no image {', '.join(unknown)}; there are: {', '.join(CATALOG)}")
    return arguments


def _build(arguments: argparse.Namespace) -> list[Built]:
    CACHE.mkdir(parents=True, exist_ok=True)
    builder = choose(arguments.builder, CACHE)
    settings = Settings(CACHE, arguments.base, arguments.refresh_base)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return [make(CATALOG[name], builder, settings) for name in arguments.names or CATALOG]


def _load(built: list[Built]) -> None:
    command = [sys.executable, str(ROOT / "tests" / "cluster" / "cluster.py"), "load", "--missing"]
    if subprocess.run([*command, *(image.archive for image in built)], check=False).returncode != 0:
        raise ImageError("the images were built but not imported; is the embedded cluster up?")


def _print(built: list[Built], as_json: bool) -> None:
    if as_json:
        print(json.dumps({image.name: asdict(image) for image in built}, indent=1))
        return
    for image in built:
        print(f"{image.name:16} {image.ref:44} {image.size / 1e6:7.1f} MB  (+{image.beyondBase / 1e6:.1f} MB)")


def main() -> int:
    arguments = _arguments()
    try:
        built = _build(arguments)
        if arguments.load:
            _load(built)
    except ImageError as error:
        print(f"images: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        if not os.environ.get("GUILDHALL_WITHIN"):  # who started it says it
            print(f"\n{INTERRUPTED}", file=sys.stderr)
        return 130
    if arguments.values:
        arguments.values.write_text(json.dumps(chart_values(built), indent=1) + "\n")
    _print(built, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
