"""The frozen Run as the loop uses it: roles with their tools, models and opening messages, all made once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from guildhall_contracts import limits
from guildhall_contracts.events import RoleFace
from guildhall_contracts.external import ExternalTool
from guildhall_contracts.guild import Role, guild_problems
from guildhall_contracts.policy import is_external
from guildhall_contracts.snapshot import RunSnapshot

from guildhall_executor import prompt
from guildhall_executor.messages import Message
from guildhall_executor.rights import External, Toolset, grants, toolset
from guildhall_executor.tools.catalog import CATALOG

NO_EXTERNAL: Final[External] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Member:
    """A role, ready to be called. `tools` are the most it can reach; `grants` is what it can pass on to delegates."""

    role: Role
    model: str
    tools: Toolset
    grants: frozenset[str]
    system: Message
    max_output_tokens: int
    max_steps: int | None


@dataclass(frozen=True, slots=True)
class Roster:
    snapshot: RunSnapshot
    members: Mapping[str, Member]
    faces: tuple[RoleFace, ...]
    external: External = field(default_factory=dict)


def snapshot_problems(snapshot: RunSnapshot) -> list[str]:
    """Why this executor cannot run the snapshot, each a sentence a Guild author can act on."""
    problems = guild_problems(snapshot.guild)
    names = {role.name for role in snapshot.guild.roles}
    for entry in snapshot.role_tools:
        if entry.role not in names:
            problems.append(f"the snapshot gives tools to role '{entry.role}', which is not in the Guild")
        problems += [
            f"role '{entry.role}' has the tool '{tool}', which this version of the executor cannot run; "
            f"remove it from the role's tools"
            for tool in entry.tools
            if tool not in CATALOG and not is_external(tool)
        ]
    return problems


def make_roster(snapshot: RunSnapshot, external: External = NO_EXTERNAL) -> Roster:
    """Raises nothing for a snapshot without `snapshot_problems`. Of external tools a role gets those in `external`."""
    tools_of = {
        entry.role: tuple(tool for tool in entry.tools if tool in CATALOG or tool in external)
        for entry in snapshot.role_tools
    }
    roles = {role.name: role for role in snapshot.guild.roles}
    members = {name: _member(snapshot, role, tools_of, external) for name, role in roles.items()}
    faces = tuple(_face(role, members[name].tools.names) for name, role in roles.items())
    return Roster(snapshot, members, faces, external)


def listed_external(snapshot: RunSnapshot) -> tuple[str, ...]:
    """The external tools some role lists, in order."""
    names = (tool for entry in snapshot.role_tools for tool in entry.tools if is_external(tool))
    return tuple(dict.fromkeys(names))


def equipped(roster: Roster, offered: Sequence[ExternalTool]) -> Roster:
    """The roster with the external tools this Run is offered, and with the policy the gateway gave each."""
    external = {tool.name: tool for tool in offered if is_external(tool.name)}
    policies = {name: policy for name, policy in roster.snapshot.policies.items() if not is_external(name)}
    policies |= {name: tool.policy for name, tool in external.items()}
    return make_roster(roster.snapshot.model_copy(update={"policies": policies}), external)


def _member(snapshot: RunSnapshot, role: Role, tools_of: Mapping[str, tuple[str, ...]], external: External) -> Member:
    roles = {one.name: one for one in snapshot.guild.roles}
    asked = role.limits.output_tokens if role.limits else None
    tools = tools_of.get(role.name, ())
    delegates = tuple(roles[name] for name in role.delegates) if "delegate" in tools else ()
    return Member(
        role=role,
        model=snapshot.guild.models[role.model],
        tools=toolset(role, tools, external),
        grants=grants(role, tools_of),
        system=prompt.system_message(role, delegates),
        max_output_tokens=asked or limits.MODEL_OUTPUT_TOKENS_DEFAULT_COUNT,
        max_steps=_max_steps(role),
    )


def _max_steps(role: Role) -> int | None:
    """A handler's steps are always few."""
    asked = role.limits.steps if role.limits else None
    return asked if asked or not role.handler else limits.HANDLER_STEPS_DEFAULT_COUNT


def _face(role: Role, tools: tuple[str, ...]) -> RoleFace:
    return RoleFace(
        name=role.name,
        label=role.label or role.name,
        kind="handler" if role.handler else "role",
        tools=list(tools),
        delegates=list(role.delegates),
    )
