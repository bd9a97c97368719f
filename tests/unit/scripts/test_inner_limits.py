"""The page of the bounds that modules keep for themselves has each of them, and nothing else."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

from inner_limits import inner_limits_md  # noqa: E402

MODULE = '''"""Reads answers. Guards against long ones.

More words.
"""

from typing import Final

ANSWER_MAX_BYTES: Final = 64 * 1024
_TRIES_MAX_COUNT: Final = 3  # then it is given up | for good
PAUSE_SECONDS: Final = 2.0
'''


def test_a_bound_has_its_value_and_its_modules_word(tmp_path: Path) -> None:
    folder = tmp_path / "gateway" / "guildhall_gateway" / "adapters"
    folder.mkdir(parents=True)
    (folder / "answers.py").write_text(MODULE)
    rows = [line for line in inner_limits_md(tmp_path).splitlines() if line.startswith("| `")]
    assert rows == [
        "| `adapters/answers.py` | `ANSWER_MAX_BYTES` | `64 * 1024` | Reads answers. Guards against long ones. |",
        "| `adapters/answers.py` | `TRIES_MAX_COUNT` | `3` | then it is given up \\| for good |",
    ]


def test_a_bound_the_page_could_not_list_is_refused_by_name_and_line(tmp_path: Path) -> None:
    folder = tmp_path / "api" / "guildhall_api"
    folder.mkdir(parents=True)
    (folder / "pages.py").write_text("PAUSE_SECONDS = 2.0\n_PAGES_MAX_COUNT = 3\n")
    with pytest.raises(SystemExit, match=r"pages\.py:2: write `_PAGES_MAX_COUNT: Final"):
        inner_limits_md(tmp_path)


def test_every_component_is_on_the_page() -> None:
    page = (ROOT / "docs" / "inner-limits.md").read_text()
    for heading in ("## Operator", "## Executor", "## Gateway", "## Api"):
        assert heading in page
    assert "`BODY_MAX_BYTES`" in page
