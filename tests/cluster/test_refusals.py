"""Where the cluster cannot run it says so in one line and changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.cluster import COMMAND

AS_ANOTHER_USER = "import os, runpy, sys; os.geteuid = lambda: 1000; sys.argv = {argv!r}; "
START = "runpy.run_path({path!r}, run_name='__main__')"


def _run_unprivileged(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """cluster.py as it behaves for a user who is not root, with an empty home."""
    code = AS_ANOTHER_USER.format(argv=[str(COMMAND), *words]) + START.format(path=str(COMMAND))
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment, timeout=60
    )


@pytest.mark.parametrize("words", [("up",), ("up", "--yes"), ("down",)])
def test_without_root_it_refuses_with_status_2(tmp_path: Path, words: tuple[str, ...]) -> None:
    refused = _run_unprivileged(tmp_path, *words)
    assert refused.returncode == 2, refused.stderr
    assert "needs root" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [("load", "x.tar"), ("enforcer", "off"), ("volume", "create", "a")])
def test_acts_on_a_cluster_that_is_not_up_say_how_to_get_one(tmp_path: Path, words: tuple[str, ...]) -> None:
    refused = _run_unprivileged(tmp_path, *words)
    assert refused.returncode == 2
    assert "cluster.py up" in refused.stderr
