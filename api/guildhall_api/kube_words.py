"""What the API server says when it refuses or warns, for people: a sentence for each field, nothing of its insides."""

import re
from typing import Any, Final

_MAX_CHARS = 2_000
_BY_POLICY = " denied request: "
_UNCHECKED = "some validation rules were not checked"
_WARNING: Final = re.compile(r'299 \S+ "(.*)"', re.DOTALL)
_WARNED_BY: Final = re.compile(r"Validation failed for ValidatingAdmissionPolicy '[^']*' with binding '[^']*': ")


def words(answer: Any) -> str:
    """The words of a Kubernetes `Status`, any value: its causes by field where it names them, else its message."""
    if not isinstance(answer, dict):
        return ""
    details = answer.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    lines = [line for cause in causes if (line := _line(cause))] if isinstance(causes, list) else []
    return ("; ".join(lines) or str(answer.get("message", "")))[:_MAX_CHARS]


def _line(cause: Any) -> str:
    """`field: what is wrong`; empty for a cause that names no field, or says only what was left unchecked."""
    if not isinstance(cause, dict):
        return ""
    field, message = str(cause.get("field", "")), str(cause.get("message", ""))
    if not field or _UNCHECKED in message:
        return ""
    said = message.removeprefix("Invalid value: ").replace(f"{field} in body ", "")
    return f"{field}: {'it is required' if said == 'Required value' else said}"


def by_policy(message: str) -> str:
    """A policy's own sentence out of a refusal that names policy and binding first; any other message as it is."""
    return message.split(_BY_POLICY, 1)[-1]


def warning(header: str) -> str:
    """The sentence of one `Warning` header, without code, agent, quotes and the name of the policy that said it."""
    found = _WARNING.fullmatch(header)
    said = re.sub(r"\\(.)", r"\1", found[1]) if found else header
    return _WARNED_BY.sub("", said)[:_MAX_CHARS]
