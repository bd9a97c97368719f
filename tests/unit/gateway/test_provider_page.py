"""`docs/providers.md` says what the gateway does: names, key files, prices, and the words of every failure."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from guildhall_gateway.prices import TokenCount, listed_pricing
from guildhall_gateway.providers.base import broke_off, failure_of_status, garbage_answer, gave_up, overflowed
from guildhall_gateway.providers.faults import failure_of
from guildhall_gateway.providers.pydantic_ai import connect, key_of
from pydantic_ai import exceptions
from support.chart import ROOT, render

PAGE = (ROOT / "docs" / "providers.md").read_text()
WHO = "openai:gpt-5"


def cells(heading: str) -> list[list[str]]:
    """The rows of the table below a heading."""
    rows = [line for line in PAGE.split(f"## {heading}\n")[1].split("\n## ")[0].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[1:] if not row.startswith("|---")]


def named() -> dict[str, tuple[str, list[str]]]:
    """Provider → its key file and the models the page names; those with a name of their own."""
    return {
        row[0].strip("`"): (row[2].strip("`"), re.findall(r"`([^`]+)`", row[3]))
        for row in cells("Setting one up")
        if row[0].startswith("`") and row[0] != "`scripted`"
    }


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE", "OPENAI_CHAT", "LOCAL"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
    return tmp_path


def test_each_provider_is_there_with_the_key_file_it_names_and_not_without(keys: Path) -> None:
    assert set(named()) == {"anthropic", "openai", "openai-chat", "google"}
    for name, (file, _) in named().items():
        assert connect(name, keys, {}) is None
        (keys / file).write_text("sk-test\n")
        assert key_of(name, keys) == "sk-test"
        assert connect(name, keys, {}) is not None
        (keys / file).unlink()
    assert connect("local", keys, {"local": "http://vllm.models.svc:8000/v1"}) is not None, "no key is wanted"


def test_the_models_it_names_have_prices_and_a_server_of_ones_own_has_none() -> None:
    count = TokenCount(prompt=1_000, output=1_000)
    for name, (_, models) in named().items():
        assert models
        for model in models:
            assert listed_pricing(f"{name}:{model}")(count), f"{name}:{model}"
    assert listed_pricing("local:qwen3")(count) is None


def test_the_values_it_shows_are_values_of_the_chart() -> None:
    blocks = [textwrap.dedent(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    assert len(blocks) == 2
    for block in blocks:
        assert render(yaml.safe_load(block))


def _http(status: int, body: Any = None) -> exceptions.ModelHTTPError:
    return exceptions.ModelHTTPError(status, "gpt-5", body)


def test_the_failures_it_lists_are_in_the_gateway_s_words() -> None:
    said = {
        failure.error.error.message
        for failure in (
            failure_of(WHO, _http(401)),
            failure_of(WHO, _http(429, {"error": {"code": "insufficient_quota"}})),
            failure_of(WHO, _http(404)),
            failure_of(WHO, exceptions.ModelConnectionError("gpt-5", "no route")),
            garbage_answer(WHO),
            failure_of_status(WHO, 429, 20),
            failure_of_status(WHO, 429),
            broke_off(WHO),
            gave_up(WHO),
            overflowed(WHO, "unknown"),
        )
    }
    source = "".join(path.read_text() for path in (ROOT / "gateway").rglob("*.py"))
    listed = [row[1].strip("`") for row in cells("What goes wrong, and what it looks like")]
    for message in listed:
        plain = re.sub(r"\{[^}]*\}", "", source)
        pieces = [piece.strip("; ") for piece in re.split(r"'openai:gpt-5'|scripted:\*|…", message)]
        assert message in said or all(piece in plain for piece in pieces if piece), message
    assert len(said & set(listed)) == len(said), said - set(listed)
