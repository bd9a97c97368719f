"""A call of `run_code` as a request to a worker, and what came of it as the model reads it. Pure.

The messages are copies: text only, the latest ones, within bounds. Nothing the code does to them reaches anybody.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from guildhall_contracts import limits
from guildhall_contracts.content import Block, Origin

from guildhall_executor.code.bounds import Bounds, within
from guildhall_executor.code.runner import CodeRequest, CodeResult, Reason
from guildhall_executor.messages import Message
from guildhall_executor.tools.catalog import CATALOG
from guildhall_executor.tools.code import RunCode
from guildhall_executor.tools.result import Ran, ToolResult, block
from guildhall_executor.tools.text import SHOWN_MAX_BYTES, head_and_tail, head_of, terminal_text

MESSAGE_MAX_BYTES: Final = 16 * limits.KIB
_ENDING_MAX_BYTES: Final = 12 * limits.KIB
_ROLES: Final = {"user": "user", "assistant": "assistant", "tool": "tool"}


def request_of(args: RunCode, history: Sequence[Message], functions: Iterable[str], bounds: Bounds) -> CodeRequest:
    """What a worker is asked; `history` is the calling role's own."""
    return CodeRequest(args.code, snapshot_of(history), {name: parameters_of(name) for name in functions}, bounds)


def bounds_of(args: RunCode) -> Bounds:
    return within(args.timeout_seconds)


def parameters_of(tool: str) -> tuple[str, ...]:
    """A tool's parameters in the order code may give them; those of an external tool have to be named."""
    return tuple(CATALOG[tool].arguments.model_fields) if tool in CATALOG else ()


def snapshot_of(history: Sequence[Message]) -> list[dict[str, str]]:
    """The latest messages of a role as plain text, oldest first, without the system's."""
    kept: list[dict[str, str]] = []
    room = limits.CODE_MESSAGES_MAX_BYTES
    for message in reversed(history):
        if message.kind not in _ROLES:
            continue
        value = {"role": _ROLES[message.kind], "content": _text_of(json.loads(message.body))}
        room -= len(json.dumps(value)) + 1
        if room < 0 or len(kept) == limits.CODE_MESSAGES_MAX_COUNT:
            break
        kept.append(value)
    return kept[::-1]


def _text_of(body: Mapping[str, Any]) -> str:
    if "content" in body:
        text = "\n".join(str(part["text"]) for part in body["content"])
    else:
        calls = "".join(f"\n{call['name']}({call['arguments']})" for call in body["toolCalls"])
        text = str(body["text"]) + calls
    return head_of(text, MESSAGE_MAX_BYTES)


def answer_of(result: ToolResult) -> dict[str, Any]:
    """A tool's result as the code gets it: plain values."""
    return {"text": result.shown, "error_code": result.error_code, "exit_code": result.exit_code}


def render(args: RunCode, result: CodeResult) -> Ran:
    """How the code ended and its value, then what it printed; the whole of both goes along when something was cut."""
    origin: Origin = "workspace" if result.called else "tool"  # what a tool gave it may be in anything it says
    ending = terminal_text(_ending(args, result).encode("utf-8", "replace"))
    printed = terminal_text("".join(result.stdout).encode("utf-8", "replace")).rstrip("\n")
    shown, cut = head_and_tail(ending, _ENDING_MAX_BYTES)
    output, cut_output = head_and_tail(printed, SHOWN_MAX_BYTES - _ENDING_MAX_BYTES)
    blocks: list[Block] = [block(shown, origin=origin, label="result of the code")]
    if printed.strip():
        blocks.append(block(output, origin=origin, label="printed by the code"))
    code = {"done": None, "error": "code_error", "killed": "code_killed"}[result.status]
    whole = f"{ending}\n{printed}".encode("utf-8", "replace") if cut or cut_output else None
    kept = whole[: limits.BLOB_RESULT_MAX_BYTES] if whole else None
    return Ran(ToolResult(blocks=blocks, error_code=code, omitted_bytes=cut + cut_output), kept)


def _ending(args: RunCode, result: CodeResult) -> str:
    if result.status == "done":
        return "done" if result.value == "null" else f"done; the value is\n{result.value}"
    if result.status == "error":
        return f"code_error: the code failed\n{result.error}"
    return f"code_killed: {_why_killed(args, result.reason)}; nothing it computed is kept"


def _why_killed(args: RunCode, reason: Reason) -> str:
    if reason in ("time", "deadline", "host"):
        return f"stopped after {args.timeout_seconds} seconds (timeout_seconds)"
    return {
        "memory": f"it needs more than {limits.CODE_MEMORY_MAX_BYTES // limits.MIB} MiB (CODE_MEMORY_MAX_BYTES)",
        "output": f"it printed more than {limits.CODE_OUTPUT_MAX_BYTES // limits.KIB} KiB (CODE_OUTPUT_MAX_BYTES)",
        "nonsense": "its process spoke nonsense and was ended",
    }.get(reason, "its process ended; too much memory or too deep a recursion is the usual cause")
