"""The configuration is closed: what it does not know it refuses, with the field's name."""

import json
from pathlib import Path

import pytest
from guildhall_operator.config import ConfigError, load_config, parse_config
from unit.operator import kit

GOOD = kit.config().to_wire()


def test_what_the_chart_writes_is_read_back() -> None:
    assert parse_config(json.dumps(GOOD), "here") == kit.config()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"isolation": {"required": False}}, "isolation.required"),
        ({"runNamespaces": []}, "runNamespaces"),
        ({"maxConcurrentRuns": 0}, "maxConcurrentRuns"),
        ({"hostuser": False}, "hostuser"),
        ({"images": {"executor": "x"}}, "images.workshop"),
    ],
)
def test_a_mistake_is_named(change: dict[str, object], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        parse_config(json.dumps({**GOOD, **change}), "here")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a":' * 2_000])
def test_what_is_no_configuration_is_said(text: str) -> None:
    with pytest.raises(ConfigError, match="here"):
        parse_config(text, "here")


def test_the_file_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.json"
    monkeypatch.setenv("GUILDHALL_CONFIG", str(path))
    with pytest.raises(ConfigError, match="GUILDHALL_CONFIG"):
        load_config()
    path.write_text(json.dumps(GOOD))
    assert load_config() == kit.config()
