"""Approvals: one person's yes or no to one call with exactly these arguments, once, for minutes."""

from typing import Any, Final, Literal

from pydantic import Field

from guildhall_contracts import limits
from guildhall_contracts.base import Record, RoleName, Sha256, ToolName, Uid
from guildhall_contracts.intervention import ItemId
from guildhall_contracts.policy import Effect

POLICY_VERSION: Final = 1


class ApprovalRequest(Record):
    """What is asked. `argumentsHash` is over the RFC 8785 form of `arguments`; both are complete, never a summary."""

    approval_id: ItemId
    run: Uid
    call_id: ItemId
    role: RoleName
    tool: ToolName
    effect: Effect
    arguments: dict[str, Any]
    arguments_hash: Sha256
    policy_version: int = POLICY_VERSION
    expires_seconds: int = Field(limits.APPROVAL_EXPIRES_SECONDS, ge=1, le=3_600)


class ApprovalDecision(Record):
    """What a person decided; consumed atomically and at most once."""

    approval_id: ItemId
    arguments_hash: Sha256
    decision: Literal["approve", "deny"]
    author: str = Field("", max_length=256)
