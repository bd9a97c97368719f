"""Tools the gateway executes: `<connection>__<tool>`. Guards the context: what comes back is labelled as data.

The gateway decides and checks everything again where the call is made; the same call asked twice is made once.
"""

import json
from typing import Any, Final, Protocol

from guildhall_contracts.base import one_line
from guildhall_contracts.canonical import NotCanonical, parse_arguments
from guildhall_contracts.content import Block
from guildhall_contracts.errors import ErrorInfo
from guildhall_contracts.external import ExternalCall, ExternalResult, ExternalTool
from guildhall_contracts.policy import is_external
from guildhall_contracts.visible import visible
from pydantic import ValidationError

from guildhall_executor.effects import RunTool
from guildhall_executor.tools.arguments import Arguments, BadArguments, check
from guildhall_executor.tools.catalog import CATALOG
from guildhall_executor.tools.result import Ran, ToolResult, failed

NOT_KNOWN: Final = "outcome_unknown"


class ExternalArguments(Arguments):
    """Arguments as the model wrote them; only the gateway knows the tool's schema."""

    tool: str
    value: dict[str, Any]

    def title(self) -> str:
        return self.tool

    def complete(self) -> dict[str, Any]:
        return self.value


def checked(tool: str, text: str) -> Arguments | BadArguments:
    """The arguments of a call to a tool of a role, whoever executes it."""
    if not is_external(tool):
        return check(CATALOG[tool].arguments, text)
    try:
        return ExternalArguments(tool=tool, value=parse_arguments(text if text.strip() else "{}"))
    except NotCanonical as error:
        return BadArguments(f"{str(error)[:300]}. The call was not made; send one complete JSON object.")


def external_spec(tool: ExternalTool) -> dict[str, Any]:
    """A tool as the model is shown it."""
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}


class Caller(Protocol):
    """The gateway as external tools see it."""

    async def call_tool(self, tool: str, call: ExternalCall) -> ExternalResult | ErrorInfo: ...


async def run_external(gateway: Caller, effect: RunTool, arguments: ExternalArguments) -> Ran:
    """Never raises: a refusal, a failure and an outcome nobody knows are results the model reads."""
    approval = effect.approval_id or None
    try:
        call = ExternalCall(call_id=effect.call_id, role=effect.role, arguments=arguments.value, approval_id=approval)
    except ValidationError:
        return Ran(failed("invalid_arguments", "the call cannot be written down; it was not made"))
    answer = await gateway.call_tool(effect.tool, call)
    if isinstance(answer, ErrorInfo):
        return Ran(_refused(answer))
    return Ran(_result(answer))


def _refused(error: ErrorInfo) -> ToolResult:
    """A gateway that said no did not make the call; one that could not be heard may have."""
    message = one_line(error.message, 1_000)
    if error.kind != "tool_denied":
        return failed(NOT_KNOWN, f"{message}. Whether the call took effect is not known: look before you repeat it.")
    return failed(error.detail.get("code", "tool_denied"), message)


def _result(answer: ExternalResult) -> ToolResult:
    code = {"done": None, "error": "tool_error", "unknown": NOT_KNOWN}[answer.outcome]
    blocks = [_data(block) for block in answer.content]
    return ToolResult(blocks=blocks, error_code=code, omitted_bytes=answer.omitted_bytes)


def _data(block: Block) -> Block:
    """A server's text is data of a tool, whatever came with it."""
    return Block(text=visible(block.text)[0], origin="tool", authority="data", label=block.label)


def as_json(call: ExternalCall) -> bytes:
    """The call's body."""
    return json.dumps(call.to_wire(), ensure_ascii=True, separators=(",", ":")).encode()
