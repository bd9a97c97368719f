"""Random trees of roles, tools and people, stopped after every single input and taken up by another attempt.

Whatever the moment: the state is the fold of the inputs, nothing that ran is run again, providers get histories they
take, everything that was opened ends, and where no tool was cut off the Run comes to the very same end.
"""

import random
from collections import Counter
from typing import Any

import pytest
from guildhall_contracts.model_api import AnyMessage, AssistantMessage, ModelRequest, ToolMessage, UserMessage
from guildhall_executor.effects import CallModel, RunTool
from guildhall_executor.inputs import Resumed
from guildhall_executor.resume import rebuild
from support.executor_loop import Story
from support.executor_world import World, begin, live

SEEDS = range(12)
OPENS = {"model.started", "tool.started", "question.asked", "approval.requested", "interrupt.received"}
ENDS = {"model.finished", "tool.finished", "question.answered", "approval.decided", "interrupt.answered"}


def told(seed: int) -> tuple[World, Story]:
    world = World(seed)
    interrupts = frozenset(random.Random(seed).sample(range(2, 40), 3))  # noqa: S311  a test
    return world, live(begin(), world, interrupts)


def sound(story: Story) -> None:
    """What holds of any Run that has ended."""
    assert story.state.ending is not None
    ran = [effect.call_id for effect in story.effects if isinstance(effect, RunTool)]
    assert len(ran) == len(set(ran)), "a tool call was run twice"
    opened = Counter(event.op for event in story.events if event.type in OPENS)
    ended = Counter(event.op for event in story.events if event.type in ENDS)
    assert opened == ended, "an operation was not ended, or twice"
    requests = [ModelRequest.model_validate_json(e.body()).messages for e in story.effects if isinstance(e, CallModel)]
    for messages in requests:
        legal(messages)
    interrupts_took_effect_once(story, requests)
    assert story.types.count("run.finished") == 1


def interrupts_took_effect_once(story: Story, requests: list[list[AnyMessage]]) -> None:
    """However often a mailbox is read: each is taken once, and what it says stands once in what a model is shown."""
    received = [event for event in story.events if event.type == "interrupt.received"]
    assert len(received) == len({event.intervention for event in received})
    answered = {event.op: event.outcome for event in story.events if event.type == "interrupt.answered"}
    shown = [" ".join(block.text for m in messages if isinstance(m, UserMessage) for block in m.content) + " "
             for messages in requests]  # fmt: skip
    for event in received:
        times = {text.count(f"{event.message} ") + text.count(f"{event.message}\n") for text in shown}
        assert times <= {0, 1}, event.message
        assert 1 in times or answered[event.op] != "success", event.message


def legal(messages: list[AnyMessage]) -> None:
    """Every call is followed by its result, in order, before anything else is said."""
    owed: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert owed, "a result nobody asked for"
            assert message.call == owed.pop(0)
            continue
        assert not owed, f"calls without results: {owed}"
        if isinstance(message, AssistantMessage):
            owed = [call.id for call in message.tool_calls]
    assert not owed


def one_writer(story: Story) -> None:
    """No two tools that write were ever at work at once."""
    writing: set[str] = set()
    writes = {effect.op for effect in story.effects if isinstance(effect, RunTool) and effect.writes}
    for event in story.events:
        if event.op in writes and event.type == "tool.started":
            assert not writing
            writing.add(event.op)
        elif event.op in writing and event.type == "tool.finished":
            writing.discard(event.op)


def essence(story: Story) -> list[Any]:
    """What a Run did and came to, without numbers of operations and without what a new attempt adds."""
    facts: list[Any] = []
    for event in story.events:
        if event.type == "tool.finished":
            facts.append((event.output, event.outcome))
        elif event.type in ("role.finished", "question.answered", "approval.decided"):
            facts.append((event.type, event.role, event.outcome, getattr(event, "summary", "")))
        elif event.type == "run.finished":
            facts.append((event.outcome, event.result))
    return facts


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_stopped_anywhere_goes_on_and_repeats_nothing(seed: int) -> None:
    world, whole = told(seed)
    sound(whole)
    one_writer(whole)
    compared = 0
    for cut in range(1, len(whole.inputs)):
        story = whole.fork(cut)
        if cut % 5 == 0:
            assert rebuild(story.state.roster, story.inputs, 0) == (story.state, story.events)
        ended_before = story.state.ending is not None
        cut_off = story.running()
        story.attempt = 2
        story.put(Resumed(), attempt=2)
        for at in whole.inputs[:cut]:  # a mailbox is read from its beginning again
            if at.input.kind in ("answered", "decided", "interrupted"):
                story.put(at.input, attempt=2)
        live(story, world)
        to_come = any(at.input.kind == "interrupted" for at in whole.inputs[cut:])
        if not (to_come or ended_before or cut_off):
            compared += 1
            assert essence(story) == essence(whole), cut
        sound(story)
        one_writer(story)
    assert compared > 0


def test_the_worlds_are_worth_living_in() -> None:
    """The seeds reach what they are there to reach."""
    seen: Counter[str] = Counter()
    together = queued = 0
    for seed in SEEDS:
        _, story = told(seed)
        seen.update(event.type for event in story.events)
        waiting = [[one for one in state.roles.values() if one.wait] for state, _, _ in story.marks]
        together += sum(len(roles) > 1 for roles in waiting)
        queued += sum(len(state.queue) > 0 for state, _, _ in story.marks)
    for kind in ("question.asked", "approval.requested", "interrupt.received", "role.started", "tool.finished"):
        assert seen[kind] >= 10, kind
    assert together > 10
    assert queued > 10
