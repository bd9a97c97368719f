"""Which calls of one reply may be at work together. Pure.

Neighbouring reads overlap, neighbouring delegations overlap; whatever writes, runs code or ends the role comes alone,
after everything asked before it. So a call sees what the calls before it did, as if they ran one by one.
"""

from collections.abc import Mapping
from typing import Final, Literal

from guildhall_contracts.policy import ToolPolicy

from guildhall_executor.state import OpenCall

Lane = Literal["look", "ask", "act"]
_ASK: Final = frozenset({"delegate"})
_ALONE: Final = frozenset({"finish", "run_code"})  # code may write by the tools it calls


def lane_of(tool: str, policies: Mapping[str, ToolPolicy]) -> Lane:
    """How a call stands to its neighbours; a tool nobody knows is refused, which disturbs none."""
    if tool in _ASK:
        return "ask"
    policy = policies.get(tool)
    return "act" if tool in _ALONE or (policy is not None and policy.effect != "read") else "look"


def may_begin(calls: tuple[OpenCall, ...], place: int, policies: Mapping[str, ToolPolicy]) -> bool:
    """Whether every call before this one is done, or is at work beside it."""
    lane = lane_of(calls[place].call.name, policies)
    return all(
        before.stage == "done" or (lane != "act" and lane_of(before.call.name, policies) == lane)
        for before in calls[:place]
    )
