"""How far a Run came that is stopped at a limit, told without another model call: its plan, its roles' last words."""

import json
from typing import Final

from guildhall_contracts.base import cut
from guildhall_contracts.errors import ErrorInfo

from guildhall_executor.state import RoleRun, State
from guildhall_executor.tools.plan import plan_markdown

_WORDS_MAX_CHARS: Final = 2_000
_ROLES_MAX_COUNT: Final = 6


def so_far(state: State, error: ErrorInfo) -> str:
    """A result in Markdown; what the roles said is theirs, quoted as such."""
    parts = [f"**Stopped before it was done**: {error.message}"]
    if state.plan:
        parts.append(f"The plan as it stood:\n\n{plan_markdown(state.plan)}")
    for invocation in list(state.roles.values())[-_ROLES_MAX_COUNT:]:
        words = _last_words(invocation)
        if words:
            quoted = "\n".join(f"> {line}" for line in words.splitlines())
            parts.append(f"Last words of role {invocation.role}:\n\n{quoted}")
    return "\n\n".join(parts)


def _last_words(invocation: RoleRun) -> str:
    for message in reversed(invocation.history):
        if message.kind == "assistant":
            text = str(json.loads(message.body)["text"]).strip()
            if text:
                return cut(text, _WORDS_MAX_CHARS)
    return ""
