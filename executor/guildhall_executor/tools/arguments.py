"""Checks what a model wrote as arguments. Guards against calls nobody foresaw: any text gives a value or a refusal."""

from dataclasses import dataclass
from typing import Any, Final, TypeVar

from guildhall_contracts.canonical import NotCanonical, parse_arguments
from pydantic import BaseModel, ConfigDict, ValidationError

_SHOWN_PROBLEMS_MAX_COUNT: Final = 4
A = TypeVar("A", bound="Arguments")


class Arguments(BaseModel):
    """Base of every tool's arguments: closed, and no guessing of types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    def title(self) -> str:
        """What the call is about, in a few words for people."""
        return ""

    def complete(self) -> dict[str, Any]:
        """Everything the call says, as JSON: what its hash and a person's approval are of."""
        return self.model_dump(mode="json")


@dataclass(frozen=True, slots=True)
class BadArguments:
    """Why the arguments were refused, in words the model can act on."""

    message: str


def parameters(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON Schema of `arguments` as a model is shown it, without the generator's own titles."""
    schema: dict[str, Any] = _without_titles(arguments.model_json_schema())
    schema.pop("description", None)
    return schema


def _without_titles(value: Any, *, names: bool = False) -> Any:
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if names or k != "title" or not isinstance(v, str)}
        return {k: _without_titles(v, names=k in ("properties", "$defs") and not names) for k, v in kept.items()}
    return [_without_titles(item) for item in value] if isinstance(value, list) else value


def check(arguments: type[A], text: str) -> A | BadArguments:
    """`text` as arguments. Empty text counts as `{}`: some providers send nothing where nothing is needed."""
    try:
        value = parse_arguments(text if text.strip() else "{}")
    except NotCanonical as error:
        return BadArguments(f"{str(error)[:300]}. The call was not executed; send one complete JSON object.")
    try:
        return arguments.model_validate(value)
    except ValidationError as error:
        return BadArguments(_problems(arguments, error))


def _place(where: tuple[int | str, ...]) -> str:
    """The argument a problem is about; nothing when it is about how several go together."""
    return f"'{'.'.join(str(part) for part in where)[:80]}': " if where else ""


def _problems(arguments: type[Arguments], error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{_place(e['loc'])}{e['msg'][:200]}" for e in found]
    more = len(lines) - _SHOWN_PROBLEMS_MAX_COUNT
    shown = "; ".join(lines[:_SHOWN_PROBLEMS_MAX_COUNT]) + (f"; and {more} more" if more > 0 else "")
    return f"{shown}. Known arguments: {', '.join(arguments.model_fields)}. The call was not executed."
