"""A world a Run can live in: models, tools and people whose every act follows from a seed and what was asked, not when.

So a Run that is interrupted and resumed meets the same world again, and must come to the same end.
"""

import random
from typing import Any

from guildhall_contracts.errors import error_info
from guildhall_executor.inputs import (
    Answered,
    AnyInput,
    ChangesTaken,
    Decided,
    Interrupted,
    Replied,
    ReplyFailed,
    Tick,
    ToolEnded,
)
from guildhall_executor.state import OpenCall
from guildhall_executor.tools.result import ToolResult, block, failed
from support.executor_loop import Story, call, reply_of
from support.executor_run import role, snapshot

STEPS_LONG = 60  # inputs after which every role is eager to finish
OUTSIDE = ("running", "approving", "asking")
SOFT = {"stop": "soft", "limit": "cost", "moreMicroUSD": "10"}


def guild() -> dict[str, Any]:
    tools = ["read_file", "write_file", "run_shell", "update_plan", "ask_human"]
    asks = {"effect": "write", "approval": True, "allowedInPrivate": True, "allowedWithoutUserPresent": True}
    return {
        "entryRole": "lead",
        "roles": [role("lead", tools, ["left", "right"]), role("left", tools, ["right"]), role("right", tools)],
        "models": {"main": "scripted:test"},
        "tools": {"run_shell": asks},
    }


def begin() -> Story:
    return Story(snapshot(guild(), budget={"steps": 400, "seconds": 200_000}))


class World:
    def __init__(self, seed: int) -> None:
        self._seed = seed

    def _dice(self, *key: object) -> random.Random:
        return random.Random(f"{self._seed}/{key}")  # noqa: S311  a test

    def next_input(self, story: Story) -> AnyInput | None:
        """What happens next: of all that is waited for, the one whose turn the seed says it is."""
        state = story.state
        if state.ending is not None:
            return None if state.ending.sealed else ChangesTaken()
        waits = [("model", one.wait.call_id, one) for one in story.roles if one.wait is not None]
        waits += [("inquiry", one.wait.call_id, one) for one in state.inquiries]
        waits += [(one.stage, one.id, one) for r in story.roles for one in r.calls if one.stage in OUTSIDE]
        if state.stop is not None:
            waits.append(("stop", f"stop{state.raises}", state.stop))
        assert waits, "the Run waits for nothing and has not ended"
        kind, key, what = min(waits, key=lambda wait: self._dice("turn", wait[1]).random())
        return self._act(story, kind, key, what)

    def _act(self, story: Story, kind: str, key: str, what: Any) -> AnyInput:
        if kind in ("model", "inquiry"):
            return self._model(key, what.role, wordy=kind == "inquiry")
        if kind == "running":
            return self._tool(what)
        if kind == "stop":
            text = "continue" if self._dice("stop", key).random() < 0.8 else "stop"
            return Answered(item=f"item-{key}", question_id=f"q-{what.op}", text=text)
        return self._person(story, kind, what)

    def _person(self, story: Story, kind: str, asked: OpenCall) -> AnyInput:
        dice = self._dice("person", asked.id).random()
        if dice < 0.2:
            assert asked.person is not None
            story.seconds = max(story.seconds, asked.person.until_milliseconds / 1_000 + 0.001)
            return Tick()
        if kind == "asking":
            return Answered(item=f"item-{asked.id}", question_id=f"q-{asked.op}", text=f"answer to {asked.id}")
        event = next(e for e in story.of("approval.requested") if e.op == asked.op)
        value = {"item": f"item-{asked.id}", "approval_id": asked.approval, "arguments_hash": event.arguments_hash}
        return Decided.model_validate(value | {"decision": "approve" if dice < 0.8 else "deny"})

    def _tool(self, asked: OpenCall) -> AnyInput:
        dice = self._dice("tool", asked.id).random()
        code = "workshop_lost" if dice < 0.02 else "not_found" if dice < 0.2 else None
        result = failed(code, "no") if code else ToolResult(blocks=[block(f"result of {asked.id}")])
        return ToolEnded(op=asked.op, result=result)

    def _model(self, call_id: str, role_name: str, *, wordy: bool) -> AnyInput:
        dice = self._dice("model", call_id)
        fate = dice.random()
        if fate < 0.03:
            return ReplyFailed(call_id=call_id, error=error_info("context_overflow", "too long"))
        if fate < 0.06:
            return ReplyFailed(call_id=call_id, error=error_info("budget_exhausted", "spent", detail=SOFT))
        if wordy or fate < 0.1:
            return Replied(reply=reply_of(call_id, dice.choice(["", "words"]) if wordy else "words"))
        if fate < 0.14:
            return Replied(reply=reply_of(call_id, "", call("write_file", '{"path": "a'), stop="max_tokens"))
        if dice.random() < min(int(call_id[1:]) / STEPS_LONG, 0.9):
            return Replied(
                reply=reply_of(call_id, "", *self._calls(dice, role_name, 1), call("finish", {"result": call_id}, "f"))
            )
        return Replied(reply=reply_of(call_id, "so", *self._calls(dice, role_name, dice.randint(1, 5))))

    def _calls(self, dice: random.Random, role_name: str, count: int) -> list[dict[str, Any]]:
        below = {"lead": ["left", "right"], "left": ["right"], "right": []}[role_name]
        kinds = [
            lambda: call("read_file", {"path": "a"}),
            lambda: call("write_file", {"path": "a", "content": "b"}),
            lambda: call("run_shell", {"command": "make"}),
            lambda: call("ask_human", {"question": "which?", "timeout_seconds": 60}),
            lambda: call("update_plan", {"items": [{"text": "x"}]}),
            lambda: call("launch"),
            lambda: call("write_file", "{"),
            lambda: call("delegate", {"role": dice.choice(below or ["nobody"]), "brief": "b"}),
            lambda: call("delegate", {"role": dice.choice(below or ["nobody"]), "brief": "c"}),
        ]
        return [dice.choice(kinds)() | {"id": f"t{dice.randint(0, 3)}.{n}"} for n in range(count)]

    def interrupt(self, number: int) -> Interrupted:
        intent = self._dice("interrupt", number).choice(["redirect", "inquire"])
        value = {"item": f"interrupt-{number}", "intent": intent, "message": f"message {number}"}
        return Interrupted.model_validate(value)


def live(story: Story, world: World, interrupts: frozenset[int] = frozenset()) -> Story:
    """To its end; `interrupts` says before which inputs a person interrupts."""
    while True:
        if len(story.inputs) in interrupts and story.state.ending is None:
            story.put(world.interrupt(len(story.inputs)), story.attempt)
        happened = world.next_input(story)
        if happened is None:
            return story
        story.put(happened, story.attempt)
        assert len(story.inputs) < 2_000, "the Run does not end"
