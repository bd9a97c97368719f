"""Anthropic's Messages."""

import json
from typing import Any

from support.providers.dialect import STATUSES, Problem, Say
from support.providers.server import Behave, Event, sse, status

STOPS = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "refusal": "refusal", "filter": "refusal",
         "unsaid": None, "failed": "error", "odd": "pause_turn",
         "window": "model_context_window_exceeded"}  # fmt: skip
BLOCK = tuple[dict[str, Any], list[dict[str, Any]]]


def anthropic(*blocks: BLOCK, stop: str | None = "end_turn", then: str = "close", **usage: int) -> Behave:
    """A message stream; each block is its start and its deltas. `usage` without input_tokens: 5 of them."""
    start = {"input_tokens": 5, "output_tokens": 1} | {
        key: value for key, value in usage.items() if key != "output_tokens"
    }
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [], "usage": start}
    events: list[Event] = [
        ("message_start", {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}})
    ]
    for index, (block, deltas) in enumerate(blocks):
        opening = {"type": "content_block_start", "index": index, "content_block": block}
        events.append(("content_block_start", opening))
        events += [
            ("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas
        ]
        events.append(("content_block_stop", {"type": "content_block_stop", "index": index}))
    if then == "close":
        ending = {"stop_reason": stop, "stop_sequence": None}
        out = {"output_tokens": usage.get("output_tokens", 9)}
        events.append(("message_delta", {"type": "message_delta", "delta": ending, "usage": out}))
        events.append(("message_stop", {"type": "message_stop"}))
    return sse(*events, then=then)


def _usage(say: Say) -> dict[str, int]:
    """Here the plain prompt is what was neither read from a cache nor written to one."""
    if say.used is None:
        return {"input_tokens": 0, "output_tokens": 0}
    plain = say.used.prompt - say.used.cached
    return {"input_tokens": plain, "cache_read_input_tokens": say.used.cached, "output_tokens": say.used.output}


def _blocks(say: Say) -> list[BLOCK]:
    blocks: list[BLOCK] = []
    if say.thought:
        deltas = [{"type": "thinking_delta", "thinking": say.thought}]
        deltas.append({"type": "signature_delta", "signature": say.signature})
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if say.text:
        texts = [{"type": "text_delta", "text": piece} for piece in say.pieces]
        blocks.append(({"type": "text", "text": ""}, texts))
    for call in say.calls:
        half = len(call.arguments) // 2
        halves = (call.arguments[:half], call.arguments[half:])
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in halves]
        blocks.append(({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, deltas))
    return blocks


class Messages:
    """`anthropic`."""

    name, model, base = "anthropic", "anthropic:claude-of-the-tests", ""
    path = streams_path = "/v1/messages"

    def streamed(self, say: Say, then: str = "close") -> Behave:
        return anthropic(*_blocks(say), stop=STOPS[say.stop], then=then, **_usage(say))

    def whole(self, say: Say) -> Behave:
        content: list[dict[str, Any]] = []
        if say.thought:
            content.append({"type": "thinking", "thinking": say.thought, "signature": say.signature})
        if say.text:
            content.append({"type": "text", "text": say.text})
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
            for call in say.calls
        ]
        body = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": content}
        return status(200, body | {"stop_reason": STOPS[say.stop], "stop_sequence": None, "usage": _usage(say)})

    def problem(self, kind: Problem, words: str = "", **headers: str) -> Behave:
        code = 529 if kind == "overloaded" else 400 if kind == "quota" else STATUSES[kind]
        said = {
            "overflow": ("invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum"),
            "quota": ("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
            "throttled": ("rate_limit_error", "slow down"),
            "overloaded": ("overloaded_error", "Overloaded"),
        }.get(kind, ("api_error", kind))
        error = {"type": said[0], "message": f"{said[1]} {words}"}
        return status(code, {"type": "error", "error": error}, **headers)

    def shown(self, body: Any) -> list[tuple[str, str]]:
        system = body.get("system", [])
        texts = [system] if isinstance(system, str) else [part["text"] for part in system]
        out = [("system", text) for text in texts]
        for message in body["messages"]:
            content = message["content"]
            for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                match part["type"]:
                    case "tool_use":
                        out.append(("call", f"{part['id']} {json.dumps(part['input'], separators=(',', ':'))}"))
                    case "tool_result":
                        inside = part["content"]
                        text = inside if isinstance(inside, str) else "".join(piece["text"] for piece in inside)
                        out.append(("result", text))
                    case "thinking":
                        out.append(("thought", part["signature"]))
                    case _:
                        out.append((message["role"], part["text"]))
        return out
