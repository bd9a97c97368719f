"""Scenarios: what a scripted model says, and what it must have been shown first. Parsing and matching, pure.

`python -m guildhall_gateway.scenario check FILE…` validates files; `docs/scenarios.md` explains the format.
"""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from guildhall_contracts import limits
from guildhall_contracts.base import Record, RoleName, Sha256
from guildhall_contracts.content import INQUIRY_LABEL, Block
from guildhall_contracts.model_api import (
    AnyMessage,
    AssistantMessage,
    CallUsage,
    ModelRequest,
    StopReason,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from pydantic import Field, StringConstraints, ValidationError, field_validator, model_validator

from guildhall_gateway.prices import TokenPrice

SCENARIO_MAX_BYTES: Final = 2 * 1024 * 1024
SHOWN_MAX_CHARS: Final = 1_800
NOTHING: Final = "(nothing)"

ScenarioName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Text = Annotated[str, StringConstraints(max_length=limits.BLOB_RESULT_MAX_BYTES)]


class Match(Record):
    """What a text must be; every condition given must hold. `equals` and `sha256` are over the whole text."""

    equals: Text | None = None
    sha256: Sha256 | None = None
    contains: list[Text] = Field(default_factory=list, max_length=32)
    lacks: list[Text] = Field(default_factory=list, max_length=32)
    regex: Annotated[str, Field(max_length=2_000)] | None = None

    @field_validator("contains", "lacks", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("regex")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                re.compile(value)
            except re.error as error:
                raise ValueError(f"is not a regular expression: {error}") from error
        return value

    @model_validator(mode="after")
    def _says_something(self) -> "Match":
        if self.equals is None and self.sha256 is None and not (self.contains or self.lacks or self.regex):
            raise ValueError("names no condition; give equals, sha256, contains, lacks or regex")
        return self


class Expect(Record):
    """What the model must have been shown. `toolResults` are all results since the last turn, in order."""

    system: Match | None = None
    last_user: Match | None = None
    last_tool_result: Match | None = None
    tool_results: list[Match] | None = Field(None, max_length=limits.TOOL_CALLS_PER_REPLY_MAX_COUNT)


class ScriptedCall(Record):
    """A tool call; `arguments` as a mapping, or `rawArguments` as the very text, well formed or not."""

    name: str = Field(min_length=1, max_length=200)
    arguments: dict[str, Any] = Field(default_factory=dict)
    raw_arguments: str | None = Field(None, max_length=limits.TOOL_ARGUMENTS_MAX_BYTES)

    def text(self) -> str:
        return json.dumps(self.arguments, ensure_ascii=False) if self.raw_arguments is None else self.raw_arguments


class ScriptedReply(Record):
    text: Text = ""
    tool_calls: list[ScriptedCall] = Field(default_factory=list, max_length=limits.TOOL_CALLS_PER_REPLY_MAX_COUNT)
    stop_reason: StopReason | None = None


class Fault(Record):
    """A provider's misbehaviour. `firstTries`: only that many tries of the call fail, then the reply is given."""

    kind: Literal["401", "429", "500", "empty", "garbage", "hang"]
    retry_after_seconds: float | None = Field(None, ge=0, le=86_400)
    first_tries: int | None = Field(None, ge=1, le=100)


class Step(Record):
    """One turn of a role."""

    expect: Expect = Expect()
    reply: ScriptedReply | None = None
    fault: Fault | None = None
    usage: CallUsage = CallUsage(tokens=100, output_tokens=20)
    price: TokenPrice | None = None
    delay_seconds: float = Field(0.0, ge=0, le=limits.MODEL_CALL_MAX_SECONDS)

    @field_validator("fault", mode="before")
    @classmethod
    def _short_fault(cls, value: Any) -> Any:
        return {"kind": str(value)} if isinstance(value, str | int) and not isinstance(value, bool) else value

    @model_validator(mode="after")
    def _does_something(self) -> "Step":
        if self.reply is None and (self.fault is None or self.fault.first_tries is not None):
            raise ValueError("has no reply; give 'reply', or a 'fault' without 'firstTries'")
        return self


class Scenario(Record):
    """A scripted model: for each role its turns, in order; and answers to inquiries, of which the first that fits."""

    name: ScenarioName
    description: str = Field("", max_length=limits.DESCRIPTION_MAX_CHARS)
    price: TokenPrice = TokenPrice()
    roles: dict[RoleName, list[Step]] = Field(min_length=1, max_length=limits.ROLES_MAX_COUNT)
    inquiries: list[Step] = Field(default_factory=list, max_length=32)


class ScenarioError(ValueError):
    """A scenario that cannot be used; the message names file and field."""


def parse_scenario(data: bytes, where: str) -> Scenario:
    """The Scenario in YAML bytes. Raises ScenarioError."""
    if len(data) > SCENARIO_MAX_BYTES:
        raise ScenarioError(f"{where}: {len(data)} bytes; at most {SCENARIO_MAX_BYTES} are read")
    try:
        return Scenario.model_validate(yaml.safe_load(data))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ScenarioError(f"{where}: not YAML: {error}") from error
    except ValidationError as error:
        lines = [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()[:10]]
        raise ScenarioError(f"{where}: " + "; ".join(lines)) from error


def shown_text(blocks: list[Block]) -> str:
    """The text of a message, as scenarios compare it: its blocks' texts, one after another on new lines."""
    return "\n".join(block.text for block in blocks)


def turn_of(request: ModelRequest) -> int:
    """Which step a request asks for: how often the role has spoken in these messages."""
    return sum(isinstance(message, AssistantMessage) for message in request.messages)


def is_inquiry(request: ModelRequest) -> bool:
    """Whether a person asks a role something beside its work: that is no turn of the role."""
    last = request.messages[-1]
    return isinstance(last, UserMessage) and last.content[-1].label == INQUIRY_LABEL


def _since_last_turn(messages: list[AnyMessage]) -> list[AnyMessage]:
    turns = [index for index, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    return messages[turns[-1] + 1 :] if turns else messages


def _last(messages: list[AnyMessage], kind: type[SystemMessage | UserMessage | ToolMessage]) -> str | None:
    found = [message for message in messages if isinstance(message, kind)]
    return shown_text(found[-1].content) if found else None


class Mismatch(Record):
    """The two texts of a failed expectation, bounded, and where they part."""

    where: str
    expected: str
    shown: str


def _around(text: str, at: int) -> str:
    start = max(0, min(at - SHOWN_MAX_CHARS // 2, len(text) - SHOWN_MAX_CHARS))
    piece = text[start : start + SHOWN_MAX_CHARS]
    return ("…" if start else "") + piece + ("…" if start + SHOWN_MAX_CHARS < len(text) else "")


def _first_difference(left: str, right: str) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(left), len(right)))


def _unmet(match: Match, text: str) -> tuple[str, str] | None:
    if match.equals is not None and text != match.equals:
        at = _first_difference(match.equals, text)
        return _around(match.equals, at), _around(text, at)
    if match.sha256 is not None:
        found = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        if found != match.sha256:
            return f"a text with SHA-256 {match.sha256}", f"SHA-256 {found}:\n{_around(text, 0)}"
    for wanted in match.contains:
        if wanted not in text:
            return f"a text with: {_around(wanted, 0)}", _around(text, 0)
    for unwanted in match.lacks:
        if unwanted in text:
            return f"a text without: {_around(unwanted, 0)}", _around(text, text.index(unwanted))
    if match.regex is not None and re.search(match.regex, text) is None:
        return f"a text matching: {match.regex}", _around(text, 0)
    return None


def _check(where: str, match: Match | None, text: str | None) -> Mismatch | None:
    if match is None:
        return None
    unmet = _unmet(match, text) if text is not None else (match.model_dump_json(exclude_defaults=True), NOTHING)
    return Mismatch(where=where, expected=unmet[0], shown=unmet[1]) if unmet else None


def mismatch(expect: Expect, messages: list[AnyMessage]) -> Mismatch | None:
    """The first expectation that the messages do not meet, or None."""
    recent = _since_last_turn(messages)
    results = [shown_text(message.content) for message in recent if isinstance(message, ToolMessage)]
    checks = [
        _check("system", expect.system, _last(messages, SystemMessage)),
        _check("lastUser", expect.last_user, _last(messages, UserMessage)),
        _check("lastToolResult", expect.last_tool_result, results[-1] if results else None),
    ]
    if expect.tool_results is not None:
        if len(results) != len(expect.tool_results):
            wanted = f"{len(expect.tool_results)} tool results"
            checks.append(Mismatch(where="toolResults", expected=wanted, shown=f"{len(results)} tool results"))
        pairs = zip(expect.tool_results, results, strict=False)
        checks += [_check(f"toolResults[{index}]", match, text) for index, (match, text) in enumerate(pairs)]
    return next((found for found in checks if found is not None), None)


def main(arguments: list[str]) -> int:
    """`check FILE…`: 0 when every file is a valid scenario, 1 otherwise, 2 for a wrong call."""
    if len(arguments) < 2 or arguments[0] != "check":
        sys.stderr.write("usage: python -m guildhall_gateway.scenario check FILE…\n")
        return 2
    failed = False
    for name in arguments[1:]:
        try:
            scenario = parse_scenario(Path(name).read_bytes(), name)
        except (ScenarioError, OSError) as error:
            sys.stderr.write(f"{error}\n")
            failed = True
        else:
            steps = ", ".join(f"{role}: {len(turns)} turns" for role, turns in scenario.roles.items())
            sys.stdout.write(f"{name}: scripted:{scenario.name}, {steps}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
