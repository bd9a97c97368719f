"""Content that enters a model's context, classified twice: where it came from, and what it may do there."""

from typing import Final, Literal

from pydantic import Field

from guildhall_contracts.base import BlobText, Record

Origin = Literal["person", "model", "workspace", "tool", "webhook", "schedule", "guild"]
Authority = Literal["instruction", "data"]

INQUIRY_LABEL: Final = "question from a person"
"""The label of the last block of a model call that answers an inquiry beside a role's work."""


class Block(Record):
    """A piece of text. `data` is never an instruction, whatever it says; renderers put it in a labelled frame."""

    text: BlobText
    origin: Origin
    authority: Authority
    label: str = Field("", max_length=200)  # for people and for the frame, e.g. "file src/x.py"
