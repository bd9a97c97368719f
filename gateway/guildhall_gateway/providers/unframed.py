"""Adapters that send what they are given. Guards the budget's bound: no library adds text that nobody reserved.

pydantic-ai puts notes of its own next to text that looks like its frames. Our frames (`framing`) say what is data
already, and carry a mark that no text can forge.
"""

from pydantic_ai.messages import ModelMessage


class Unframed:
    """Mixed into a pydantic-ai model, before its class."""

    def _note_lookalike_frames(
        self, _authored: list[ModelMessage], messages: list[ModelMessage], *, announce: bool
    ) -> tuple[list[ModelMessage], bool]:
        del announce
        return messages, False
