"""What a worker says, as the executor reads it. Guards against a worker taken over: any bytes give a value or None."""

from typing import Annotated, Final, Literal

from guildhall_contracts import limits
from guildhall_contracts.base import Record
from pydantic import Field, TypeAdapter, ValidationError


class Ready(Record):
    """The worker has confined itself; `held` says by what."""

    kind: Literal["ready"] = "ready"
    held: dict[str, bool] = Field(max_length=16)


class Print(Record):
    """A piece of what the code printed."""

    kind: Literal["print"] = "print"
    text: str = Field(max_length=limits.CODE_OUTPUT_MAX_BYTES)


class Call(Record):
    """The code called a function of the host; `arguments` is JSON text, as a model would have written it."""

    kind: Literal["call"] = "call"
    id: int = Field(ge=1, le=2**31)
    tool: str = Field(min_length=1, max_length=128)
    arguments: str = Field(max_length=limits.TOOL_ARGUMENTS_MAX_BYTES)


class Result(Record):
    """The code ended. `value` is JSON text, and there exactly when it is done."""

    kind: Literal["result"] = "result"
    status: Literal["done", "killed", "error"]
    value: str = Field("", max_length=limits.CODE_VALUE_MAX_BYTES)
    error: str = Field("", max_length=limits.EVENT_TEXT_MAX_BYTES)
    reason: Literal["", "time", "deadline", "memory", "output", "crashed"] = ""


Said = Ready | Print | Call | Result
_SAID: Final[TypeAdapter[Said]] = TypeAdapter(Annotated[Said, Field(discriminator="kind")])


def decode(body: bytes) -> Said | None:
    """A frame's body; None for anything a worker does not say."""
    try:
        return _SAID.validate_json(body, strict=True)
    except ValidationError:
        return None
