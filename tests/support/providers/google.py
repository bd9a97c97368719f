"""Google's Gemini API."""

import json
from typing import Any

from support.providers.dialect import STATUSES, Problem, Say
from support.providers.server import Behave, Event, sse, status

STOPS = {"end": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY", "filter": "SAFETY",
         "unsaid": None, "failed": "MALFORMED_FUNCTION_CALL", "odd": "OTHER", "window": "MAX_TOKENS"}  # fmt: skip
REASONS = {"throttled": "RESOURCE_EXHAUSTED", "quota": "RESOURCE_EXHAUSTED", "key": "UNAUTHENTICATED"}


def _usage(say: Say) -> dict[str, Any]:
    if say.used is None:
        return {}
    counts = {"promptTokenCount": say.used.prompt, "cachedContentTokenCount": say.used.cached}
    counts |= {"candidatesTokenCount": say.used.output, "totalTokenCount": say.used.prompt + say.used.output}
    return {"usageMetadata": counts}


def _parts(say: Say) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": say.thought, "thought": True}] if say.thought else []
    parts += [{"text": text} for text in say.pieces]
    mark = {"thoughtSignature": say.signature} if say.signature else {}
    for number, call in enumerate(say.calls):
        asked = {"functionCall": {"name": call.name, "args": json.loads(call.arguments), "id": call.id}}
        parts.append(asked | (mark if number == 0 else {}))
    return parts


class Gemini:
    """`google`."""

    name, model, base = "google", "google:gemini-2.5-pro", ""
    path = "/v1beta/models/gemini-2.5-pro:generateContent"
    streams_path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"

    def _chunk(self, parts: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
        candidate |= {"finishReason": stop} if stop else {}
        return {"candidates": [candidate], "modelVersion": "gemini", "responseId": "r"}

    def streamed(self, say: Say, then: str = "close") -> Behave:
        events: list[Event] = [(None, self._chunk([part], None)) for part in _parts(say)]
        if then == "close":
            events.append((None, self._chunk([], STOPS[say.stop]) | _usage(say)))
        return sse(*events, then=then)

    def whole(self, say: Say) -> Behave:
        return status(200, self._chunk(_parts(say), STOPS[say.stop]) | _usage(say))

    def problem(self, kind: Problem, words: str = "", **headers: str) -> Behave:
        said = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
        message = f"{said if kind == 'overflow' else kind} {words}"
        code = STATUSES[kind]
        error = {"code": code, "message": message, "status": REASONS.get(kind, "INVALID_ARGUMENT")}
        return status(code, {"error": error}, **headers)

    def shown(self, body: Any) -> list[tuple[str, str]]:
        out = [("system", part["text"]) for part in body.get("systemInstruction", {}).get("parts", [])]
        for content in body["contents"]:
            for part in content["parts"]:
                if "thoughtSignature" in part:
                    out.append(("thought", part["thoughtSignature"]))
                if "functionCall" in part:
                    call = part["functionCall"]
                    out.append(("call", f"{call['id']} {json.dumps(call['args'], separators=(',', ':'))}"))
                elif "functionResponse" in part:
                    out.append(("result", json.dumps(part["functionResponse"]["response"])))
                elif "text" in part:
                    out.append(({"model": "assistant"}.get(content["role"], content["role"]), part["text"]))
        return out
