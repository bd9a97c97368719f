"""What a command printed, as blocks the model reads and a longer text for people. Pure."""

from dataclasses import dataclass

from guildhall_contracts import limits
from guildhall_contracts.content import Block

from guildhall_executor.tools.ask import sent_bytes
from guildhall_executor.tools.result import Ran, ToolResult, block
from guildhall_executor.tools.text import SHOWN_MAX_BYTES, head_and_tail, mark, terminal_text


@dataclass(frozen=True, slots=True)
class Kept:
    """Head and tail of an output as plain lines, joined; `omitted_bytes` are missing between them."""

    text: str
    omitted_bytes: int


def kept(head: str, tail: str, omitted_bytes: int) -> Kept:
    """`head` and `tail` are base64 as the workshop sent them. Raises WorkshopLost for what is none."""
    first, last = sent_bytes(head), sent_bytes(tail)
    if not omitted_bytes:
        return Kept(terminal_text(first + last).rstrip("\n"), 0)
    text = f"{terminal_text(first)}\n{mark(f'{omitted_bytes} bytes left out here')}\n{terminal_text(last)}"
    return Kept(text.rstrip("\n"), omitted_bytes)


def with_output(line: str, output: Kept, *, error_code: str | None = None, exit_code: int | None = None) -> Ran:
    """`line` says how it ended; then the output with its middle cut to what is shown."""
    shown, omitted = head_and_tail(output.text, SHOWN_MAX_BYTES, output.omitted_bytes)
    said = bool(output.text.strip())
    blocks: list[Block] = [block(line + ("" if said else "\nno output"))]
    if said:
        blocks.append(block(shown, origin="workspace", label="output of the command"))
    result = ToolResult(blocks=blocks, error_code=error_code, exit_code=exit_code, omitted_bytes=omitted)
    longer = head_and_tail(output.text, limits.BLOB_RESULT_MAX_BYTES)[0] if shown != output.text else ""
    return Ran(result, longer.encode("utf-8", "replace") or None)
