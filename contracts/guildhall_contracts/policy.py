"""The tools that exist, what each may do, and the one rule that says whether a call may run. It fails closed.

Guards against a model, or text that reached it, widening what a Guild author and a person allowed.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from guildhall_contracts import limits
from guildhall_contracts.base import Record

Effect = Literal["read", "write", "consequential"]
_EFFECT_RANK: Final = {"read": 0, "write": 1, "consequential": 2}


class ToolPolicy(Record):
    """What a tool may do, and when. `approval` asks a person even where the effect alone would not."""

    effect: Effect
    allowed_in_private: bool = False
    allowed_without_user_present: bool = False
    approval: bool = False


class CallContext(Record):
    """The facts a call is judged by."""

    approved: bool = False
    private: bool = False
    interactive: bool = True


def _policy(effect: Effect, *, private: bool = True, unattended: bool = True) -> ToolPolicy:
    return ToolPolicy(effect=effect, allowed_in_private=private, allowed_without_user_present=unattended)


BUILT_IN_TOOLS: Final[dict[str, ToolPolicy]] = {
    "read_file": _policy("read"),
    "list_files": _policy("read"),
    "search_files": _policy("read"),
    "write_file": _policy("write"),
    "edit_file": _policy("write"),
    "run_shell": _policy("write"),
    "run_code": _policy("read"),
    "ask_human": _policy("read", unattended=False),
    "delegate": _policy("read"),
    "update_plan": _policy("read"),
    "finish": _policy("read"),
    "list_role_messages": _policy("read"),
    "read_message_window": _policy("read"),
    "search_role_blocks": _policy("read"),
    "recent_role_tool_calls": _policy("read"),
    "trigger_interrupt": _policy("write"),
}
"""Workspace writes are contained by the pod, so only what leaves it is consequential."""

HANDLER_TOOLS: Final = frozenset(
    {"list_role_messages", "read_message_window", "search_role_blocks", "recent_role_tool_calls", "trigger_interrupt"}
)
ALWAYS_TOOLS: Final = frozenset({"finish"})

_EXTERNAL: Final = re.compile(
    rf"[a-z][a-z0-9]{{0,{limits.CONNECTION_NAME_MAX_CHARS - 1}}}__[a-z0-9_]{{1,{limits.EXTERNAL_TOOL_PART_MAX_CHARS}}}"
)
EXTERNAL_DEFAULT: Final = ToolPolicy(effect="consequential")
"""What an external tool is until its Connection says otherwise: it asks a person each time, while one is there."""


def is_external(tool: str) -> bool:
    """Whether a name is `<connection>__<tool>`: a tool some Connection may offer, executed by the gateway."""
    return _EXTERNAL.fullmatch(tool) is not None


def needs_approval(policy: ToolPolicy) -> bool:
    """Whether a person is asked before each call."""
    return policy.effect == "consequential" or policy.approval


def may_execute(policy: ToolPolicy | None, context: CallContext) -> bool:
    """Whether a call may run now. An unknown tool (`policy` None) never may."""
    if policy is None:
        return False
    if context.private and not policy.allowed_in_private:
        return False
    if not context.interactive and not policy.allowed_without_user_present:
        return False
    return context.approved or not needs_approval(policy)


def may_be_offered(policy: ToolPolicy | None, *, private: bool, interactive: bool) -> bool:
    """Whether a call could run at some time in a Run of this mode. Only where a person is there can a yes be given."""
    return may_execute(policy, CallContext(approved=interactive, private=private, interactive=interactive))


def tightened(base: ToolPolicy, override: ToolPolicy) -> ToolPolicy | None:
    """`override` when it nowhere allows more than `base`, else None."""
    loosens = (
        _EFFECT_RANK[override.effect] < _EFFECT_RANK[base.effect]
        or (override.allowed_in_private and not base.allowed_in_private)
        or (override.allowed_without_user_present and not base.allowed_without_user_present)
        or (base.approval and not override.approval)
    )
    return None if loosens else override


def stricter(base: ToolPolicy, other: ToolPolicy) -> ToolPolicy:
    """Field by field the one that allows less: how an override meets a base that is not known beforehand."""
    return ToolPolicy(
        effect=max(base.effect, other.effect, key=_EFFECT_RANK.__getitem__),
        allowed_in_private=base.allowed_in_private and other.allowed_in_private,
        allowed_without_user_present=base.allowed_without_user_present and other.allowed_without_user_present,
        approval=base.approval or other.approval,
    )


def tools_at_assembly(
    listed: Iterable[str], policies: Mapping[str, ToolPolicy], *, private: bool, interactive: bool
) -> tuple[str, ...]:
    """The tools of a role for this Run: what it lists and policy could ever permit, in listed order, and `finish`."""
    wanted = dict.fromkeys(listed)
    kept = [tool for tool in wanted if may_be_offered(policies.get(tool), private=private, interactive=interactive)]
    return tuple(kept) if set(kept) >= ALWAYS_TOOLS else (*kept, *sorted(ALWAYS_TOOLS - set(kept)))
