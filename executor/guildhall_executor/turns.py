"""Which calls of one reply may be at work together. Pure.

Neighbouring reads overlap, and so do neighbouring delegations and questions to people; whatever writes, runs code or
ends the role comes alone, after everything asked before it. So a call sees what the calls before it did.
"""

from typing import Final, Literal

from guildhall_executor.state import OpenCall, State

Lane = Literal["look", "ask", "act"]
_ASK: Final = frozenset({"delegate", "ask_human"})
_ALONE: Final = frozenset({"finish", "run_code"})  # code may write by the tools it calls


def lane_of(tool: str, state: State) -> Lane:
    """How a call stands to its neighbours; a tool nobody knows is refused, which disturbs none."""
    if tool in _ASK:
        return "ask"
    policy = state.policy_of(tool)
    return "act" if tool in _ALONE or (policy is not None and policy.effect != "read") else "look"


def may_begin(calls: tuple[OpenCall, ...], place: int, state: State) -> bool:
    """Whether a call that waits for nothing but its turn has it: those before it are done, or at work beside it."""
    if calls[place].stage not in ("new", "approved"):
        return False
    lane = lane_of(calls[place].call.name, state)
    return all(
        before.stage == "done" or (lane != "act" and lane_of(before.call.name, state) == lane)
        for before in calls[:place]
    )
