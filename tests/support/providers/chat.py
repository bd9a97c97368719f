"""OpenAI's Chat Completions, as OpenAI and compatible servers speak it."""

import json
from typing import Any

from support.providers.dialect import STATUSES, Call, Problem, Say
from support.providers.server import Behave, Event, sse, status

STOPS = {"end": "stop", "calls": "tool_calls", "length": "length", "refusal": "stop", "filter": "content_filter",
         "unsaid": None, "failed": "error", "odd": "guardrail_intervened", "window": "model_length"}  # fmt: skip


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def chat(
    *deltas: dict[str, Any], finish: str | None = "stop", usage: dict[str, Any] | None = None, then: str = "close"
) -> Behave:
    """A stream of chunks."""
    events: list[Event] = [(None, chunk(delta)) for delta in deltas]
    if then == "close":
        events.append((None, chunk({}, finish)))
        if usage is not None:
            events.append((None, chunk({}) | {"choices": [], "usage": usage}))
        events.append((None, "[DONE]"))
    return sse(*events, then=then)


def piece(index: int | None, identity: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    """One piece of a streamed tool call."""
    function = {"arguments": arguments} | ({"name": name} if name else {})
    call = {"function": function, "type": "function"} | ({"id": identity} if identity else {})
    return {"tool_calls": [call | ({"index": index} if index is not None else {})]}


def _usage(say: Say) -> dict[str, Any] | None:
    if say.used is None:
        return None
    return {
        "prompt_tokens": say.used.prompt,
        "completion_tokens": say.used.output,
        "total_tokens": say.used.prompt + say.used.output,
        "prompt_tokens_details": {"cached_tokens": say.used.cached},
    }


def _pieces_of(index: int, call: Call) -> list[dict[str, Any]]:
    half = len(call.arguments) // 2
    return [piece(index, call.id, call.name, call.arguments[:half]), piece(index, None, None, call.arguments[half:])]


class Chat:
    """`openai-chat`, or any name with a base URL."""

    base, path, streams_path = "/v1", "/v1/chat/completions", "/v1/chat/completions"

    def __init__(self, name: str = "openai-chat", model: str = "gpt-4o") -> None:
        self.name, self.model = name, f"{name}:{model}"

    def streamed(self, say: Say, then: str = "close") -> Behave:
        deltas: list[dict[str, Any]] = [{"role": "assistant"}]
        deltas += [{"reasoning_content": say.thought}] if say.thought else []
        deltas += [{"refusal" if say.stop == "refusal" else "content": text} for text in say.pieces]
        for index, call in enumerate(say.calls):
            deltas += _pieces_of(index, call)
        return chat(*deltas, finish=STOPS[say.stop], usage=_usage(say), then=then)

    def whole(self, say: Say) -> Behave:
        message: dict[str, Any] = {"role": "assistant", "content": None if say.stop == "refusal" else say.text}
        message |= {"refusal": say.text} if say.stop == "refusal" else {}
        message |= {"reasoning_content": say.thought} if say.thought else {}
        calls = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in say.calls
        ]
        message |= {"tool_calls": calls} if calls else {}
        choice = {"index": 0, "message": message, "finish_reason": STOPS[say.stop], "logprobs": None}
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        usage = _usage(say)
        return status(200, body | ({"usage": usage} if usage else {}))

    def problem(self, kind: Problem, words: str = "", **headers: str) -> Behave:
        said = {
            "overflow": ("context_length_exceeded", "This model's maximum context length is 10 tokens"),
            "quota": ("insufficient_quota", "You exceeded your current quota"),
        }.get(kind, (kind, words))
        error = {"message": f"{said[1]} {words}", "type": "x", "param": None, "code": said[0]}
        return status(STATUSES[kind], {"error": error}, **headers)

    def shown(self, body: Any) -> list[tuple[str, str]]:
        out: list[tuple[str, str]] = []
        for message in body["messages"]:
            role = {"tool": "result", "developer": "system"}.get(message["role"], message["role"])
            if message.get("reasoning_content"):
                out.append(("thought", message["reasoning_content"]))
            if message.get("content"):
                content = message["content"]
                out.append((role, content if isinstance(content, str) else json.dumps(content)))
            out += [("call", f"{c['id']} {c['function']['arguments']}") for c in message.get("tool_calls", [])]
        return out
