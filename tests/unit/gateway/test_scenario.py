"""Scenarios: what is expected is noticed to the byte, what is wrong in a file is named, and turns have no memory."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from guildhall_contracts.content import INQUIRY_LABEL
from guildhall_contracts.model_api import ModelRequest
from guildhall_gateway.providers.base import ProviderFailure
from guildhall_gateway.providers.scripted import ScriptedProvider
from guildhall_gateway.scenario import SHOWN_MAX_CHARS, Expect, ScenarioError, mismatch, parse_scenario, turn_of
from hypothesis import given
from hypothesis import strategies as st
from unit.gateway import kit

ROOT = Path(__file__).parents[3]
RESULT = "line one\nline two\n"


def shown(*results: str, turns: int = 1, user: str = "do it") -> ModelRequest:
    """A request in which the role spoke `turns` times; the results answer its last turn."""
    messages: list[dict[str, Any]] = [{"kind": "user", "content": [kit.block(user)]}]
    for turn in range(turns):
        calls = [{"id": f"{turn}-{index}", "name": "read_file", "arguments": "{}"} for index in range(len(results))]
        messages.append({"kind": "assistant", "text": "x", "toolCalls": calls})
        last = turn == turns - 1
        for index, text in enumerate(results):
            content = [kit.block(text if last else "an older result", "workspace", "data")]
            messages.append({"kind": "tool", "call": f"{turn}-{index}", "name": "read_file", "content": content})
    return ModelRequest.model_validate(kit.request(messages=messages))


def unmet(expect: dict[str, Any], request: ModelRequest) -> str | None:
    found = mismatch(Expect.model_validate(expect), request.messages)
    return None if found is None else found.where


SHA = hashlib.sha256(RESULT.encode()).hexdigest()


@pytest.mark.parametrize("match", [{"equals": RESULT}, {"sha256": SHA}])
@given(at=st.integers(0, len(RESULT) - 1), bit=st.integers(0, 6))
def test_any_flipped_bit_is_noticed(match: dict[str, str], at: int, bit: int) -> None:
    flipped = RESULT[:at] + chr(ord(RESULT[at]) ^ (1 << bit)) + RESULT[at + 1 :]
    assert unmet({"lastToolResult": match}, shown(RESULT)) is None
    assert unmet({"lastToolResult": match}, shown(flipped)) == "lastToolResult"


@pytest.mark.parametrize("changed", [RESULT + " ", RESULT[:-1], " " + RESULT, RESULT.replace("\n", "\r\n"), ""])
@pytest.mark.parametrize("match", [{"equals": RESULT}, {"sha256": SHA}])
def test_more_and_less_is_noticed(match: dict[str, str], changed: str) -> None:
    assert unmet({"lastToolResult": match}, shown(changed)) == "lastToolResult"


@pytest.mark.parametrize(
    ("match", "good", "bad"),
    [
        ({"contains": "two"}, RESULT, "line one"),
        ({"contains": ["one", "two"]}, RESULT, "one"),
        ({"lacks": "three"}, RESULT, "three"),
        ({"regex": r"two\n\Z"}, RESULT, "two, too"),
        ({"contains": "one", "lacks": "three"}, RESULT, "one three"),
    ],
)
def test_each_condition_can_hold_and_can_fail(match: dict[str, Any], good: str, bad: str) -> None:
    assert unmet({"lastToolResult": match}, shown(good)) is None
    assert unmet({"lastToolResult": match}, shown(bad)) == "lastToolResult"


def test_every_result_of_the_last_turn_is_compared_in_order() -> None:
    both = {"toolResults": [{"equals": "a"}, {"equals": "b"}]}
    assert unmet(both, shown("a", "b")) is None
    assert unmet(both, shown("b", "a")) == "toolResults[0]"
    assert unmet(both, shown("a")) == "toolResults"
    assert unmet(both, shown("a", "b", "c")) == "toolResults"
    assert unmet(both, shown("a", "b", turns=3)) is None, "older results do not count"
    assert unmet({"toolResults": []}, shown("a")) == "toolResults"


def test_what_was_not_shown_at_all_is_a_mismatch() -> None:
    assert unmet({"lastToolResult": {"contains": ""} | {"lacks": "x"}}, shown(turns=0)) == "lastToolResult"
    assert unmet({"system": {"contains": "be good"}}, shown()) == "system"
    assert unmet({"lastUser": {"equals": "do it"}}, shown()) is None


def test_both_texts_are_shown_around_their_difference() -> None:
    long = "x" * 50_000
    found = mismatch(
        Expect.model_validate({"lastToolResult": {"equals": long + "GOOD" + long}}),
        shown(long + "BAD!" + long).messages,
    )
    assert found is not None
    assert "GOOD" in found.expected
    assert "BAD!" in found.shown
    assert len(found.expected) <= SHOWN_MAX_CHARS + 2


def test_the_turn_is_counted_from_the_messages() -> None:
    assert [turn_of(shown("a", turns=turns)) for turns in (0, 1, 5)] == [0, 1, 5]


BROKEN = {
    "not yaml": "name: [",
    "a tag": "name: !!python/object/apply:os.system ['true']",
    "a list": "- a",
    "no roles": "name: x",
    "unknown field": "name: x\nroles: {coder: [{reply: {text: x}, surprise: 1}]}",
    "no condition": "name: x\nroles: {coder: [{expect: {lastUser: {}}, reply: {text: x}}]}",
    "a bad expression": "name: x\nroles: {coder: [{expect: {lastUser: {regex: '('}}, reply: {text: x}}]}",
    "nothing to say": "name: x\nroles: {coder: [{delaySeconds: 1}]}",
    "a fault that ends in nothing": "name: x\nroles: {coder: [{fault: {kind: '500', firstTries: 1}}]}",
    "an unknown fault": "name: x\nroles: {coder: [{fault: 418}]}",
    "a bad hash": "name: x\nroles: {coder: [{expect: {lastUser: {sha256: abc}}, reply: {text: x}}]}",
    "a bad name": "name: ../x\nroles: {coder: [{reply: {text: x}}]}",
    "not utf-8": b"name: \xff\xfe",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_named_and_never_raises_anything_else(text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(ScenarioError, match=r"^x\.yaml: "):
        parse_scenario(data, "x.yaml")


def check(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "guildhall_gateway.scenario", "check", *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_says_which_file_is_wrong(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("name: x\nroles: {coder: [{reply: {text: x}}]}")
    bad.write_text(BROKEN["unknown field"].__str__())
    assert check(good).returncode == 0
    found = check(good, bad, tmp_path / "none.yaml")
    assert found.returncode == 1
    assert "bad.yaml: roles.coder.0.surprise" in found.stderr
    assert "none.yaml" in found.stderr
    assert check().returncode == 2


def test_every_committed_scenario_is_valid() -> None:
    files = [*ROOT.glob("examples/scenarios/*.yaml"), *ROOT.glob("tests/*/scenarios/*.yaml")]
    assert files
    for path in files:
        assert parse_scenario(path.read_bytes(), path.name).name == path.stem


def test_the_example_in_the_documentation_is_valid() -> None:
    text = (ROOT / "docs" / "scenarios.md").read_text()
    block = text.split("```yaml\n")[1].split("```")[0]
    scenario = parse_scenario(block.encode(), "docs")
    assert len(scenario.roles["coder"]) == 2
    assert yaml.safe_load(block)["name"] == "greeting"


async def test_a_mismatch_ends_with_both_texts(tmp_path: Path) -> None:
    steps = [kit.SAY_HI, {"expect": {"lastToolResult": {"equals": RESULT}}, "reply": {"text": "right"}}]
    kit.scenario(tmp_path, "hi", steps)
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        good = shown(RESULT).to_wire() | {"callId": "good"}
        assert (await served.model(good))[-1]["reply"]["text"] == "right"
        bad = shown(RESULT.replace("two", "twO")).to_wire() | {"callId": "bad"}
        failure = (await served.model(bad))[-1]["failure"]["error"]
        assert (failure["kind"], failure["retryable"]) == ("llm_refused", False)
        assert failure["detail"]["expected"] == RESULT
        assert failure["detail"]["shown"] == RESULT.replace("two", "twO")
        assert "twO" in failure["message"]
        late = shown(RESULT, turns=9).to_wire() | {"callId": "late"}
        failure = (await served.model(late))[-1]["failure"]["error"]
        assert (failure["kind"], failure["detail"]["shown"]) == ("llm_refused", "turn 10 was asked for")
        row = (await served.gateway.ledger.calls("run-1"))[1]
        assert (row.state, row.cost_micro_usd) == ("failed", 0)


async def test_a_new_scenario_is_seen_without_a_restart(tmp_path: Path) -> None:
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        assert (await served.model(kit.request("c1")))[-1]["failure"]["error"]["kind"] == "llm_refused"
        kit.scenario(tmp_path, "hi", [kit.SAY_HI])
        (tmp_path / "scenarios" / "broken.yaml").write_text("name: [")
        assert (await served.model(kit.request("c2")))[-1]["reply"]["text"] == "hi"


async def test_raw_arguments_go_out_as_they_are(tmp_path: Path) -> None:
    calls = [{"name": "a", "arguments": {"x": "ä"}}, {"name": "b", "rawArguments": '{"x": '}]
    kit.scenario(tmp_path, "hi", [{"reply": {"toolCalls": calls, "stopReason": "max_tokens"}}])
    async with kit.serve(tmp_path) as served:
        served.cluster.add_run()
        reply = (await served.model(kit.request()))[-1]["reply"]
        assert [call["arguments"] for call in reply["toolCalls"]] == ['{"x": "ä"}', '{"x": ']
        assert len({call["id"] for call in reply["toolCalls"]}) == 2
        assert reply["stopReason"] == "max_tokens"


async def test_an_inquiry_is_answered_beside_the_turns_of_a_role(tmp_path: Path) -> None:
    data = {
        "name": "hi",
        "roles": {"coder": [{"reply": {"text": "turn"}}]},
        "inquiries": [
            {"expect": {"lastUser": {"contains": "cost"}}, "reply": {"text": "little"}},
            {"expect": {"lastUser": {"contains": "far"}}, "reply": {"text": "half way"}},
        ],
    }
    (tmp_path / "hi.yaml").write_text(json.dumps(data))
    provider = ScriptedProvider(tmp_path)

    def asked(text: str) -> ModelRequest:
        blocks = [kit.block("answer in words"), kit.block(text) | {"label": INQUIRY_LABEL}]
        return ModelRequest.model_validate(kit.request(messages=[{"kind": "user", "content": blocks}]))

    async def said(request: ModelRequest) -> str:
        return "".join([piece async for piece in provider.stream(request, 1) if isinstance(piece, str)])

    assert await said(asked("how far?")) == "half way"
    assert await said(ModelRequest.model_validate(kit.request())) == "turn"
    with pytest.raises(ProviderFailure):
        await said(asked("why?"))
