"""What is shortened to make room still says where it came from: data stays data, block by block."""

import json
from typing import Any

import pytest
from guildhall_contracts.content import Block
from guildhall_contracts.external import ExternalTool
from guildhall_contracts.model_api import ToolMessage
from guildhall_contracts.policy import ToolPolicy
from guildhall_executor import compaction, messages
from guildhall_executor.inputs import Began, ToolEnded
from guildhall_executor.messages import Message
from guildhall_executor.tools.result import ToolResult, block
from support.executor_loop import Story, call
from support.executor_run import TEAM, role, snapshot

LONG = 9_000
EXTERNAL = block("x" * LONG, origin="tool", label="external content: connection notes, tool read")
REPORT = block("r" * LONG, origin="model", label="report of role coder")
FILE = block("f" * LONG, origin="workspace", label="file a.py")
SMALL = block("exit code 1", origin="tool", label="status")
MIXED = {
    "external": [EXTERNAL],
    "a report": [REPORT],
    "a file": [FILE],
    "all at once": [EXTERNAL, SMALL, REPORT, FILE],
    "as many as there can be": [SMALL, EXTERNAL, EXTERNAL, EXTERNAL, EXTERNAL, REPORT, FILE, SMALL],
}


def note(_: int) -> Message:
    return messages.user(block("note"))


def shortened(*blocks: Block) -> list[dict[str, Any]]:
    """The blocks of the newest result after a history was shortened as far as can be."""
    head = (messages.system(block("s")), messages.user(block("task")))
    shorter = compaction.compact((*head, messages.tool("c1", "some", *blocks)), 2, note)
    assert shorter is not None
    found: list[dict[str, Any]] = json.loads(shorter[-1].body)["content"]
    return found


@pytest.mark.parametrize("blocks", MIXED.values(), ids=MIXED)
def test_a_shortened_result_says_whose_words_it_holds(blocks: list[Block]) -> None:
    found = shortened(*blocks)
    assert [(b["origin"], b["authority"], b["label"]) for b in found] == [
        (b.origin, b.authority, b.label) for b in blocks
    ]
    for before, after in zip(blocks, found, strict=True):
        assert after["text"][:1] == before.text[:1], "each text stands in its own block"
        assert len(after["text"]) < len(before.text) or before == SMALL
    assert sum(len(b["text"]) for b in found) < compaction.SHORTENED_MAX_BYTES


def test_what_is_short_stays_whole_beside_what_is_long() -> None:
    small, long = shortened(SMALL, FILE)
    assert small["text"] == SMALL.text
    assert "bytes left out here" in long["text"]
    assert len(long["text"]) > compaction.SHORTENED_MAX_BYTES // 3, "it has the room the other does not need"


def label_of(story: Story, name: str) -> tuple[str, str, str, bool]:
    """Origin, authority, label and whether it was cut of the newest result of a tool, as the model is shown it."""
    shown = next(m for m in reversed(story.messages) if isinstance(m, ToolMessage) and m.name == name)
    (only,) = shown.content
    return only.origin, only.authority, only.label, "bytes left out here" in only.text


def overflown(story: Story) -> Story:
    """Told that the context is too small: nothing is old enough to drop, so the newest results are shortened."""
    story.fails("context_overflow")
    assert story.state.ending is None
    return story


def test_an_external_result_stays_external_in_the_request_after_an_overflow() -> None:
    read = ToolPolicy(effect="read")
    tool = ExternalTool(name="notes__read", description="d", parameters={"type": "object"}, policy=read)
    guild = {"entryRole": "solo", "models": {"main": "scripted:x"}, "roles": [role("solo", ["notes__read"])]}
    story = Story(snapshot(guild), Began(external=[tool])).reply("", call("notes__read", {}))
    story.put(ToolEnded(op=story.running("notes__read")[0].op, result=ToolResult(blocks=[EXTERNAL])))
    expected = (EXTERNAL.origin, "data", EXTERNAL.label)
    assert label_of(story, "notes__read") == (*expected, False)
    assert label_of(overflown(story), "notes__read") == (*expected, True)


def test_a_report_stays_a_report_in_the_request_after_an_overflow() -> None:
    story = Story(snapshot(TEAM)).reply("", call("delegate", {"role": "coder", "brief": "do it"}))
    story.reply("", call("finish", {"result": "r" * LONG}), role="coder")
    expected = ("model", "data", "report of role coder")
    assert label_of(story, "delegate") == (*expected, False)
    assert label_of(overflown(story), "delegate") == (*expected, True)
