"""OpenAI's Responses."""

from typing import Any

from support.providers.dialect import STATUSES, Problem, Say
from support.providers.server import Behave, Event, sse, status


def _usage(say: Say) -> dict[str, Any] | None:
    if say.used is None:
        return None
    return {
        "input_tokens": say.used.prompt,
        "input_tokens_details": {"cached_tokens": say.used.cached},
        "output_tokens": say.used.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": say.used.prompt + say.used.output,
    }


def _items(say: Say) -> list[dict[str, Any]]:
    """The output as it is when it is done."""
    items: list[dict[str, Any]] = []
    if say.thought:
        summary = [{"type": "summary_text", "text": say.thought}]
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": say.signature})
    if say.text:
        part: dict[str, Any] = {"type": "output_text", "text": say.text, "annotations": []}
        if say.stop == "refusal":
            part = {"type": "refusal", "refusal": say.text}
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]})
    for number, call in enumerate(say.calls):
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": call.id, "name": call.name}
        items.append(item | {"arguments": call.arguments, "status": "completed"})
    return items


def _of_item(index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    where = {"item_id": item["id"], "output_index": index}
    if item["type"] == "function_call":
        opening = item | {"arguments": "", "status": "in_progress"}
        middle = [{"type": "response.function_call_arguments.delta", "delta": item["arguments"]} | where]
    elif item["type"] == "reasoning":
        opening = item | {"summary": [], "encrypted_content": None}
        text = item["summary"][0]["text"]
        at = where | {"summary_index": 0}
        part = {"type": "summary_text", "text": ""}
        middle = [
            {"type": "response.reasoning_summary_part.added", "part": part} | at,
            {"type": "response.reasoning_summary_text.delta", "delta": text} | at,
        ]
    else:
        opening = item | {"content": [], "status": "in_progress"}
        part = item["content"][0]
        kind = "refusal" if part["type"] == "refusal" else "output_text"
        text, at = part.get("text", part.get("refusal", "")), where | {"content_index": 0}
        half = len(text) // 2
        empty = part | ({"refusal": ""} if kind == "refusal" else {"text": ""})
        middle = [{"type": "response.content_part.added", "part": empty} | at]
        middle += [
            {"type": f"response.{kind}.delta", "delta": piece, "logprobs": []} | at
            for piece in (text[:half], text[half:])
        ]
    return [
        {"type": "response.output_item.added", "output_index": index, "item": opening},
        *middle,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


class Responses:
    """`openai`."""

    name, model, base = "openai", "openai:gpt-5", "/v1"
    path = streams_path = "/v1/responses"

    def _response(self, say: Say) -> dict[str, Any]:
        body = {"id": "r", "object": "response", "created_at": 1, "model": "m", "parallel_tool_calls": True}
        body |= {"tools": [], "tool_choice": "auto", "output": _items(say), "status": "completed"}
        usage = _usage(say)
        body |= {"usage": usage} if usage else {}
        if say.stop in ("unsaid", "failed"):
            return body | {"status": "in_progress" if say.stop == "unsaid" else "failed"}
        why = {"length": "max_output_tokens", "window": "max_output_tokens", "filter": "content_filter",
               "odd": "max_messages"}.get(say.stop)  # fmt: skip
        return body | ({"status": "incomplete", "incomplete_details": {"reason": why}} if why else {})

    def streamed(self, say: Say, then: str = "close") -> Behave:
        done = self._response(say)
        events = [{"type": "response.created", "response": done | {"output": [], "status": "in_progress"}}]
        for index, item in enumerate(done["output"]):
            events += _of_item(index, item)
        if then == "close":
            events.append({"type": f"response.{done['status']}", "response": done})
        numbered: list[Event] = [(str(e["type"]), e | {"sequence_number": n}) for n, e in enumerate(events)]
        return sse(*numbered, then=then)

    def whole(self, say: Say) -> Behave:
        return status(200, self._response(say))

    def problem(self, kind: Problem, words: str = "", **headers: str) -> Behave:
        code = {"overflow": "context_length_exceeded", "quota": "insufficient_quota"}.get(kind, kind)
        error = {"message": f"about {kind}: {words}", "type": "x", "param": None, "code": code}
        return status(STATUSES[kind], {"error": error}, **headers)

    def shown(self, body: Any) -> list[tuple[str, str]]:
        out = [("system", body["instructions"])] if body.get("instructions") else []
        for item in body["input"]:
            match item.get("type", "message"):
                case "function_call":
                    out.append(("call", f"{item['call_id']} {item['arguments']}"))
                case "function_call_output":
                    out.append(("result", str(item["output"])))
                case "reasoning":
                    out.append(("thought", item["encrypted_content"]))
                case _:
                    content = item["content"]
                    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
                    out.append(({"developer": "system"}.get(item["role"], item["role"]), text))
        return out
