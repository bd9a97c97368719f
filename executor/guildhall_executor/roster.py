"""The frozen Run as the loop uses it: roles with their tools, models and opening messages, all made once."""

from collections.abc import Mapping
from dataclasses import dataclass

from guildhall_contracts import limits
from guildhall_contracts.events import RoleFace
from guildhall_contracts.guild import Role, guild_problems
from guildhall_contracts.policy import CallContext, ToolPolicy, may_execute
from guildhall_contracts.snapshot import RunSnapshot

from guildhall_executor import prompt
from guildhall_executor.messages import Message
from guildhall_executor.rights import Toolset, grants, toolset
from guildhall_executor.tools.catalog import CATALOG


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

    def may(self, tool: str) -> bool:
        """Policy at call time, for a tool the role lists; nothing is approved here, so what needs that is refused."""
        policy: ToolPolicy | None = self.snapshot.policies.get(tool)
        context = CallContext(private=self.snapshot.private, interactive=self.snapshot.mode == "interactive")
        return may_execute(policy, context)


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
            if tool not in CATALOG
        ]
    return problems


def make_roster(snapshot: RunSnapshot) -> Roster:
    """Raises nothing for a snapshot without `snapshot_problems`."""
    tools_of = {entry.role: tuple(entry.tools) for entry in snapshot.role_tools}
    roles = {role.name: role for role in snapshot.guild.roles}
    members = {name: _member(snapshot, role, tools_of, roles) for name, role in roles.items()}
    return Roster(snapshot, members, tuple(_face(role, members[name].tools.names) for name, role in roles.items()))


def _member(
    snapshot: RunSnapshot, role: Role, tools_of: Mapping[str, tuple[str, ...]], roles: Mapping[str, Role]
) -> Member:
    asked = role.limits.output_tokens if role.limits else None
    tools = tools_of.get(role.name, ())
    delegates = tuple(roles[name] for name in role.delegates) if "delegate" in tools else ()
    return Member(
        role=role,
        model=snapshot.guild.models[role.model],
        tools=toolset(role, tools),
        grants=grants(role, tools_of),
        system=prompt.system_message(role, delegates),
        max_output_tokens=asked or limits.MODEL_OUTPUT_TOKENS_DEFAULT_COUNT,
        max_steps=role.limits.steps if role.limits else None,
    )


def _face(role: Role, tools: tuple[str, ...]) -> RoleFace:
    return RoleFace(
        name=role.name,
        label=role.label or role.name,
        kind="handler" if role.handler else "role",
        tools=list(tools),
        delegates=list(role.delegates),
    )
