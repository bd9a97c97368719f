"""A6: calls nobody foresaw (unknown and look-alike tools, extra keys, wrong types, deep nesting) are refused.

The model is told. Twice: in the executor, where nothing may be handed out, and in the gateway, where nothing may reach
the server, for a caller that skips the executor's checks. The positive control is in each test.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from guildhall_executor.effects import CallModel, RunTool
from support.connections import bench, guild_of
from support.executor_loop import Story, call
from support.executor_run import SOLO, snapshot

DEEP = "[" * 5_000 + "]" * 5_000
CALLS: dict[str, tuple[str, str, str]] = {
    "unknown tool": ("rm_rf", "{}", "unknown_tool"),
    "homoglyph": ("reаd_file", '{"path": "x"}', "unknown_tool"),
    "a hidden character": ("read_file\u200b", '{"path": "x"}', "unknown_tool"),
    "capitals": ("READ_FILE", '{"path": "x"}', "unknown_tool"),
    "an external name nobody offers": ("notes__publish", '{"text": "x"}', "unknown_tool"),
    "no name": ("", "{}", "unknown_tool"),
    "extra key": ("read_file", '{"path": "x", "sudo": true}', "invalid_arguments"),
    "homoglyph key": ("read_file", '{"раth": "x"}', "invalid_arguments"),
    "wrong type": ("read_file", '{"path": ["x"]}', "invalid_arguments"),
    "number as text": ("read_file", '{"path": "x", "max_lines": "5"}', "invalid_arguments"),
    "true for one": ("read_file", '{"path": "x", "max_lines": true}', "invalid_arguments"),
    "a key twice": ("read_file", '{"path": "x", "path": "y"}', "invalid_arguments"),
    "NaN": ("read_file", '{"path": "x", "max_lines": NaN}', "invalid_arguments"),
    "deep": ("read_file", f'{{"path": {DEEP}}}', "invalid_arguments"),
    "no object": ("read_file", '"x"', "invalid_arguments"),
    "cut": ("read_file", '{"path": "x', "invalid_arguments"),
}


@pytest.mark.parametrize(("tool", "arguments", "code"), CALLS.values(), ids=CALLS.keys())
def test_the_executor_hands_none_of_them_out(tool: str, arguments: str, code: str) -> None:
    story = Story(snapshot(SOLO))
    story.reply("", call(tool, arguments, "bad"), call("read_file", {"path": "README.md"}, "good"))
    handed = [effect for effect in story.effects if isinstance(effect, RunTool)]
    assert [effect.tool for effect in handed] == ["read_file"], (
        "positive control: the sound call of the same reply runs"
    )
    assert handed[0].arguments.complete()["path"] == "README.md"
    finished = [event for event in story.events if event.type == "tool.finished"]
    assert [event.error_code for event in finished] == [code]
    story.result("text", of="good")
    shown = [effect for effect in story.effects if isinstance(effect, CallModel)][-1]
    told = b"".join(message.body for message in shown.messages)
    assert code.encode() in told, "the model is told"


READ = "notes__read_note"
EXTERNAL: dict[str, tuple[str, Any]] = {
    "unknown tool": ("notes__rm_rf", {}),
    "another connection": ("other__read_note", {"number": 1}),
    "homoglyph": ("notes__reаd_note", {"number": 1}),
    "no connection": ("read_note", {"number": 1}),
    "a path": ("notes__read_note%2F..%2Fpublish", {"number": 1}),
    "one of the product's own": ("run_shell", {"command": "id"}),
    "extra key": (READ, {"number": 1, "all": True}),
    "homoglyph key": (READ, {"numbеr": 1}),
    "missing key": (READ, {}),
    "wrong type": (READ, {"number": "1"}),
    "a fraction": (READ, {"number": 1.5}),
    "true for one": (READ, {"number": True}),
    "null": (READ, {"number": None}),
    "deep": (READ, {"number": json.loads("[" * 200 + "]" * 200)}),
}


async def test_the_gateway_passes_none_of_them_on(tmp_path: Path) -> None:
    async with bench(tmp_path, guild_of(READ, "notes__publish")) as made:
        for number, (name, (tool, arguments)) in enumerate(EXTERNAL.items()):
            answer = await made.call(tool, arguments, call_id=f"c{number}")
            assert answer.status_code in (404, 422), name
            message = answer.json()["error"]["message"]
            assert 5 < len(message) < 1_200, name
            assert message.isprintable(), name
        assert made.server.told.calls == []
        assert (await made.call(READ, {"number": 1}, call_id="good")).status_code == 200
        assert made.server.told.calls == [("read_note", {"number": 1})]


async def test_a_call_that_is_no_call_is_refused(tmp_path: Path) -> None:
    async with bench(tmp_path) as made:
        sound = {"callId": "c1", "role": "coder", "arguments": {"number": 1}}
        async with made.served.client() as client:
            for change in (
                {"approved": True},
                {"callId": ""},
                {"callId": "a b"},
                {"role": "Coder"},
                {"arguments": [1]},
                {"arguments": None},
                {"effect": "read"},
            ):
                assert (await client.post(f"/v1/tools/{READ}", json=sound | change)).status_code == 422, change
            assert made.server.told.calls == []
            assert (await client.post(f"/v1/tools/{READ}", json=sound)).status_code == 200
