"""Steps and seconds are counted here; tokens and money by the gateway, whose totals are only watched here.

Guards against a Run that goes on for ever: at 80 % people are warned, at 100 % the Run ends and its patch is kept.
"""

from typing import Literal

from guildhall_contracts.base import OpId
from guildhall_contracts.errors import error_info
from guildhall_contracts.events import BudgetWarned
from guildhall_contracts.model_api import LedgerTotals

from guildhall_executor import delegation, ending, handlers
from guildhall_executor.draft import Draft
from guildhall_executor.state import RoleRun

BudgetKind = Literal["cost", "tokens", "steps", "seconds"]


def _warn(draft: Draft, kind: BudgetKind, used: int, limit: int | None) -> None:
    """Once for each kind, from 80 % on."""
    if limit is None or used * 5 < limit * 4 or kind in draft.state.warned or draft.state.ending:
        return
    draft.change(warned=draft.state.warned | {kind})
    draft.emit(BudgetWarned(**draft.head(), kind=kind, used=used, limit=limit))
    if draft.state.active is not None:
        handlers.wake(draft, draft.state.active.op, "budget")


def look_at_the_clock(draft: Draft) -> None:
    """Ends the Run when its seconds are used up."""
    limit = draft.state.roster.snapshot.budget.seconds
    if limit is None or draft.state.ending is not None or not draft.state.roles:
        return
    used_seconds = draft.at.elapsed_milliseconds // 1_000
    _warn(draft, "seconds", used_seconds, limit)
    if used_seconds >= limit:
        message = f"the Run used its {limit} seconds (budget.seconds); what was changed until then is kept"
        ending.fail(draft, error_info("deadline", message))


def look_at_the_ledger(draft: Draft, totals: LedgerTotals) -> None:
    """Warns of money and tokens running out; refusing the next call is the gateway's part."""
    budget = draft.state.roster.snapshot.budget
    times = 1 + draft.state.raises
    _warn(draft, "tokens", totals.tokens + totals.output_tokens, _raised(budget.tokens, times))
    if totals.cost_micro_usd is not None:
        _warn(draft, "cost", totals.cost_micro_usd, _raised(budget.cost_micro_usd, times))


def _raised(limit: int | None, times: int) -> int | None:
    """A limit after a person let the Run go on: once more what it was given, each time."""
    return limit * times if limit is not None else None


def take_step(draft: Draft, op: OpId) -> bool:
    """Counts one model call; False when there is none left and the role or the Run has ended instead."""
    invocation = draft.role(op)
    limit = draft.state.roster.snapshot.budget.steps
    role_limit = draft.state.roster.members[invocation.role].max_steps
    if limit is not None and draft.state.steps >= limit:
        message = f"the Run used its {limit} steps (budget.steps); what was changed until then is kept"
        ending.fail(draft, error_info("budget_exhausted", message))
        return False
    if role_limit is not None and invocation.steps >= role_limit:
        _role_is_spent(draft, invocation, role_limit)
        return False
    draft.change(steps=draft.state.steps + 1)
    draft.change_role(op, steps=invocation.steps + 1)
    _warn(draft, "steps", draft.state.steps, limit)
    return True


def side_step(draft: Draft) -> bool:
    """Counts a model call beside the work of a role; False when none is left."""
    limit = draft.state.roster.snapshot.budget.steps
    if limit is not None and draft.state.steps >= limit:
        return False
    draft.change(steps=draft.state.steps + 1)
    _warn(draft, "steps", draft.state.steps, limit)
    return True


def give_back_step(draft: Draft, op: OpId) -> None:
    """A model call that the gateway never made is no step."""
    draft.change(steps=draft.state.steps - 1)
    draft.change_role(op, steps=draft.role(op).steps - 1)


def _role_is_spent(draft: Draft, invocation: RoleRun, limit: int) -> None:
    message = f"role '{invocation.role}' used its {limit} steps (limits.steps) without finishing"
    if not invocation.is_entry:
        delegation.hand_back(draft, invocation.op, message, is_error=True)
    else:
        ending.fail(draft, error_info("budget_exhausted", message))
