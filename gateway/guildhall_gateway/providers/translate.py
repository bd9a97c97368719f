"""Between the contract's messages and pydantic-ai's. Pure; arguments of tool calls stay the text the model wrote."""

from collections.abc import Sequence
from typing import Final, Literal

from guildhall_contracts import limits
from guildhall_contracts.model_api import (
    AnyMessage,
    AssistantMessage,
    ModelRequest,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from pydantic_ai import messages as theirs
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from guildhall_gateway.prices import TokenCount
from guildhall_gateway.providers.carry import restored
from guildhall_gateway.providers.framing import rendered

Ending = Literal["whole", "cut", "failed", "overflow"]
"""How an answer ended: as a reply, without an end, by the provider's failure, or at the end of the context window."""

_STOP_REASONS: Final[dict[str, StopReason]] = {
    "stop": "end",
    "length": "max_tokens",
    "content_filter": "content_filter",
    "tool_call": "tool_calls",
}
# What is said by servers pydantic-ai knows no word of: TGI, Mistral, vLLM, OpenRouter and others, in lower case.
_ENDS: Final = frozenset({"eos", "eos_token", "stop_sequence", "end_turn", "complete"})
_FAILURES: Final = frozenset({"error", "failed", "cancelled", "abort", "incomplete"})
_OVERFLOWS: Final = frozenset({"model_context_window_exceeded", "model_length", "context_length_exceeded"})
_UNSAID: Final = frozenset({"", "finish_reason_unspecified", "in_progress", "queued"})


def _part(message: AnyMessage) -> theirs.ModelRequestPart:
    if isinstance(message, SystemMessage):
        return theirs.SystemPromptPart(rendered(message.content))
    if isinstance(message, ToolMessage):
        text = rendered(message.content)
        if message.is_error:
            return theirs.ToolReturnPart(message.name, text, message.call, outcome="failed")
        return theirs.ToolReturnPart(message.name, text, message.call)
    assert not isinstance(message, AssistantMessage)  # noqa: S101  narrowed by the caller
    return theirs.UserPromptPart(rendered(message.content))


def _turn(message: AssistantMessage, model: str) -> theirs.ModelResponse:
    as_it_was = restored(message, model)
    if as_it_was is not None:
        return as_it_was
    parts: list[theirs.ModelResponsePart] = [theirs.TextPart(message.text)] if message.text else []
    parts += [theirs.ToolCallPart(call.name, call.arguments, call.id) for call in message.tool_calls]
    return theirs.ModelResponse(parts=parts)


def to_messages(messages: Sequence[AnyMessage], model: str) -> list[theirs.ModelMessage]:
    """The conversation as `model` is shown it: neighbouring messages to it are one request, no turn is empty."""
    out: list[theirs.ModelMessage] = []
    pending: list[theirs.ModelRequestPart] = []
    for message in messages:
        if not isinstance(message, AssistantMessage):
            pending.append(_part(message))
            continue
        if pending:
            out.append(theirs.ModelRequest(parts=pending))
            pending = []
        if message.text or message.tool_calls:
            out.append(_turn(message, model))
    if pending:
        out.append(theirs.ModelRequest(parts=pending))
    return out


def to_parameters(request: ModelRequest) -> ModelRequestParameters:
    """The tools; never in a provider's strict mode, which would rewrite their schemas."""
    tools = [
        ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=tool.parameters, strict=False
        )
        for tool in request.tools
    ]
    return ModelRequestParameters(function_tools=tools, allow_text_output=True)


def tool_calls_of(response: theirs.ModelResponse, call_id: str) -> list[ToolCall]:
    """The calls a response asks for, in order, with ids that are unique in it."""
    calls: list[ToolCall] = []
    seen: set[str] = set()
    for index, part in enumerate(response.parts):
        if not isinstance(part, theirs.ToolCallPart):
            continue
        arguments = (
            part.args if isinstance(part.args, str) else ("{}" if part.args is None else part.args_as_json_str())
        )
        usable = part.tool_call_id and len(part.tool_call_id) <= 128 and part.tool_call_id not in seen
        identity = part.tool_call_id if usable else f"{call_id}-{index}"
        seen.add(identity)
        calls.append(ToolCall(id=identity, name=part.tool_name[:200], arguments=_well_formed(arguments)))
    return calls


def _well_formed(arguments: str) -> str:
    """Arguments as text of valid UTF-8 within the contract's bound; what is beyond it is cut."""
    data = arguments.encode("utf-8", "replace")[: limits.TOOL_ARGUMENTS_MAX_BYTES]
    return data.decode("utf-8", "ignore")


def text_of(response: theirs.ModelResponse) -> str:
    text = "".join(part.content for part in response.parts if isinstance(part, theirs.TextPart))
    return text.encode("utf-8", "replace").decode("utf-8")


def _said(response: theirs.ModelResponse) -> str:
    """The provider's own word for why it stopped, in lower case; empty where it said nothing."""
    said = str((response.provider_details or {}).get("finish_reason") or "").lower()
    return "" if said in _UNSAID else said


def ending_of(response: theirs.ModelResponse) -> Ending:
    """Whether this is a reply: only one that its provider called ended, and did not call failed, is."""
    said = _said(response)
    if response.state == "incomplete" or not (said or response.finish_reason):
        return "cut"
    if said in _OVERFLOWS:
        return "overflow"
    return "failed" if response.finish_reason == "error" or said in _FAILURES else "whole"


def stop_reason_of(response: theirs.ModelResponse, *, calls: bool) -> StopReason:
    """Why the model stopped; a refusal is not an end."""
    details, said = response.provider_details or {}, _said(response)
    if details.get("refusal") or said == "refusal":
        return "refusal"
    reason = "stop" if said in _ENDS else response.finish_reason or ""
    return "tool_calls" if reason == "stop" and calls else _STOP_REASONS.get(reason, "other")


def count_of(usage: RequestUsage) -> TokenCount | None:
    """What the provider says it used; None when it says nothing."""
    if usage.input_tokens <= 0 and usage.output_tokens <= 0:
        return None
    prompt = max(usage.input_tokens, usage.cache_read_tokens + usage.cache_write_tokens, 0)
    return TokenCount(
        prompt=prompt,
        cached=max(usage.cache_read_tokens, 0),
        cache_written=max(usage.cache_write_tokens, 0),
        output=max(usage.output_tokens, 0),
    )
