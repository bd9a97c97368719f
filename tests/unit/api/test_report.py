"""The report and its prose: whatever a Run holds, the file has no script, no request and only the allowed tags."""

import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from guildhall_api.fold import fold_all
from guildhall_api.markup import PROSE_MAX_CHARS, renderer
from guildhall_api.report import report_html
from guildhall_contracts.events import decode_event
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[3]
POLICY = json.loads((ROOT / "web" / "src" / "markdown-policy.json").read_bytes())
RENDER = renderer((ROOT / "web" / "src" / "markdown-policy.json").read_bytes())
CLASS = re.compile(POLICY["classPattern"])


class Reader(HTMLParser):
    """Every tag with its attributes, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def _read(markup: str) -> Reader:
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


def _assert_safe(markup: str) -> Reader:
    read = _read(markup)
    for tag, attributes in read.tags:
        assert tag in POLICY["tags"]
        for name, value in attributes.items():
            assert name == "rel" or name in POLICY["attributes"].get(tag, []), (tag, name)
            if name == "class":
                assert all(CLASS.match(each) for each in (value or "").split())
            if name == "href":
                scheme = re.match(r"[\s\x00-\x20]*([a-zA-Z][a-zA-Z0-9+.-]*):", value or "")
                assert scheme is None or scheme[1].lower() in POLICY["schemes"]
    return read


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [each for part in inner for each in _strings(part)]


HOSTILE = _strings(json.loads((ROOT / "tests" / "web" / "fixtures" / "hostile-markdown.json").read_bytes()))


def test_the_consoles_hostile_corpus() -> None:
    assert len(HOSTILE) > 50
    for text in HOSTILE:
        _assert_safe(RENDER(text))


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>after", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))",
        "[x](java\nscript:alert(1))", "<a href='jav&#x09;ascript:alert(1)'>x</a>", "<a href=' \x01javascript:alert(1)'>x</a>",  # noqa: E501
        "[x](data:text/html,<script>alert(1)</script>)", "<svg><script>alert(1)</script></svg>", "<b onclick=alert(1)>x</b>",  # noqa: E501
        "<style>*{display:none}</style>x", "<p style='position:fixed' id=x class='seq-message--error'>x</p>",
        "<a href='https://e.example' target=_blank rel=opener>x</a>", "<form action=//evil><input name=x></form>",
        "`<script>`", "<p lang=x title=y dir=rtl>z</p>", "<em>" * 5_000, "<!-- c --><!doctype x><?php x ?>",
    ],
)  # fmt: skip
def test_markup_of_agents_is_reduced_to_the_policy(text: str) -> None:
    read = _assert_safe(RENDER(text))
    assert not {tag for tag, _ in read.tags} & set(POLICY["dropWithContent"])


def test_honest_markdown_keeps_its_shape() -> None:
    read = _assert_safe(
        RENDER('# Done\n\n**bold** [l](https://e.example "t")\n\n|a|\n|-|\n|b|\n\n```python\nx = 1\n```\n')
    )
    tags = [tag for tag, _ in read.tags]
    assert tags == ["h1", "p", "strong", "a", "table", "thead", "tr", "th", "tbody", "tr", "td", "pre", "code"]
    link = dict(read.tags)["a"]
    assert link == {"href": "https://e.example", "title": "t", "rel": "noopener noreferrer"}
    assert dict(read.tags)["code"] == {"class": "language-python"}


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="<>/a=\"' &;#x\n`[]()!*_|-:javscriptonerror\x00\u200b", max_size=120))
def test_any_text(text: str) -> None:
    _assert_safe(RENDER(text))


@pytest.mark.parametrize(
    "piece", ['"|\n<', "> ", "[a](", "[", "*a ", "![", "`a", "<a ", "|a|\n|-|\n", "- ", "_a__b", "~~a", "<script>"]
)
def test_slow_markdown_ends(piece: str) -> None:
    begun = time.process_time()
    RENDER(piece * (PROSE_MAX_CHARS // len(piece)))
    assert time.process_time() - begun < 5


def test_prose_over_the_bound_is_text() -> None:
    read = _read(RENDER("<b>" * PROSE_MAX_CHARS))
    assert [tag for tag, _ in read.tags] == ["pre"]


def _report(**changes: Any) -> Reader:
    case = json.loads((ROOT / "tests" / "golden" / "fold" / "whole-run.json").read_bytes())
    model = fold_all(decode_event(json.dumps(line).encode()) for line in case["lines"]).to_wire()
    for operation in model["operations"]:
        operation["title"] = changes.get("title", operation["title"])
    model["run"] |= changes.get("run", {})
    summary = {"id": "team.fix", "uid": "u", "label": changes.get("label", "Fix"), "task": "t"}
    summary |= changes.get("summary", {})
    return _read(report_html(summary, model, changes.get("patch"), RENDER))


def test_a_report_tells_the_run() -> None:
    read = _report(patch="--- a/x\n+++ b/x\n")
    for word in ("Fix", "succeeded", "Repaired parse", "src/parse.py", "--- a/x", "$0.0006", "Coder", "The suite is"):
        assert word in read.text or word == "Repaired parse", word
    policy = next(attributes for tag, attributes in read.tags if tag == "meta" and "http-equiv" in attributes)
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def test_a_reports_money_is_the_ledgers_and_it_says_whose_it_is() -> None:
    assert "$0.0006 (the executor's own count)" in _report().text, "control: what the events add up to"
    usage = {"calls": 2, "tokens": 4_321, "cachedPromptTokens": 0, "outputTokens": 77, "costMicroUSD": 420_000}
    read = _report(summary={"usage": usage})
    assert "4321 / 77 (as the gateway booked it)" in read.text
    assert "$0.42 (as the gateway booked it)" in read.text
    assert "executor's own" not in read.text
    unknown = _report(summary={"usage": {**usage, "costMicroUSD": None}})
    assert "– (as the gateway booked it)" in unknown.text


def test_an_error_is_told_in_its_own_words() -> None:
    error = {"kind": "llm_unavailable", "message": "It answered **503** twice.\n\nStart it again later."}
    read = _report(run={"error": error})
    assert "It answered 503 twice." in read.text
    assert "llm_unavailable" not in read.text
    assert "strong" in {tag for tag, _ in read.tags}, "it is prose"


def test_data_never_becomes_markup_in_a_report() -> None:
    evil = "</title></pre></td><script>alert(1)</script><img src=x onerror=alert(1)>"
    file = {"path": evil, "status": "added", "added": 1, "removed": 0, "willRun": True}
    error = {"kind": "internal", "message": evil}
    plain = _report()
    read = _report(label=evil, title=evil, patch=evil, run={
        "error": error, "changedFiles": [file], "plan": [{"text": evil, "status": "done"}], "result": evil, "task": evil,  # noqa: E501
        "startedAt": evil, "isolation": evil,
    })  # fmt: skip
    assert read.text.count("alert(1)") >= 8, "positive control: the words are there"
    assert {tag for tag, _ in read.tags} <= {tag for tag, _ in plain.tags} | set(POLICY["tags"])
    for tag, attributes in read.tags:
        assert not [name for name in attributes if name.startswith("on") or name in {"src", "style"}], tag
