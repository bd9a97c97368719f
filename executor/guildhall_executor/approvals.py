"""A person's yes to one call. Guards calls that leave the workspace, or that a Guild wants asked about, from running
unseen: a yes is for exactly these arguments of this call, and the gateway uses it up where the tool executes.

Every call of a reply that needs one asks at once; running still keeps the order of the reply. No answer, a no, and an
approval that cannot be asked for are all the same refusal: the call does not run.
"""

from typing import Final, Literal

from guildhall_contracts import limits
from guildhall_contracts.approvals import ApprovalRequest
from guildhall_contracts.base import OpId, one_line
from guildhall_contracts.canonical import arguments_hash
from guildhall_contracts.events import ApprovalDecided, ApprovalRequested, Outcome

from guildhall_executor import closing, moments
from guildhall_executor.draft import Draft
from guildhall_executor.effects import AskApproval, Withdraw
from guildhall_executor.inputs import Decided
from guildhall_executor.state import OpenCall, PersonWait, RoleRun
from guildhall_executor.tools.arguments import Arguments
from guildhall_executor.tools.result import ToolResult, failed

Decision = Literal["approve", "deny", "expired", "withdrawn"]
_OUTCOMES: Final[dict[Decision, Outcome]] = {
    "approve": "success",
    "deny": "success",
    "expired": "error",
    "withdrawn": "cancelled",
}


def id_of(op: OpId) -> str:
    """The id by which gateway and people know the approval of an operation."""
    return f"a-{op}"


def request_of(
    draft: Draft, role: str, asked: OpenCall, arguments: Arguments, seconds: int = limits.APPROVAL_EXPIRES_SECONDS
) -> ApprovalRequest:
    """What is asked, and later used up: bound to call, role, tool, effect and the whole arguments."""
    bound = arguments.complete()
    policy = draft.state.policy_of(asked.call.name)
    return ApprovalRequest(
        approval_id=asked.approval,
        run=draft.state.roster.snapshot.run,
        call_id=asked.id,
        role=role,
        tool=asked.call.name,
        effect=policy.effect if policy is not None else "consequential",
        arguments=bound,
        arguments_hash=arguments_hash(bound),
        expires_seconds=seconds,
    )


def ask(draft: Draft, op: OpId, asked: OpenCall, arguments: Arguments) -> str | None:
    """Asks a person for a yes to this call; returns why not, if too many are open."""
    if sum(1 for _ in draft.state.for_people()) >= limits.ASKED_AT_ONCE_MAX_COUNT:
        return f"{limits.ASKED_AT_ONCE_MAX_COUNT} questions and approvals are open in this Run; ask again later"
    role = draft.role(op).role
    seconds = limits.APPROVAL_EXPIRES_SECONDS
    person = moments.person_wait(draft.at.ts, draft.at.elapsed_milliseconds, seconds)
    begun = draft.next_op
    draft.change_call(op, asked.id, stage="approving", op=begun, person=person, approval=id_of(begun))
    request = request_of(draft, role, draft.call(op, asked.id), arguments)
    draft.emit(
        ApprovalRequested(
            **draft.head(),
            op=begun,
            parent=asked.code or op,
            role=role,
            source=f"role:{role}",
            destination="human",
            title=one_line(f"{asked.call.name}: {arguments.title()}", limits.EVENT_TITLE_MAX_CHARS),
            approval_id=request.approval_id,
            tool=request.tool,
            arguments_hash=request.arguments_hash,
            expires_at=person.expires_at,
        )
    )
    draft.do(AskApproval(begun, request))
    return None


def _decided(draft: Draft, invocation: RoleRun, asked: OpenCall, decision: Decision, author: str = "") -> None:
    draft.emit(
        ApprovalDecided(
            **draft.head(),
            op=asked.op,
            role=invocation.role,
            approval_id=asked.approval,
            outcome=_OUTCOMES[decision],
            decision=decision,
            author=author,
        )
    )


def take_decision(
    draft: Draft, invocation: RoleRun, asked: OpenCall, arguments: Arguments, decision: Decided
) -> ToolResult | None:
    """A person's decision: the refusal that the model reads, or None for a yes to exactly these arguments."""
    bound = request_of(draft, invocation.role, asked, arguments).arguments_hash
    approved = decision.decision == "approve" and decision.arguments_hash == bound
    _decided(draft, invocation, asked, "approve" if approved else "deny", decision.author)
    if approved:
        draft.change_call(invocation.op, asked.id, stage="approved", person=None)
        draft.wake(invocation.op)
        return None
    return failed("tool_denied", f"a person did not permit this call of '{asked.call.name}'; go on without it.")


def expire(draft: Draft, invocation: RoleRun, asked: OpenCall) -> ToolResult:
    """Nobody decided in time."""
    _decided(draft, invocation, asked, "expired")
    void(draft, asked)  # by the gateway's clock it may be open a while longer
    said = f"nobody approved this call of '{asked.call.name}' in time, so it was not made; silence is no consent."
    return failed("tool_denied", said)


def cannot_ask(draft: Draft, invocation: RoleRun, asked: OpenCall, why: str) -> ToolResult:
    """The gateway did not take the request."""
    _decided(draft, invocation, asked, "withdrawn")
    void(draft, asked)
    return failed("tool_denied", f"no person could be asked to approve '{asked.call.name}': {why[:500]}")


def withdraw(draft: Draft, invocation: RoleRun, asked: OpenCall) -> None:
    """The call is not wanted any more; people are asked about it no longer."""
    _decided(draft, invocation, asked, "withdrawn")
    void(draft, asked)


def void(draft: Draft, asked: OpenCall) -> None:
    """Has the gateway close the approval: a yes to it, given or not, is for nothing."""
    closing.close(draft, Withdraw(asked.op, asked.approval, "approvals"))


def put_again(draft: Draft, invocation: RoleRun, asked: OpenCall, arguments: Arguments, person: PersonWait) -> None:
    """A later attempt asks once more; the gateway knows it by its id and keeps its first time limit."""
    seconds = moments.seconds_left(person, draft.at.elapsed_milliseconds)
    draft.do(AskApproval(asked.op, request_of(draft, invocation.role, asked, arguments, seconds)))
