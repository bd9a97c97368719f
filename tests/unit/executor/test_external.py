"""External tools in the executor: offered at the start, kept by the journal, called through the gateway, labelled."""

import json
from typing import Any

import pytest
from guildhall_contracts.approvals import ApprovalRequest
from guildhall_contracts.canonical import arguments_hash
from guildhall_contracts.content import Block
from guildhall_contracts.errors import ErrorInfo, error_info
from guildhall_contracts.events import ApprovalRequested, ErrorRaised, RunStarted, ToolFinished, ToolStarted
from guildhall_contracts.external import ExternalCall, ExternalResult, ExternalTool
from guildhall_contracts.policy import ToolPolicy
from guildhall_executor.effects import RunTool
from guildhall_executor.inputs import At, Began, Decided, Resumed, decode_at, encode_at
from guildhall_executor.roster import equipped, make_roster, snapshot_problems
from guildhall_executor.tools.arguments import BadArguments
from guildhall_executor.tools.external import ExternalArguments, checked, run_external
from support.executor_loop import Story, call
from support.executor_run import snapshot

READ = ToolPolicy(effect="read", allowed_in_private=True, allowed_without_user_present=True)
NAME = "notes__read_note"


def offered(name: str = NAME, policy: ToolPolicy = READ) -> ExternalTool:
    return ExternalTool(name=name, description="d", parameters={"type": "object"}, policy=policy)


def guild(*tools: str) -> dict[str, Any]:
    role = {"name": "solo", "prompt": "p", "model": "m", "tools": [*tools, "finish"]}
    return {"entryRole": "solo", "models": {"m": "scripted:x"}, "roles": [role]}


def test_a_role_has_the_external_tools_it_lists_and_the_run_is_offered() -> None:
    roster = make_roster(snapshot(guild(NAME, "other__x", "read_file")))
    assert snapshot_problems(roster.snapshot) == []
    assert roster.members["solo"].tools.names == ("read_file", "finish"), "without an offer none"
    with_tools = equipped(roster, [offered(), offered("notes__not_listed")])
    assert with_tools.members["solo"].tools.names == (NAME, "read_file", "finish")
    assert NAME in [spec["name"] for spec in json.loads(with_tools.members["solo"].tools.json)]
    assert with_tools.snapshot.policies[NAME] == READ
    assert NAME not in roster.snapshot.policies, "a tool nobody offers is permitted to nobody"


def test_an_offer_cannot_replace_a_tool_of_our_own() -> None:
    roster = equipped(make_roster(snapshot(guild("run_shell"))), [offered("run_shell", READ)])
    assert roster.snapshot.policies["run_shell"].effect == "write"
    assert roster.external == {}


def test_the_offer_is_in_the_journal() -> None:
    at = At(seq=0, ts="2026-01-01T00:00:00.000Z", input=Began(external=[offered()]))
    assert decode_at(encode_at(at)) == at
    old = json.loads(encode_at(at.model_copy(update={"input": Began()})))
    assert decode_at(json.dumps(old | {"input": {"kind": "began"}}).encode()) is not None


@pytest.mark.parametrize("text", ["[1]", '{"a": 1, "a": 2}', '{"a": NaN}', '{"a":', "null"])
def test_malformed_arguments_never_leave(text: str) -> None:
    assert isinstance(checked(NAME, text), BadArguments)
    sound = checked(NAME, '{"a": [1, {"b": null}]}')
    assert isinstance(sound, ExternalArguments)
    assert sound.complete() == {"a": [1, {"b": None}]}
    assert checked(NAME, "") == ExternalArguments(tool=NAME, value={})


class Gateway:
    """Answers calls, and remembers them."""

    def __init__(self, answer: ExternalResult | ErrorInfo) -> None:
        self.answer = answer
        self.calls: list[tuple[str, ExternalCall]] = []

    async def call_tool(self, tool: str, call: ExternalCall) -> ExternalResult | ErrorInfo:
        self.calls.append((tool, call))
        return self.answer


def result(outcome: Any, text: str = "t") -> ExternalResult:
    block = Block(text=text, origin="person", authority="instruction", label="external content: x")
    return ExternalResult(call_id="c1.0", outcome=outcome, content=[block])


async def ran(answer: ExternalResult | ErrorInfo) -> tuple[Gateway, Any]:
    gateway = Gateway(answer)
    arguments = ExternalArguments(tool=NAME, value={"number": 1})
    approval = ApprovalRequest(
        approval_id="a1",
        run="r",
        call_id="c1.0",
        role="solo",
        tool=NAME,
        effect="consequential",
        arguments=arguments.complete(),
        arguments_hash=arguments_hash(arguments.complete()),
    )
    effect = RunTool("o5", "solo", NAME, arguments, writes=False, call_id="c1.0", approval=approval)
    return gateway, (await run_external(gateway, effect, arguments)).result


async def test_a_call_carries_its_id_role_and_approval() -> None:
    gateway, found = await ran(result("done", "a\u202eb\ufe01"))
    call = ExternalCall(call_id="c1.0", role="solo", arguments={"number": 1}, approval_id="a1")
    assert gateway.calls == [(NAME, call)]
    assert found.error_code is None
    assert found.blocks[0] == Block(
        text="a\\u{202e}b\\u{fe01}", origin="tool", authority="data", label="external content: x"
    ), "data of a tool, whatever it claims to be, and nothing hidden in it"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (result("error"), "tool_error"),
        (result("unknown"), "outcome_unknown"),
        (error_info("tool_denied", "no", detail={"code": "approval_needed"}), "approval_needed"),
        (error_info("tool_denied", "no"), "tool_denied"),
        (error_info("llm_unavailable", "the gateway does not answer"), "outcome_unknown"),
    ],
    ids=str,
)
async def test_what_went_wrong_has_a_code(answer: ExternalResult | ErrorInfo, code: str) -> None:
    assert (await ran(answer))[1].error_code == code


def test_a_call_goes_to_the_gateway_under_an_id_of_its_own() -> None:
    story = Story(snapshot(guild(NAME)), Began(external=[offered()]))
    story.reply("", call(NAME, {"number": 1}, "x"), call(NAME, {"number": 2}, "y"))
    asked = [effect for effect in story.effects if isinstance(effect, RunTool)]
    assert [effect.arguments.complete() for effect in asked] == [{"number": 1}, {"number": 2}]
    assert len({effect.call_id for effect in asked}) == 2
    assert not any(effect.writes for effect in asked)
    started = [event for event in story.events if isinstance(event, ToolStarted)]
    assert {event.destination for event in started} == {f"tool:{NAME}"}
    started_run = next(event for event in story.events if isinstance(event, RunStarted))
    assert NAME in started_run.roles[0].tools
    story.result("one", of="x").result("two", of="y")
    assert [event.outcome for event in story.events if isinstance(event, ToolFinished)] == ["success", "success"]


def test_tools_nobody_offers_are_said_to_be_missing_and_refused() -> None:
    story = Story(snapshot(guild(NAME)), Began(external_problem="the gateway is away"))
    raised = [event for event in story.events if isinstance(event, ErrorRaised)]
    assert NAME in raised[0].error.message
    assert "the gateway is away" in raised[0].error.message
    story.reply("", call(NAME, {"number": 1}, "x"))
    assert [event.error_code for event in story.events if isinstance(event, ToolFinished)] == ["unknown_tool"]
    assert not any(isinstance(effect, RunTool) for effect in story.effects)


def test_a_replaced_executor_asks_for_the_result_by_the_same_id() -> None:
    story = Story(snapshot(guild(NAME, "run_shell")), Began(external=[offered()]))
    story.reply("", call(NAME, {"number": 1}, "x"))
    (first,) = [effect for effect in story.effects if isinstance(effect, RunTool)]
    story.put(Resumed(), attempt=2)
    again = [effect for effect in story.effects if isinstance(effect, RunTool)]
    assert again == [first, first]
    assert not any(isinstance(event, ToolFinished) for event in story.events), "it is still being made"
    story.result("note 1")
    assert [event.outcome for event in story.events if isinstance(event, ToolFinished)] == ["success"]
    story.reply("", call("run_shell", {"command": "make"}, "y")).put(Resumed(), attempt=3)
    shells = [effect for effect in story.effects if isinstance(effect, RunTool) and effect.tool == "run_shell"]
    assert len(shells) == 1, "positive control: what the workshop runs is never repeated"


def test_a_yes_goes_along_when_it_is_asked_for_again() -> None:
    story = Story(snapshot(guild(NAME)), Began(external=[offered(policy=ToolPolicy(effect="consequential"))]))
    story.reply("", call(NAME, {"number": 1}, "x"))
    (asked,) = [event for event in story.events if isinstance(event, ApprovalRequested)]
    decision = {"approvalId": asked.approval_id, "argumentsHash": asked.arguments_hash, "decision": "approve"}
    story.put(Decided.model_validate(decision | {"item": "i1", "author": "ann"}))
    (first,) = [effect for effect in story.effects if isinstance(effect, RunTool)]
    assert first.approval_id == asked.approval_id
    story.put(Resumed(), attempt=2)
    assert [effect for effect in story.effects if isinstance(effect, RunTool)] == [first, first]
