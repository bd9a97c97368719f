"""Building the workshop: several at once, as tests do that run side by side, and each gets a whole binary."""

import subprocess
from pathlib import Path

import pytest
from support.workshop import SOURCES

pytestmark = pytest.mark.go


def test_builds_side_by_side_leave_one_whole_binary_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "bin" / "guildhall-workshop"
    builds = [
        subprocess.Popen(
            ["sh", str(SOURCES / "build.sh"), str(target)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for _ in range(4)
    ]
    for build in builds:
        said, _ = build.communicate(timeout=120)
        assert (build.returncode, said.decode().strip()) == (0, str(target)), said
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    done = subprocess.run([str(target), "no-such-command"], check=False, capture_output=True, timeout=10)
    assert done.returncode == 2, done.stderr
