"""Where things are cached is one place for all who cache: XDG_CACHE_HOME moves all of them, or none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cluster.embedded import build
from cluster.embedded.layout import from_environment

from .conftest import ROOT

GO = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
: >"$2"
"""
LOOK = """
import runpy, sys
sys.path[:0] = [{scripts!r}, {tests!r}, {root!r}]
from cluster.embedded.layout import from_environment
from demo import remove, state
print(state.CACHE / "demo", state.FILE.parent, from_environment().cache, from_environment().state.parent)
print(runpy.run_path({build!r}, run_name="x")["CACHE"], runpy.run_path({inputs!r}, run_name="x")["CACHE"])
"""


def places(home: Path, moved: str | None) -> set[str]:
    """The folders in which everybody's caches lie."""
    paths = {
        "scripts": str(ROOT / "scripts"), "tests": str(ROOT / "tests"), "root": str(ROOT),
        "build": str(ROOT / "images" / "build.py"), "inputs": str(ROOT / "examples" / "inputs.py"),
    }  # fmt: skip
    (home / "bin").mkdir(exist_ok=True)
    (home / "bin" / "go").write_text(GO)
    (home / "bin" / "go").chmod(0o755)
    environment = {"HOME": str(home), "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
    if moved is not None:
        environment["XDG_CACHE_HOME"] = moved
    looked, built = (
        subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=True).stdout
        for command in (
            [sys.executable, "-c", LOOK.format(**paths)],
            ["sh", str(ROOT / "workshop" / "build.sh")],
        )
    )
    found = {str(Path(place).parent) for place in looked.split()}
    return found | {str(Path(built.strip()).parent.parent)}


@pytest.mark.parametrize("moved", [None, "", "not/absolute"])
def test_without_a_place_named_all_is_in_the_home(tmp_path: Path, moved: str | None) -> None:
    assert places(tmp_path, moved) == {str(tmp_path / ".cache" / "guildhall")}


def test_a_cluster_that_is_reached_by_a_link_is_the_same_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another path its components would count as outdated: a second demo would restart a cluster at work."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    own = from_environment()
    own.cache.mkdir(parents=True)
    (tmp_path / "other" / "guildhall").mkdir(parents=True)
    (tmp_path / "other" / "guildhall" / "cluster").symlink_to(own.cache)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert build.binaries(from_environment()) == build.binaries(own)


def test_a_place_that_is_named_is_everybodys(tmp_path: Path) -> None:
    assert places(tmp_path, str(tmp_path / "elsewhere")) == {str(tmp_path / "elsewhere" / "guildhall")}
