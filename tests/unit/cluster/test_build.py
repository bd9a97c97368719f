"""The version is read from go.mod, and every source that matters moves the fingerprint."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from cluster.embedded import build, configs, images
from cluster.embedded.errors import StepError
from cluster.embedded.layout import SOURCES, Layout


def test_the_stamped_version_is_the_pinned_one() -> None:
    version = build.kubernetes_version((SOURCES / "go.mod").read_text())
    assert f"-X k8s.io/component-base/version.gitVersion={version}" in build.flags(version)[-1]
    with pytest.raises(StepError, match="names no version"):
        build.kubernetes_version("module x\n")


def test_fingerprint_covers_both_modules_and_every_program() -> None:
    names = {str(path.relative_to(SOURCES)) for path in build.sources()}
    assert {"go.mod", "go.sum", "dns/go.mod", "dns/go.sum", "dns/main.go", "cmd/kcluster/main.go"} <= names
    assert build.fingerprint(build.sources()) != build.fingerprint(build.sources()[1:])


def test_configs_are_readable_and_carry_the_choices(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state", tmp_path / "cache")
    texts = configs.files(layout, configs.Options(log_max_size="1Mi"), Path("/usr/lib/cni"))
    kubelet = json.loads(texts[layout.etc / "kubelet.yaml"])
    assert kubelet["containerLogMaxSize"] == "1Mi"
    assert kubelet["podPidsLimit"] == 512
    containerd = tomllib.loads(texts[layout.etc / "containerd.toml"])
    runtime = containerd["plugins"]["io.containerd.cri.v1.runtime"]
    assert runtime["restrict_oom_score_adj"] is True
    assert runtime["containerd"]["runtimes"]["runc"]["options"]["Root"] == str(layout.state / "runc")


def test_an_archive_is_the_same_for_the_same_content() -> None:
    entries = {"bin": images.Entry(), "bin/a": images.Entry(b"x"), "bin/b": images.Entry(link="a")}
    assert images.archive("r:1", entries, {}) == images.archive("r:1", entries, {})
    assert images.archive("r:1", entries, {}) != images.archive("r:1", {**entries, "c": images.Entry(b"y")}, {})
