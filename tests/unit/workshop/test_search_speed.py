"""`search_files` keeps pace with GNU grep; the bench that measures it runs here on a tree of a size that tells."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[3] / "bench" / "search_files.py"


@pytest.mark.skipif(shutil.which("grep") is None, reason="needs GNU grep to compare with")
def test_a_search_costs_at_most_three_times_what_grep_does() -> None:
    """Processor time, so that other work on the machine does not count; a search in Python must miss the bound."""
    command = [sys.executable, BENCH, "--files", "30000", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=170)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["badVariant"]["cpuRatio"] > 3, "positive control"
    assert report["rare text"]["workshop"]["matches"] == 10
