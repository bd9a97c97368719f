"""Approvals, decided: may this person's yes be taken, may this call use it. Pure.

Guards against a yes being used for other arguments, another call, role or Run, later than allowed, or twice.
"""

from dataclasses import dataclass
from typing import Final, Literal

from guildhall_contracts.approvals import POLICY_VERSION, ApprovalRequest
from guildhall_contracts.canonical import NotCanonical, arguments_hash

from guildhall_gateway.mailbox import Turned

State = Literal["open", "approved", "denied", "expired", "consumed", "withdrawn"]
BOUND: Final = ("call_id", "role", "tool", "effect", "arguments_hash", "policy_version")
FINAL: Final = frozenset({"denied", "expired", "consumed", "withdrawn"})


@dataclass(frozen=True, slots=True)
class Kept:
    """An approval as stored: everything it is bound to, and where it stands."""

    run: str
    approval_id: str
    call_id: str
    role: str
    tool: str
    effect: str
    arguments_hash: str
    policy_version: int
    state: State
    expires_at: float
    author: str = ""


def acceptable(request: ApprovalRequest, run: str) -> str | None:
    """Why a request for approval is refused, or None. The hash must be that of the arguments shown."""
    if request.run != run:
        return "the approval names another Run"
    if request.policy_version != POLICY_VERSION:
        return f"the approval is for policy version {request.policy_version}; this gateway has {POLICY_VERSION}"
    try:
        found = arguments_hash(request.arguments)
    except NotCanonical as error:
        return str(error)
    return None if found == request.arguments_hash else "argumentsHash is not the hash of the arguments"


def kept(request: ApprovalRequest, now: float) -> Kept:
    """What is stored of an acceptable request."""
    return Kept(
        run=request.run,
        approval_id=request.approval_id,
        call_id=request.call_id,
        role=request.role,
        tool=request.tool,
        effect=request.effect,
        arguments_hash=request.arguments_hash,
        policy_version=request.policy_version,
        state="open",
        expires_at=now + request.expires_seconds,
    )


def standing(approval: Kept, now: float) -> State:
    """Where it stands at `now`: what is open or approved expires."""
    return approval.state if approval.state in FINAL or now < approval.expires_at else "expired"


def decidable(approval: Kept | None, hash_seen: str, now: float) -> Turned | None:
    """Why a person's decision is not taken, or None."""
    if approval is None:
        return Turned("Refused", "there is no such approval in this Run")
    state = standing(approval, now)
    if state == "expired":
        return Turned("Expired", "the approval has expired; the call was not made")
    if state != "open":
        return Turned("Refused", f"the approval was {state} already")
    same = hash_seen == approval.arguments_hash
    return None if same else Turned("Refused", "the arguments are not those that were approved")


def usable(approval: Kept | None, request: ApprovalRequest, run: str, now: float) -> str | None:
    """Why a call may not use this approval now, or None. Every bound field must be the same."""
    if approval is None:
        return "there is no such approval in this Run"
    refused = acceptable(request, run)
    if refused is not None:
        return refused
    for name in ("run", *BOUND):
        if getattr(approval, name) != getattr(request, name):
            return f"the approval was for another {name.replace('_', ' ')}"
    state = standing(approval, now)
    return None if state == "approved" else f"the approval is {state}"
