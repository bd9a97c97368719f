"""Renders Blocks for a model. Guards against data that plays instruction: its frame has a mark it cannot forge."""

import hashlib
from typing import Final

from guildhall_contracts.base import one_line
from guildhall_contracts.content import Block

_LABEL_MAX_CHARS: Final = 200


def framed(block: Block) -> str:
    """Instructions as they are; data between two lines that carry the hash of the data itself.

    A text cannot contain its own SHA-256, so no data can close its frame; the same data gives the same bytes, so
    that a provider's prompt cache still works.
    """
    if block.authority == "instruction":
        return block.text
    mark = hashlib.sha256(block.text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    label = one_line(block.label, _LABEL_MAX_CHARS).replace('"', "'")
    return f'[data {mark} from {block.origin}: "{label}"]\n{block.text}\n[end of data {mark}]'


def rendered(blocks: list[Block]) -> str:
    """A message's text as the model reads it. Lone surrogates, which no provider takes, become U+FFFD."""
    text = "\n\n".join(framed(block) for block in blocks)
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
