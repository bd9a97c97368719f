"""Promise: one flipped byte in any tool result of an example's scenario is noticed, and both texts are shown."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from guildhall_contracts.model_api import ModelRequest, ToolMessage
from guildhall_gateway.providers.base import ProviderFailure, ProviderReply
from guildhall_gateway.providers.scripted import ScriptedProvider
from guildhall_gateway.scenario import Expect, mismatch, parse_scenario
from unit.gateway import kit

FOLDER = Path(__file__).parents[3] / "examples" / "scenarios"
DEMO = "fix-cachetools"
RECORDED = (DEMO, "review-cachetools", "upgrade-cachetools")


@dataclass(frozen=True)
class Turn:
    """One turn of a scenario's role, and the tool results that answer what the role asked for before."""

    scenario: str
    role: str
    number: int
    calls: int
    expect: Expect

    def request(self, results: list[str]) -> ModelRequest:
        messages: list[dict[str, Any]] = [{"kind": "user", "content": [kit.block("do it")]}]
        for turn in range(self.number):
            ids = [f"{turn}-{index}" for index in range(len(results) if turn == self.number - 1 else 0)]
            calls = [{"id": id_, "name": "run_shell", "arguments": "{}"} for id_ in ids]
            messages.append({"kind": "assistant", "text": "x", "toolCalls": calls})
            for id_, text in zip(ids, results, strict=False):
                content = [kit.block(text, "workspace", "data")]
                messages.append({"kind": "tool", "call": id_, "name": "run_shell", "content": content})
        body = kit.request(model=f"scripted:{self.scenario}", role=self.role, messages=messages)
        return ModelRequest.model_validate(body)

    @property
    def good(self) -> list[str]:
        return [match.equals or "" for match in self.expect.tool_results or []]


def turns_of(name: str) -> list[Turn]:
    """Every turn but the first of each role."""
    scenario = parse_scenario((FOLDER / f"{name}.yaml").read_bytes(), name)
    return [
        Turn(name, role, number, len(before.reply.tool_calls) if before.reply else 0, step.expect)
        for role, steps in scenario.roles.items()
        for number, (before, step) in enumerate(pairwise(steps), 1)
    ]


TURNS = [turn for name in RECORDED for turn in turns_of(name)]
PLACES = [(turn, at) for turn in TURNS for at in range(len(turn.good))]


def flipped(text: str, at: int) -> str:
    return text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]


def test_the_demo_expects_every_result_it_is_given_to_the_byte() -> None:
    for turn in turns_of(DEMO):
        assert turn.calls, turn
        matches = turn.expect.tool_results or []
        assert len(matches) == turn.calls, f"{turn.role}, turn {turn.number + 1}: a result is not looked at"
        assert all(match.equals for match in matches), f"{turn.role}, turn {turn.number + 1}: not to the byte"


@pytest.mark.parametrize(
    ("turn", "at"), PLACES, ids=[f"{turn.scenario}-{turn.role}-{turn.number + 1}-{at}" for turn, at in PLACES]
)
def test_a_flipped_byte_at_any_place_of_a_result_is_noticed(turn: Turn, at: int) -> None:
    good = turn.good
    request = turn.request(good)
    assert mismatch(turn.expect, request.messages) is None, "control"
    where = len(request.messages) - len(good) + at
    shown = request.messages[where]
    assert isinstance(shown, ToolMessage)
    for place in range(len(good[at])):
        block = shown.content[0].model_copy(update={"text": flipped(good[at], place)})
        other = shown.model_copy(update={"content": [block]})
        unmet = mismatch(turn.expect, [*request.messages[:where], other, *request.messages[where + 1 :]])
        assert unmet is not None, place
        assert unmet.where == f"toolResults[{at}]"
        assert unmet.expected != unmet.shown


@pytest.mark.parametrize(
    ("turn", "at"), PLACES, ids=[f"{turn.scenario}-{turn.role}-{turn.number + 1}-{at}" for turn, at in PLACES]
)
async def test_the_scripted_model_refuses_with_both_texts(turn: Turn, at: int) -> None:
    provider = ScriptedProvider(FOLDER)
    said = [piece async for piece in provider.stream(turn.request(turn.good), 1)]
    assert isinstance(said[-1], ProviderReply), "control: the true results are answered"
    bad = turn.good
    bad[at] = flipped(bad[at], len(bad[at]) // 2)
    with pytest.raises(ProviderFailure) as failure:
        [piece async for piece in provider.stream(turn.request(bad), 1)]
    error = failure.value.error.error
    assert (error.kind, error.retryable, error.detail["where"]) == ("llm_refused", False, f"toolResults[{at}]")
    expected, shown = error.detail["expected"], error.detail["shown"]
    assert len(expected) == len(shown)
    assert sum(left != right for left, right in zip(expected, shown, strict=True)) == 1
    assert expected in error.message
    assert shown in error.message
