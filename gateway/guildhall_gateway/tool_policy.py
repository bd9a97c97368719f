"""Whether an external tool may be called in a Run, decided where it is executed. Pure.

Guards against a role reaching what its frozen Guild does not list, and against a policy that loosened on the way.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from guildhall_contracts.external import ExternalRefusal
from guildhall_contracts.guild import GuildSpec, external_policy
from guildhall_contracts.policy import ToolPolicy, is_external, may_be_offered

from guildhall_gateway.adapters.listing import Offer
from guildhall_gateway.problems import Refusal, refusal
from guildhall_gateway.runs import RunView

_STATUS: Final[dict[ExternalRefusal, int]] = {
    "unknown_tool": 404,
    "tool_denied": 403,
    "approval_needed": 403,
    "approval_refused": 409,
    "invalid_arguments": 422,
    "busy": 429,
}


def denied(code: ExternalRefusal, message: str, *, retryable: bool = False) -> Refusal:
    """A refusal the model reads; `detail.code` is for programs."""
    return refusal(_STATUS[code], "tool_denied", message, detail={"code": code}, retryable=retryable)


@dataclass(frozen=True, slots=True)
class Rights:
    """What decides beside the call itself: the Run's mode and its frozen Guild."""

    run: RunView
    guild: GuildSpec

    def policy(self, tool: str, offer: Offer) -> ToolPolicy | None:
        """The policy of a tool in this Run; None where nothing could permit it: in a scheduled Run no approval can."""
        policy = external_policy(self.guild, tool, offer.policy)
        run = self.run
        return policy if may_be_offered(policy, private=run.private, interactive=run.attended) else None

    def lists(self, role: str, tool: str) -> bool:
        return any(one.name == role and tool in one.tools for one in self.guild.roles)


def external_names(guild: GuildSpec) -> tuple[str, ...]:
    """The external tools some role lists, in the order they are listed."""
    return tuple(dict.fromkeys(tool for role in guild.roles for tool in role.tools if is_external(tool)))


def permitted(rights: Rights, role: str, tool: str, offers: Mapping[str, Offer]) -> ToolPolicy | Refusal:
    """The policy by which `role` may call `tool` now, or why it may not."""
    if not rights.lists(role, tool):
        return denied("unknown_tool", f"'{tool[:80]}' is not a tool of role '{role}'")
    offer = offers.get(tool)
    if offer is None:
        return denied("unknown_tool", f"no connection offers '{tool}' now: it was removed, changed or held back")
    policy = rights.policy(tool, offer)
    if policy is None:
        mode = "private" if rights.run.private else "scheduled"
        return denied("tool_denied", f"policy does not permit '{tool}' in a {mode} Run; go on without it")
    return policy
