"""What an invocation of a role may reach: its own tools within what every caller up the chain can grant. Pure.

Guards against a role that was talked into delegating: it can pass on what it holds itself and what the roles it names
as delegates hold, and nothing that only *their* delegates hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from guildhall_contracts.external import ExternalTool
from guildhall_contracts.guild import Role
from guildhall_contracts.policy import ALWAYS_TOOLS

from guildhall_executor.messages import to_bytes
from guildhall_executor.tools.catalog import tool_spec
from guildhall_executor.tools.external import external_spec

External = Mapping[str, ExternalTool]
Ceiling = frozenset[str] | None
"""The tools a chain of callers grants; None where nobody called, which is no ceiling."""


@dataclass(frozen=True, slots=True)
class Toolset:
    """The tools of an invocation, and as its model is shown them: a JSON array."""

    names: tuple[str, ...]
    json: bytes


def toolset(role: Role, names: tuple[str, ...], external: External, ceiling: Ceiling = None) -> Toolset:
    """`names` within `ceiling`. To end its work every role is free."""
    kept = tuple(name for name in names if ceiling is None or name in ceiling or name in ALWAYS_TOOLS)
    delegates = tuple(role.delegates)
    specs = [external_spec(external[name]) if name in external else tool_spec(name, delegates) for name in kept]
    return Toolset(kept, to_bytes(specs))


def grants(role: Role, tools_of: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """What `role` can pass on: the tools it has, and those of the roles it names as its delegates."""
    return frozenset(tool for name in (role.name, *role.delegates) for tool in tools_of.get(name, ()))


def below(ceiling: Ceiling, granted: frozenset[str]) -> frozenset[str]:
    """The ceiling of whom a role calls that stands under `ceiling` and grants `granted`."""
    return granted if ceiling is None else ceiling & granted
