"""`up` says what it costs before it costs it: the build where there is none yet, nothing where nothing is to do."""

from pathlib import Path

import pytest
from cluster.embedded import build, ground, lifecycle
from cluster.embedded.layout import Layout


@pytest.mark.parametrize(
    ("built", "packages", "told"),
    [
        (False, [], [lifecycle.COST, lifecycle.BUILD_COST]),
        (True, ["ipset"], [lifecycle.COST]),
        (True, [], []),
    ],
)
def test_the_build_is_told_of_the_first_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: bool, packages: list[str], told: list[str]
) -> None:
    programs = tmp_path / "bin"
    if built:
        programs.mkdir()
    said: list[str] = []
    monkeypatch.setattr(lifecycle, "say", said.append)
    monkeypatch.setattr(build, "binaries", lambda _: programs)
    monkeypatch.setattr(build, "build", lambda _: programs)
    for name in ("check_go", "check_alone", "install"):
        monkeypatch.setattr(ground, name, lambda *_: None)
    monkeypatch.setattr(ground, "missing_packages", lambda *_: packages)
    assert lifecycle._prepare_binaries(Layout(tmp_path, tmp_path), yes=True) == programs
    assert said == told
    assert "first time" in lifecycle.BUILD_COST
    assert "first time" not in lifecycle.COST
