"""What a Guild's status says: accepted or why not, its digest, and the tools each role really gets. Pure."""

from datetime import datetime
from typing import Any

from guildhall_contracts.canonical import digest
from guildhall_contracts.guild import GuildSpec, ResolvedRole, resolved_tools

from guildhall_operator.admit import Refusal, parse_guild
from guildhall_operator.records import Json, items, mapping, number
from guildhall_operator.status import Truth, condition, stamp


def _condition(raw: Json, found: GuildSpec | Refusal, now: datetime) -> dict[str, Any]:
    old = next((c for c in items(mapping(raw.get("status")).get("conditions")) if c.get("type") == "Accepted"), {})
    said: tuple[str, Truth, str, str] = ("Accepted", "True", "Accepted", "")
    if isinstance(found, Refusal):
        said = ("Accepted", "False", "GuildInvalid", found.message)
    return condition(old, said, number(mapping(raw.get("metadata")).get("generation")), stamp(now))


def guild_status(raw: Json, now: datetime) -> dict[str, Any] | None:
    """The whole status of a raw Guild, or None when it says that already."""
    found = parse_guild(raw.get("spec"))
    status: dict[str, Any] = {
        "observedGeneration": number(mapping(raw.get("metadata")).get("generation")),
        "conditions": [_condition(raw, found, now)],
    }
    if isinstance(found, GuildSpec):
        status["digest"] = digest(found)
        status["roles"] = [
            ResolvedRole(name=role.name, tools=list(resolved_tools(found, role))).to_wire() for role in found.roles
        ]
    return None if status == mapping(raw.get("status")) else status
