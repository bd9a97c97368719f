"""The one base of every record, and the few string types that repeat."""

import re
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

from guildhall_contracts import limits

_UPPER_WORDS: Final = {"usd": "USD", "sha256": "SHA256"}


def wire_name(field_name: str) -> str:
    """The camelCase wire name of a field: `cost_micro_usd` is `costMicroUSD`, `patch_sha256` is `patchSHA256`."""
    first, *rest = field_name.rstrip("_").split("_")
    return first + "".join(_UPPER_WORDS.get(word, word.capitalize()) for word in rest)


class Record(BaseModel):
    """An immutable value with closed fields; Kubernetes prunes, we refuse."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=wire_name,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
    )

    def to_wire(self) -> dict[str, Any]:
        """JSON-ready dict with wire names; fields that are None are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def first_problem(error: ValidationError) -> tuple[str, str]:
    """The first thing wrong: its field, as `roles.0.name`, and the words. Nothing of what was given."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return ".".join(str(part) for part in first["loc"]), first["msg"]


def within_bytes(limit: int) -> AfterValidator:
    """Text of at most `limit` bytes of UTF-8: one character can take four of them."""

    def check(value: str) -> str:
        if len(value) * 4 <= limit:
            return value
        size = len(value.encode("utf-8", "surrogatepass"))
        if size > limit:
            raise ValueError(f"is {size} bytes long; at most {limit} bytes are allowed")
        return value

    return AfterValidator(check)


def one_line(text: str, limit: int) -> str:
    """`text` on one line, control characters as spaces, cut to `limit` characters with an ellipsis."""
    flat = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text).strip()
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def dollars(micro_usd: int) -> str:
    """`$0.38`; four digits for a fraction of a cent below ten cents. The console's `money` writes the same."""
    if 0 < micro_usd < 100:
        return "<$0.0001"
    digits = 2 if micro_usd >= 100_000 or micro_usd % 10_000 == 0 else 4
    return f"${micro_usd / 1_000_000:.{digits}f}"


def cut(text: str, limit: int) -> str:
    """The first `limit` Unicode code points of `text` (the JavaScript fold cuts the same way)."""
    return text if len(text) <= limit else text[:limit]


Name = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.NAME_MAX_CHARS, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
]
RoleName = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.ROLE_NAME_MAX_CHARS, pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
]
ToolName = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_]*$")]
Uid = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9-]+$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$", min_length=64, max_length=64)]
OpId = Annotated[str, StringConstraints(pattern=r"^o[1-9][0-9]{0,9}$", max_length=11)]
LabelText = Annotated[str, StringConstraints(max_length=limits.LABEL_TEXT_MAX_CHARS)]
Title = Annotated[str, StringConstraints(max_length=limits.EVENT_TITLE_MAX_CHARS)]
Message = Annotated[str, StringConstraints(max_length=limits.EVENT_MESSAGE_MAX_CHARS)]
Summary = Annotated[str, StringConstraints(max_length=limits.SUMMARY_MAX_CHARS)]
Timestamp = Annotated[
    str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$", max_length=24)
]
Task = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.TASK_MAX_BYTES), within_bytes(limits.TASK_MAX_BYTES)
]
Prompt = Annotated[
    str, StringConstraints(min_length=1, max_length=limits.PROMPT_MAX_BYTES), within_bytes(limits.PROMPT_MAX_BYTES)
]
EventText = Annotated[
    str, StringConstraints(max_length=limits.EVENT_TEXT_MAX_BYTES), within_bytes(limits.EVENT_TEXT_MAX_BYTES)
]
ToolOutput = Annotated[
    str,
    StringConstraints(max_length=limits.EVENT_TOOL_OUTPUT_MAX_BYTES),
    within_bytes(limits.EVENT_TOOL_OUTPUT_MAX_BYTES),
]
BlobText = Annotated[
    str, StringConstraints(max_length=limits.BLOB_RESULT_MAX_BYTES), within_bytes(limits.BLOB_RESULT_MAX_BYTES)
]
ArgumentsText = Annotated[
    str, StringConstraints(max_length=limits.TOOL_ARGUMENTS_MAX_BYTES), within_bytes(limits.TOOL_ARGUMENTS_MAX_BYTES)
]
