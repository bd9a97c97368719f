"""Calls made by code that a role runs: each goes the way of the role's own calls. Guards what code can reach.

A call of code is an open call of its role under the code's operation. Its result answers the code, not the model, and
when the code ends, whatever it still waits for ends with it.
"""

from guildhall_contracts.base import OpId
from guildhall_contracts.model_api import ToolCall

from guildhall_executor import calls, record
from guildhall_executor.draft import Draft
from guildhall_executor.effects import StopWork
from guildhall_executor.inputs import CodeCalled
from guildhall_executor.state import OpenCall, RoleRun

_CALL_ID_CHARS = 96  # of the code's own call; its number follows


def take(draft: Draft, called: CodeCalled) -> None:
    """Begins the call, or refuses it; one of code that does not run any more is ignored."""
    held = draft.state.holding(called.op)
    if held is None or not draft.is_at_work(held[0].op):
        return
    invocation, code = held
    if code.stage != "running" or code.call.name != "run_code":
        return
    id_ = f"{code.id}.{called.id}"
    if any(one.id == id_ for one in invocation.inner):
        return
    call = ToolCall(id=f"{code.call.id[:_CALL_ID_CHARS]}.{called.id}", name=called.tool, arguments=called.arguments)
    asked = OpenCall(id_, call, code=called.op, number=called.id)
    draft.change_role(invocation.op, inner=(*invocation.inner, asked))
    calls.begin(draft, invocation.op, asked)


def end(draft: Draft, code_op: OpId) -> None:
    """The code of this operation is over: what it waits for is stopped, and written down as cancelled."""
    held = draft.state.holding(code_op)
    if held is None or not held[0].inner:
        return
    own = [one for one in held[0].inner if one.code == code_op]
    for asked in sorted(own, key=lambda one: one.stage != "queued"):  # so that none begins when another is stopped
        _cancel(draft, held[0], asked)


def _cancel(draft: Draft, invocation: RoleRun, asked: OpenCall) -> None:
    draft.drop_inner(invocation.op, asked.id)
    draft.change(queue=tuple(one for one in draft.state.queue if one.id != asked.id))
    record.cancelled(draft, invocation, asked)
    if asked.stage in ("running", "approving"):
        draft.do(StopWork(asked.op))
        calls.release(draft, asked.op)
