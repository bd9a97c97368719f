"""A Guild: roles with prompts, models, tools and the roles they may delegate to; and what makes one valid."""

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from guildhall_contracts import limits
from guildhall_contracts.base import LabelText, Prompt, Record, RoleName, Sha256, ToolName
from guildhall_contracts.canonical import canonical_json
from guildhall_contracts.conditions import Condition
from guildhall_contracts.policy import (
    ALWAYS_TOOLS,
    BUILT_IN_TOOLS,
    HANDLER_TOOLS,
    ToolPolicy,
    is_external,
    stricter,
    tightened,
    tools_at_assembly,
)

ModelAlias = Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$")]
GatewayModel = Annotated[
    str, StringConstraints(min_length=3, max_length=128, pattern=r"^[a-z0-9-]+:[A-Za-z0-9._:/@-]+$")
]


class Budget(Record):
    """What a Run may spend: absent fields take the Guild's, then the product's; no cost anywhere is no cost limit."""

    cost_micro_usd: int | None = Field(None, ge=0, le=limits.BUDGET_COST_MAX_MICRO_USD)
    tokens: int | None = Field(None, ge=1, le=limits.BUDGET_TOKENS_MAX_COUNT)
    steps: int | None = Field(None, ge=1, le=limits.BUDGET_STEPS_MAX_COUNT)
    seconds: int | None = Field(None, ge=1, le=limits.BUDGET_SECONDS_MAX)


class RoleLimits(Record):
    """Bounds of one invocation of a role."""

    steps: int | None = Field(None, ge=1, le=limits.BUDGET_STEPS_MAX_COUNT)
    output_tokens: int | None = Field(None, ge=1, le=limits.MODEL_OUTPUT_TOKENS_MAX_COUNT)


class Handler(Record):
    """Makes a role a handler: it is woken by an event and never delegated to. In YAML, write "on" in quotes."""

    on: Literal["loop", "stuck", "budget", "error"]


class Role(Record):
    """One member of a Guild."""

    name: RoleName
    label: LabelText | None = None
    description: str = Field("", max_length=limits.DESCRIPTION_MAX_CHARS)
    prompt: Prompt
    model: ModelAlias
    tools: list[ToolName] = Field(default_factory=list, max_length=limits.TOOLS_PER_ROLE_MAX_COUNT)
    delegates: list[RoleName] = Field(default_factory=list, max_length=limits.DELEGATES_PER_ROLE_MAX_COUNT)
    handler: Handler | None = None
    limits: RoleLimits | None = None


class GuildSpec(Record):
    """What a Guild author writes."""

    entry_role: RoleName
    roles: list[Role] = Field(min_length=1, max_length=limits.ROLES_MAX_COUNT)
    tools: dict[ToolName, ToolPolicy] = Field(default_factory=dict, max_length=64)
    models: dict[ModelAlias, GatewayModel] = Field(min_length=1, max_length=limits.MODEL_ALIASES_MAX_COUNT)
    defaults: Budget | None = None


class ResolvedRole(Record):
    """The tools a role really has, for people who review a Guild."""

    name: RoleName
    tools: list[ToolName] = Field(max_length=limits.TOOLS_PER_ROLE_MAX_COUNT + 1)


class GuildStatus(Record):
    """Written by the operator only."""

    observed_generation: int = Field(0, ge=0)
    conditions: list[Condition] = Field(default_factory=list, max_length=8)
    digest: Sha256 | None = None
    roles: list[ResolvedRole] = Field(default_factory=list, max_length=limits.ROLES_MAX_COUNT)


def effective_policies(guild: GuildSpec) -> dict[str, ToolPolicy]:
    """The policy of every tool; overrides apply only where they tighten (`guild_problems` reports the others)."""
    policies = dict(BUILT_IN_TOOLS)
    for name, override in guild.tools.items():
        base = policies.get(name)
        stricter = tightened(base, override) if base is not None else None
        if stricter is not None:
            policies[name] = stricter
    return policies


_MOST: Final = ToolPolicy(effect="read", allowed_in_private=True, allowed_without_user_present=True)


def resolved_tools(guild: GuildSpec, role: Role, *, private: bool = False, interactive: bool = True) -> tuple[str, ...]:
    """The tools `role` gets in a Run of this mode. External ones as far as the Guild alone can say; the gateway, which
    knows what their Connection allows, decides again when the Run starts and at each call."""
    external = {tool: guild.tools.get(tool, _MOST) for tool in role.tools if is_external(tool)}
    policies = effective_policies(guild) | external
    return tools_at_assembly(role.tools, policies, private=private, interactive=interactive)


def external_policy(guild: GuildSpec, tool: str, base: ToolPolicy) -> ToolPolicy:
    """The policy of an external tool in Runs of `guild`: `base` is its Connection's, and an override only tightens."""
    override = guild.tools.get(tool)
    return base if override is None else stricter(base, override)


def _role_problems(guild: GuildSpec, role: Role, names: set[str]) -> list[str]:
    where = f"role '{role.name}'"
    by_name = {other.name: other for other in guild.roles}
    problems = [
        f"{where}: unknown tool '{tool}'; known tools are {', '.join(sorted(BUILT_IN_TOOLS))}, and <connection>__<tool>"
        for tool in role.tools
        if tool not in BUILT_IN_TOOLS and not is_external(tool)
    ]
    problems += [
        f"{where}: delegates to '{name}', which is not a role of this Guild"
        for name in role.delegates
        if name not in names
    ]
    problems += [
        f"{where}: delegates to '{name}', which is a handler and cannot be delegated to"
        for name in role.delegates
        if name in by_name and by_name[name].handler is not None
    ]
    if role.name in role.delegates:
        problems.append(f"{where}: delegates to itself; remove it from 'delegates'")
    if role.model not in guild.models:
        problems.append(
            f"{where}: model alias '{role.model}' is not in spec.models ({', '.join(sorted(guild.models))})"
        )
    if role.delegates and "delegate" not in role.tools:
        problems.append(f"{where}: has delegates but does not list the tool 'delegate'")
    if "delegate" in role.tools and not role.delegates:
        problems.append(f"{where}: lists the tool 'delegate' but has no delegates")
    if role.handler is None:
        extra = sorted(HANDLER_TOOLS & set(role.tools))
        problems += [f"{where}: tool '{tool}' is for handler roles; add 'handler' or remove it" for tool in extra]
        return problems
    extra = sorted(set(role.tools) - HANDLER_TOOLS - ALWAYS_TOOLS)
    problems += [f"{where}: a handler only looks and interrupts; remove the tool '{tool}'" for tool in extra]
    others = sorted(other.name for other in guild.roles if other.handler == role.handler and other.name != role.name)
    problems += [f"{where}: role '{other}' handles '{role.handler.on}' too; one role handles it" for other in others]
    return problems


def _reached(guild: GuildSpec, tool: str | None) -> tuple[set[str], set[str]]:
    """Roles that can be at work with `tool` granted all the way down, and those of them that grant it no further.

    A role grants what it holds and what the roles it names as delegates hold. Without a tool: every role reached.
    """
    by_name = {role.name: role for role in guild.roles}
    holders = {role.name for role in guild.roles if tool is None or tool in role.tools}
    open_ = [role.name for role in guild.roles if role.name == guild.entry_role or role.handler is not None]
    reached, blocking = set(open_), set()
    while open_:
        role = by_name[open_.pop()]
        if not holders & {role.name, *role.delegates}:
            blocking.add(role.name)
            continue
        found = {name for name in role.delegates if name in by_name} - reached
        reached |= found
        open_ += found
    return reached, blocking


def _chain_problems(guild: GuildSpec) -> list[str]:
    """Tools of roles that no chain of callers grants: they would be listed and never work."""
    everyone, _ = _reached(guild, None)
    problems = []
    for tool in sorted({tool for role in guild.roles for tool in role.tools} - ALWAYS_TOOLS):
        reached, blocking = _reached(guild, tool)
        problems += [
            f"role '{role.name}': no chain of callers grants it the tool '{tool}'; "
            f"let {' or '.join(sorted(blocking))} hold it, or name '{role.name}' among its delegates"
            for role in guild.roles
            if tool in role.tools and role.name in everyone - reached
        ]
    return problems


def guild_problems(guild: GuildSpec) -> list[str]:
    """Why this Guild is invalid, each a sentence its author can act on; empty when it is valid."""
    names = {role.name for role in guild.roles}
    problems: list[str] = []
    if len(names) != len(guild.roles):
        problems.append("two roles share one name; role names are unique")
    if guild.entry_role not in names:
        problems.append(f"entryRole '{guild.entry_role}' is not a role of this Guild ({', '.join(sorted(names))})")
    entry = next((role for role in guild.roles if role.name == guild.entry_role), None)
    if entry is not None and entry.handler is not None:
        problems.append(
            f"entryRole '{guild.entry_role}' is a handler; handlers are woken by events and cannot start a Run"
        )
    for role in guild.roles:
        problems += _role_problems(guild, role, names)
    if not problems:
        problems += _chain_problems(guild)
    for name, override in guild.tools.items():
        base = BUILT_IN_TOOLS.get(name)
        if is_external(name):
            continue
        if base is None:
            problems.append(f"spec.tools names '{name}', which is not a tool")
        elif tightened(base, override) is None:
            problems.append(f"spec.tools.{name} loosens the built-in policy; overrides may only tighten it")
    size = len(canonical_json(guild.to_wire()))
    if size > limits.GUILD_MAX_CANONICAL_BYTES:
        problems.append(
            f"the Guild is {size} bytes in canonical JSON; at most {limits.GUILD_MAX_CANONICAL_BYTES} are allowed"
        )
    return problems


DEFAULT_BUDGET: Final = Budget(steps=limits.BUDGET_DEFAULT_STEPS_COUNT, seconds=limits.BUDGET_DEFAULT_SECONDS)


def resolved_budget(run: Budget | None, guild: Budget | None) -> Budget:
    """Field by field the Run's, else the Guild's, else the product's budget."""
    layers = [layer.to_wire() for layer in (DEFAULT_BUDGET, guild, run) if layer is not None]
    merged: dict[str, int] = {}
    for layer in layers:
        merged |= layer
    return Budget.model_validate(merged)
