"""Drives the pure loop by hand: no clock, no I/O. Every event it emits is encoded and decoded on the way."""

import json
from copy import copy
from typing import Any

from guildhall_contracts.errors import ErrorInfo, ErrorKind, error_info
from guildhall_contracts.events import decode_event, encode_event
from guildhall_contracts.model_api import AnyMessage, ModelReply, ModelRequest
from guildhall_contracts.snapshot import RunSnapshot
from guildhall_executor.effects import CallModel, Effect, Emit, RunTool
from guildhall_executor.inputs import (
    AnyInput,
    At,
    Began,
    ChangesTaken,
    Interrupted,
    Replied,
    ReplyFailed,
    ToolEnded,
    decode_at,
    encode_at,
)
from guildhall_executor.loop import step
from guildhall_executor.roster import make_roster
from guildhall_executor.state import ModelWait, OpenCall, RoleRun, State
from guildhall_executor.tools.result import ToolResult, block, failed


class Story:
    """A Run as told by a test. `events` and `effects` are everything so far, `inputs` what a journal would hold."""

    def __init__(self, snapshot: RunSnapshot, began: Began | None = None) -> None:
        self.state = State(make_roster(snapshot))
        self.events: list[Any] = []
        self.effects: list[Effect] = []
        self.inputs: list[At] = []
        self.marks: list[tuple[State, int, int]] = []
        self.careful = True
        self.seconds = 0.0
        self.attempt = 1
        self.ts = "2030-01-02T03:04:05.678Z"
        self.put(began or Began())

    def put(self, input_: AnyInput, attempt: int = 1) -> "Story":
        at = At(
            seq=len(self.events),
            attempt=attempt,
            ts=self.ts,
            elapsed_milliseconds=int(self.seconds * 1_000),
            input=input_,
        )
        before = self.state
        self.inputs.append(at)
        self.state, effects = step(self.state, at)
        self.effects += effects
        told = [effect.event for effect in effects if isinstance(effect, Emit)]
        assert [event.seq for event in told] == [at.seq + n + 1 for n in range(len(told))]
        self.events += told
        if self.careful:
            assert decode_at(encode_at(at).rstrip(b"\n")) == at
            assert step(before, at)[1] == effects, "step is not pure"
            assert all(decode_event(encode_event(event).rstrip(b"\n")) == event for event in told)
        self.marks.append((self.state, len(self.events), len(self.effects)))
        return self

    def fork(self, count: int) -> "Story":
        """Another Run that had the first `count` inputs of this one; only its own are looked at less carefully."""
        other = copy(self)
        other.state, events, effects = self.marks[count - 1]
        other.events, other.effects = self.events[:events], self.effects[:effects]
        other.inputs, other.marks = self.inputs[:count], self.marks[:count]
        other.seconds = other.inputs[-1].elapsed_milliseconds / 1_000
        other.careful = False
        return other

    # Who waits
    @property
    def roles(self) -> list[RoleRun]:
        return list(self.state.roles.values())

    def at_work(self, role: str = "") -> RoleRun:
        """The newest invocation, or the newest of a role."""
        return next(one for one in reversed(self.roles) if role in ("", one.role))

    def _asking(self, role: str) -> ModelWait:
        """The newest model call that is waited for (of a role)."""
        waits = [one.wait for one in self.roles if one.wait is not None and role in ("", one.role)]
        assert waits, f"no role {role} waits for its model"
        return waits[-1]

    def running(self, tool: str = "") -> list[OpenCall]:
        """The tools that are at work, in the order they were begun."""
        calls = [call for one in self.roles for call in one.calls if call.stage == "running"]
        return sorted((c for c in calls if tool in ("", c.call.name)), key=lambda c: int(c.op[1:]))

    # What a test says
    def reply(
        self, text: str = "", *calls: dict[str, Any], role: str = "", stop: str | None = None, **more: Any
    ) -> "Story":
        return self._replied(self._asking(role).call_id, text, calls, stop, more)

    def answer(self, op: str, text: str = "", *calls: dict[str, Any], stop: str | None = None) -> "Story":
        """The model answers the invocation `op`."""
        wait = self.state.roles[op].wait
        assert wait is not None, f"{op} does not wait for its model"
        return self._replied(wait.call_id, text, calls, stop, {})

    def _replied(
        self, call_id: str, text: str, calls: tuple[dict[str, Any], ...], stop: str | None, more: dict[str, Any]
    ) -> "Story":
        return self.put(Replied(reply=reply_of(call_id, text, *calls, stop=stop, **more)))

    def put_reply(self, call_id: str, text: str = "", *calls: dict[str, Any]) -> "Story":
        """The model answers the call with this id, an inquiry's for example."""
        return self._replied(call_id, text, calls, None, {})

    def put_error(self, call_id: str, error: ErrorInfo) -> "Story":
        return self.put(ReplyFailed(call_id=call_id, error=error))

    def put_failure(self, call_id: str, kind: ErrorKind, message: str = "no") -> "Story":
        return self.put_error(call_id, error_info(kind, message))

    def fails(self, kind: ErrorKind, message: str = "no", *, role: str = "") -> "Story":
        return self.put(ReplyFailed(call_id=self._asking(role).call_id, error=error_info(kind, message)))

    def result(self, text: str = "done", *, of: str = "") -> "Story":
        """The oldest tool at work ends, or the one whose call has the id `of`."""
        return self.put(ToolEnded(op=self._tool(of), result=ToolResult(blocks=[block(text)])))

    def tool_fails(self, code: str, message: str = "no", *, of: str = "", away: int | None = None) -> "Story":
        """`away`: for how many milliseconds the workshop could not be reached."""
        return self.put(ToolEnded(op=self._tool(of), result=failed(code, message), away_milliseconds=away))

    def _tool(self, of: str) -> str:
        found = [one for one in self.running() if of in ("", one.call.id)]
        assert found, f"no tool {of} is at work"
        return found[0].op

    def interrupt(self, intent: str, item: str = "i1", message: str = "") -> "Story":
        value = {"item": item, "intent": intent, "message": message, "author": "ann"}
        return self.put(Interrupted.model_validate(value))

    def taken(self) -> "Story":
        return self.put(ChangesTaken())

    # What a test looks at
    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]

    def of(self, *types: str) -> list[Any]:
        return [event for event in self.events if event.type in types]

    def last(self, type_: str) -> Any:
        return self.of(type_)[-1]

    @property
    def asked(self) -> CallModel:
        return self.asked_of()

    def asked_of(self, role: str = "") -> CallModel:
        """The last model call (of a role)."""
        calls = [effect for effect in self.effects if isinstance(effect, CallModel)]
        return next(effect for effect in reversed(calls) if role in ("", effect.role))

    @property
    def messages(self) -> list[AnyMessage]:
        """What the model is shown now, through the contract's own decoder."""
        return self.messages_of()

    def messages_of(self, role: str = "") -> list[AnyMessage]:
        """What the model of a role was shown last."""
        return ModelRequest.model_validate_json(self.asked_of(role).body()).messages

    @property
    def shown(self) -> str:
        """The texts of the last message the model is shown."""
        return "\n".join(part.text for part in self.messages[-1].content)  # type: ignore[union-attr]

    @property
    def tools_run(self) -> list[str]:
        return [effect.tool for effect in self.effects if isinstance(effect, RunTool)]

    @property
    def error(self) -> ErrorInfo | None:
        return self.state.ending.error if self.state.ending else None


def reply_of(call_id: str, text: str = "", *calls: dict[str, Any], stop: str | None = None, **more: Any) -> ModelReply:
    value = {
        "callId": call_id,
        "text": text,
        "toolCalls": list(calls),
        "stopReason": stop or ("tool_calls" if calls else "end"),
        "usage": {"tokens": 7, "outputTokens": 3},
        "model": "scripted:test",
        "totals": {},
    }
    return ModelReply.model_validate(value | more)


def call(name: str, arguments: Any = None, id_: str = "t1") -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"id": id_, "name": name, "arguments": text}
